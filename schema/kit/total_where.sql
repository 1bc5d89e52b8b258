-- total_where: the sum of the rows for which a condition holds, as @total; NULL if there is none
-- takes: amount, condition
TRY_CAST(sum($amount) FILTER ($condition) AS BIGINT)
