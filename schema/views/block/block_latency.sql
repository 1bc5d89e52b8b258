-- block_latency: how long requests to block devices took, from issue to completion, as a histogram
-- grain: a device, an operation and a power-of-two range of microseconds
-- source: block_io, block_device
-- caveat: requests without both ends in the capture are left out; the wait in the queue before the issue is not included (see block_io.queue_ns)
-- caveat: a recording of some processes sees few completions: they come in interrupts, while any thread may run. Record the whole host to get latencies
-- caveat: the ranges are those of biolatency: 0 to 1 µs, 2 to 3, 4 to 7, … whole microseconds, rounded down
-- diff by: device_name, operation
-- diff sum: latency_total_ns, request_count
-- diff max: latency_max_ns
-- diff median: bucket_min_ns by request_count
-- diff weight: 0.75
-- chart histograms 4: Requests of block devices: request_count as requests by device_name, operation
-- as in block_io: device
-- as in block_device: device_name
-- as in block_io: operation
-- column bucket_min_ns [ns]: the range begins at this value
-- column bucket_max_ns [ns]: the range ends before this value
-- column request_count [count]: requests
-- column latency_total_ns [ns]: sum of the latencies of these requests
-- column latency_max_ns [ns]: the longest latency
WITH request AS (
  SELECT device, operation, latency_ns, length(bin(greatest(latency_ns, 0) // 1000 | 1)) - 1 AS power
  FROM block_io
  WHERE latency_ns IS NOT NULL
)
SELECT
  r.device, n.device_name, r.operation,
  CASE power WHEN 0 THEN 0 ELSE (1::BIGINT << power) * 1000 END AS bucket_min_ns,
  (1::BIGINT << (power + 1)) * 1000 AS bucket_max_ns,
  count(*) AS request_count,
  @total(latency_ns) AS latency_total_ns,
  max(latency_ns) AS latency_max_ns
FROM request AS r
LEFT JOIN block_device AS n USING (device)
GROUP BY r.device, n.device_name, r.operation, r.power
ORDER BY r.device, r.operation, bucket_min_ns
