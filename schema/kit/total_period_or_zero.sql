-- total_period_or_zero: the sum of what the samples that meet a condition stand for, as @total_period; 0 if there are none
-- takes: period, condition
TRY_CAST(coalesce(sum($period) FILTER ($condition), 0) AS UBIGINT)
