-- bucket_min: the power of two that a histogram's bucket begins at: 0, 2, 4, 8, …
-- takes: number
-- rule: length(bin(n)) is exact where log2 rounds
CASE WHEN $number < 2 THEN 0 ELSE 1::BIGINT << (length(bin($number)) - 1) END
