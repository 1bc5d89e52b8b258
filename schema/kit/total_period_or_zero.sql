-- total_period_or_zero: the sum of what the samples stand for that a condition holds for, as @total_period; 0 if there is none
-- takes: period, condition
TRY_CAST(coalesce(sum($period) FILTER ($condition), 0) AS UBIGINT)
