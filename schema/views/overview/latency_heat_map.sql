-- latency_heat_map: how long things took, over time: waits for a CPU, system calls, requests of block devices
-- grain: a kind, an interval of time and a power of two, if something of this length ended then
-- source: run_queue_wait, syscall, block_io, capture
-- caveat: SET VARIABLE start_ns, end_ns and buckets choose the stretch and the number of intervals; by default, the whole capture in 200 intervals
-- caveat: each counts in the interval in which it ended; what has not both ends in the capture is left out
-- caveat: latency heat maps are by Brendan Gregg (Visualizing System Latency, 2010)
-- diff no: a picture; run_queue_latency, syscall_latency and block_latency are compared
-- column kind: run queue, system call, or block device
-- keys: ts_ns, interval_ns
-- column length_min_ns [ns]: the range of lengths begins at this value
-- column length_max_ns [ns]: the range ends before this value
-- column end_count [count]: how many of this length ended
-- column total_ns [ns]: time that they took together
-- column longest_ns [ns]: the longest of them
WITH setting AS @buckets(200), ended AS (
  SELECT 'run queue' AS kind, ts_ns + wait_ns AS end_ts_ns, wait_ns AS length_ns FROM run_queue_wait WHERE NOT is_open
  UNION ALL
  SELECT 'system call', exit_ts_ns, duration_ns FROM syscall WHERE duration_ns IS NOT NULL
  UNION ALL
  SELECT 'block device', completed_ts_ns, latency_ns FROM block_io WHERE latency_ns IS NOT NULL
), cut AS (
  SELECT e.kind, e.length_ns, s.start_ns, s.end_ns, s.bucket_ns, (e.end_ts_ns - s.start_ns) // s.bucket_ns AS step
  FROM ended AS e
  JOIN setting AS s ON e.end_ts_ns >= s.start_ns AND e.end_ts_ns < s.end_ns
)
SELECT
  kind,
  start_ns + step * bucket_ns AS ts_ns,
  least(bucket_ns, end_ns - start_ns - step * bucket_ns) AS interval_ns,
  @bucket_min(length_ns) AS length_min_ns,
  @bucket_max(length_ns) AS length_max_ns,
  count(*) AS end_count,
  @total(length_ns) AS total_ns,
  max(length_ns) AS longest_ns
FROM cut
GROUP BY ALL
ORDER BY kind, ts_ns, length_min_ns
