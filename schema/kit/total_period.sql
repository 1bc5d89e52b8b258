-- total_period: a sum of what samples stand for, as a UBIGINT; NULL if it is larger than that
-- takes: period
TRY_CAST(sum($period) AS UBIGINT)
