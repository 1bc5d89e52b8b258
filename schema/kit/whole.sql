-- whole: a number as a BIGINT for a message, at most the largest of these: no captured number may break the message
-- takes: number
CASE WHEN $number IS NOT NULL THEN CAST(least(greatest($number, -9223372036854774784), 9223372036854774784) AS BIGINT) END
