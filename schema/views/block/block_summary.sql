-- block_summary: how many requests each block device got, how many failed, and how long they took
-- grain: a device and an operation
-- source: block_io, block_device
-- caveat: times are those of the requests with both ends in the capture, from issue to completion; the wait in the queue before the issue is in queue_total_ns
-- caveat: a recording of some processes sees few completions: they come in interrupts, while any thread may run. Record the whole host to get latencies
-- diff no: block_latency is compared, by the median of its distribution
-- column device: major,minor
-- column device_name: its name, if /proc/diskstats was recorded
-- column operation: read, write, discard, flush, zone, other
-- column request_count [count]: requests with an event in the capture
-- column completed_count [count]: requests whose completion is known
-- column failed_count [count]: requests that completed with an error
-- column request_bytes [bytes]: sum of the sizes of these requests
-- column timed_count [count]: requests with both ends in the capture: the times are theirs
-- column latency_total_ns [ns]: time from issue to completion
-- column latency_avg_ns [ns]: mean time from issue to completion
-- column latency_max_ns [ns]: longest time from issue to completion
-- column queue_total_ns [ns]: time of these requests in the queue before the issue, if that is known
SELECT
  r.device, n.device_name, r.operation, count(*) AS request_count, count(r.error) AS completed_count, count(*) FILTER (r.error <> 0) AS failed_count,
  @total(r.size_bytes) AS request_bytes, count(r.latency_ns) AS timed_count, @total(r.latency_ns) AS latency_total_ns,
  avg(r.latency_ns) AS latency_avg_ns, max(r.latency_ns) AS latency_max_ns, @total_where(r.queue_ns, r.latency_ns IS NOT NULL) AS queue_total_ns
FROM block_io AS r
LEFT JOIN block_device AS n USING (device)
GROUP BY r.device, n.device_name, r.operation
ORDER BY latency_total_ns DESC NULLS LAST, r.device, r.operation
