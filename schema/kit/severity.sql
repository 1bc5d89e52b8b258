-- severity: critical, warning or note, by what holds first
-- takes: critical, warning
CASE WHEN $critical THEN 'critical' WHEN $warning THEN 'warning' ELSE 'note' END
