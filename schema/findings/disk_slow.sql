-- disk_slow: A disk is slow by itself: requests take long though few others are under way
-- condition: 20 requests or more took 20 ms or more on average (a disk that turns needs about 10 ms for a place at random, flash below 1 ms),
--   while on average fewer than two were in flight whenever any was; and where block events tell it (of half of the requests or more: a
--   recording of one command sees few), half of them took as long: else see disk_peaks; critical where the disk was busy for half of the capture
-- means: each of these requests is time that somebody waits; asking less often or from fewer threads does not make it quicker. A throttled
--   or shared device (a cloud volume at its limit, a network file system's server, a RAID that rebuilds) looks like this
-- next: perfcase view disk_utilization and block_latency: the times and their distribution
-- next: perfcase view kernel_log: what the device said
-- taught by: A tale of ten bugs (8)
-- evidence: SELECT ts_ns, device, read_count, write_count, read_await_ns, write_await_ns, queue_length, util_ratio FROM disk_utilization
--   WHERE read_count + write_count > 0 ORDER BY ts_ns, device
-- judged when: SELECT count(*) > 0 FROM disk_utilization
-- not judged: what the disks did (two snapshots of /proc/diskstats); perfcase-record takes them by default
WITH threshold AS (
  SELECT 20 AS request_count, 20000000 AS await_ns, 2 AS depth, 0.5 AS critical_ratio, 0.5 AS traced_ratio
), disk AS (
  SELECT device, sum(read_count + write_count)::BIGINT AS request_count,
    sum(coalesce(read_await_ns * read_count, 0) + coalesce(write_await_ns * write_count, 0)) AS request_ns,
    sum(busy_ns) AS busy_ns, sum(interval_ns) AS interval_ns
  FROM disk_utilization
  GROUP BY device
), event AS (
  SELECT n.device_name AS device, count(*) AS event_count, quantile_disc(coalesce(b.queue_ns, 0) + b.latency_ns, 0.5) AS p50_ns
  FROM block_io AS b
  JOIN block_device AS n USING (device)
  WHERE b.operation IN ('read', 'write') AND b.latency_ns IS NOT NULL
  GROUP BY n.device_name
), found AS (
  SELECT d.*, d.request_ns / d.request_count AS await_ns, d.request_ns / nullif(d.busy_ns, 0) AS depth, d.busy_ns / d.interval_ns AS busy_ratio,
    CASE WHEN e.event_count >= h.traced_ratio * d.request_count THEN e.p50_ns END AS p50_ns
  FROM disk AS d
  CROSS JOIN threshold AS h
  LEFT JOIN event AS e USING (device)
  WHERE d.request_count > 0
)
SELECT
  CASE WHEN f.busy_ratio >= h.critical_ratio THEN 'critical' ELSE 'warning' END AS severity,
  f.device AS subject,
  format('{} requests took {:.1f} ms on average{}, with {:.1f} in flight while it was busy: {:.2f} s, {:.1f} % of the time', f.request_count,
    f.await_ns / 1e6, CASE WHEN f.p50_ns IS NULL THEN '' ELSE format(' (half of those traced {:.1f} ms or more)', f.p50_ns / 1e6) END,
    f.depth, f.busy_ns / 1e9, 100 * f.busy_ratio) AS message,
  least(1, f.busy_ratio)::DOUBLE AS score
FROM found AS f
CROSS JOIN threshold AS h
WHERE f.request_count >= h.request_count AND f.await_ns >= h.await_ns AND f.depth < h.depth
  AND coalesce(f.p50_ns >= h.await_ns, true)
