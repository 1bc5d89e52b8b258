-- view_coverage: which views this capture can fill; for those that it cannot, what is missing, why, and what would record it
-- grain: a view, table or rule of the findings
-- source: requirement, recording, table_rows, source
-- caveat: is_fed looks at the tables, not at the view: a view whose tables have rows may still have none that it counts
-- caveat: if there are several ways to fill a view, the one that lacks the least is shown
-- diff no: diff says which views one of the captures lacks
-- as in requirement: view_name, kind
-- column is_fed: true if all tables that it needs have rows
-- column missing_tables: the tables without rows that it needs
-- column sources: the recorder's sources that fill these tables; if it is fed, the sources that it comes from
-- column reason: what the capture says about these sources: why they are missing, degraded or without such records
-- as in recording: how
-- column remedy: what would make those sources available on the recorded host
WITH rows_of AS (
  SELECT table_name, max(row_count) AS row_count FROM table_rows GROUP BY table_name
), alternative AS (
  SELECT r.view_name, r.kind, r.alternative,
    count(*) FILTER (coalesce(n.row_count, 0) = 0) AS missing_count,
    list(r.table_name ORDER BY r.table_name) FILTER (coalesce(n.row_count, 0) = 0) AS missing,
    list(r.table_name ORDER BY r.table_name) AS needed
  FROM requirement AS r
  LEFT JOIN rows_of AS n USING (table_name)
  GROUP BY r.view_name, r.kind, r.alternative
), best AS (
  SELECT view_name, kind, missing_count = 0 AS is_fed, missing, CASE WHEN missing_count = 0 THEN needed ELSE missing END AS asked
  FROM alternative
  QUALIFY row_number() OVER (PARTITION BY view_name ORDER BY missing_count, alternative) = 1
), wanted AS (
  SELECT DISTINCT b.view_name, b.is_fed, g.source, g.how
  FROM (
    SELECT view_name, is_fed, unnest(asked) AS table_name FROM best ANTI JOIN recording ON table_name = view_name
    UNION ALL
    SELECT view_name, is_fed, view_name FROM best
  ) AS b
  JOIN recording AS g USING (table_name)
), told AS (
  SELECT w.view_name, w.source, w.how, s.source_id,
    CASE
      WHEN s.name IS NULL THEN w.source || ' is not in this capture'
      WHEN s.status <> 'available' THEN w.source || ' is ' || s.status || coalesce(': ' || s.reason, '')
      WHEN NOT w.is_fed THEN w.source || ' has no such records'
    END AS reason,
    CASE WHEN s.status <> 'available' THEN s.remedy END AS remedy
  FROM wanted AS w
  LEFT JOIN source AS s ON s.name = w.source
), joined AS (
  SELECT view_name,
    string_agg(DISTINCT source, ', ' ORDER BY source) AS sources,
    string_agg(DISTINCT reason, '; ' ORDER BY reason) AS reason,
    string_agg(DISTINCT how, '; ' ORDER BY how) AS how,
    string_agg(DISTINCT remedy, '; ' ORDER BY remedy) AS remedy
  FROM told
  GROUP BY view_name
)
SELECT
  b.view_name, b.kind, b.is_fed,
  array_to_string(b.missing, ', ') AS missing_tables,
  j.sources, j.reason, j.how, j.remedy
FROM best AS b
LEFT JOIN joined AS j USING (view_name)
ORDER BY b.kind DESC, b.is_fed, b.view_name
