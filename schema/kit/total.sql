-- total: a sum as a BIGINT; NULL if it is larger than that: captured numbers may be anything
-- takes: amount
TRY_CAST(sum($amount) AS BIGINT)
