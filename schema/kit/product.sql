-- product: a quantity in another unit, such as pages in bytes; NULL if it is larger than a BIGINT
-- takes: number, factor
TRY_CAST($number::HUGEINT * $factor AS BIGINT)
