-- bucket_max: the power of two that a histogram's bucket ends before: 2, 4, 8, 16, …; for the last one the largest number there is
-- takes: number
CASE WHEN $number < 2 THEN 2 WHEN length(bin($number)) = 63 THEN 9223372036854775807 ELSE 1::BIGINT << length(bin($number)) END
