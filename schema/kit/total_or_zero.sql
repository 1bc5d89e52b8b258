-- total_or_zero: the sum of the rows for which a condition holds, as @total; 0 if there is none
-- takes: amount, condition
TRY_CAST(coalesce(sum($amount) FILTER ($condition), 0) AS BIGINT)
