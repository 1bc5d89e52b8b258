-- block_size: how large requests to block devices were, as a histogram
-- grain: the name of the threads that issued them, an operation and a power-of-two range of bytes
-- source: block_io
-- caveat: the name is that of the thread that issued the request to the device, as in bitesize; for writes this is often a kernel thread, not the thread that wrote
-- caveat: a flush moves no bytes: it counts in the range that begins at 0
-- diff by: comm, operation
-- diff sum: request_bytes, request_count
-- diff median: bucket_min_bytes by request_count
-- diff weight: 0.6
-- chart histograms 5: Sizes of block requests: request_count as requests by comm, operation
-- as in block_io: comm, operation
-- column bucket_min_bytes [bytes]: the range begins at this value
-- column bucket_max_bytes [bytes]: the range ends before this value
-- column request_count [count]: requests issued
-- column request_bytes [bytes]: sum of the sizes of these requests
WITH request AS (
  SELECT comm, operation, size_bytes, CASE size_bytes WHEN 0 THEN -1 ELSE length(bin(size_bytes)) - 1 END AS power
  FROM block_io
  WHERE issued_ts_ns IS NOT NULL
)
SELECT
  comm, operation,
  CASE power WHEN -1 THEN 0 ELSE 1::UBIGINT << power END AS bucket_min_bytes,
  CASE power WHEN -1 THEN 1 WHEN 63 THEN 18446744073709551615 ELSE 1::UBIGINT << (power + 1) END AS bucket_max_bytes,
  count(*) AS request_count,
  sum(size_bytes)::HUGEINT AS request_bytes
FROM request
GROUP BY comm, operation, power
ORDER BY comm, operation, bucket_min_bytes
