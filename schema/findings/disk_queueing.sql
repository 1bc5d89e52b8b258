-- disk_queueing: Requests queue at a disk: it is asked for more than it does, and each waits for those before it
-- condition: 100 requests or more took 10 ms or more on average (what a disk that turns needs for one at random), with four or more in
--   flight whenever any was, in a tenth of the capture or more; and where block events tell it (of half of the requests or more: a
--   recording of one command sees few), those that found the disk idle took less than half of that: else the disk itself is slow (disk_slow). The published host: 25.32 in flight, 33.84 ms, busy all the time. Critical
--   where the disk was busy for 90 % of the capture
-- means: most of the time of a request goes by in the queue: less load, or spreading it over time or disks, makes each quicker
-- next: perfcase view disk_utilization: when, with which sizes of requests
-- next: perfcase view process_activity: who reads and writes; page_cache: whether memory could have answered
-- taught by: A high rate of paging
-- evidence: SELECT ts_ns, device, read_per_s, write_per_s, request_size_bytes, read_await_ns, write_await_ns, queue_length, util_ratio FROM
--   disk_utilization WHERE read_count + write_count > 0 ORDER BY ts_ns, device
-- judged when: SELECT count(*) > 0 FROM disk_utilization
-- not judged: what the disks did (two snapshots of /proc/diskstats); perfcase-record takes them by default
WITH threshold AS (
  SELECT 100 AS request_count, 10000000 AS await_ns, 4 AS depth, 0.1 AS busy_ratio, 0.9 AS critical_ratio, 0.5 AS alone_ratio, 5 AS alone_count,
    0.5 AS traced_ratio
), disk AS (
  SELECT device, sum(read_count + write_count)::BIGINT AS request_count,
    sum(coalesce(read_await_ns * read_count, 0) + coalesce(write_await_ns * write_count, 0)) AS request_ns,
    sum(busy_ns) AS busy_ns, sum(interval_ns) AS interval_ns
  FROM disk_utilization
  GROUP BY device
), change AS (
  SELECT device, issued_ts_ns AS ts_ns, 1 AS step, latency_ns FROM block_io WHERE latency_ns IS NOT NULL
  UNION ALL SELECT device, completed_ts_ns, -1, NULL FROM block_io WHERE latency_ns IS NOT NULL
), depth AS (
  SELECT device, step, latency_ns, sum(step) OVER (PARTITION BY device ORDER BY ts_ns, step ROWS UNBOUNDED PRECEDING) AS depth
  FROM change
), alone AS (
  SELECT n.device_name AS device, count(*) AS traced_count, count(*) FILTER (d.depth = 1) AS alone_count,
    avg(d.latency_ns) FILTER (d.depth = 1) AS alone_ns
  FROM depth AS d
  JOIN block_device AS n USING (device)
  WHERE d.step = 1
  GROUP BY n.device_name
), found AS (
  SELECT d.*, d.request_ns / d.request_count AS await_ns, d.request_ns / nullif(d.busy_ns, 0) AS depth, d.busy_ns / d.interval_ns AS busy_ratio,
    CASE WHEN a.alone_count >= h.alone_count AND a.traced_count >= h.traced_ratio * d.request_count THEN a.alone_ns END AS alone_ns
  FROM disk AS d
  CROSS JOIN threshold AS h
  LEFT JOIN alone AS a USING (device)
  WHERE d.request_count > 0
)
SELECT
  CASE WHEN f.busy_ratio >= h.critical_ratio THEN 'critical' ELSE 'warning' END AS severity,
  f.device AS subject,
  format('{} requests took {:.1f} ms on average, with {:.1f} in flight while it was busy ({:.2f} s, {:.1f} % of the time): it finished one each {:.1f} ms{}',
    f.request_count, f.await_ns / 1e6, f.depth, f.busy_ns / 1e9, 100 * f.busy_ratio, f.busy_ns / f.request_count / 1e6,
    CASE WHEN f.alone_ns IS NULL THEN '' ELSE format(', and those that found it idle took {:.1f} ms', f.alone_ns / 1e6) END) AS message,
  least(1, f.busy_ratio * (1 - 1 / f.depth))::DOUBLE AS score
FROM found AS f
CROSS JOIN threshold AS h
WHERE f.request_count >= h.request_count AND f.await_ns >= h.await_ns AND f.depth >= h.depth AND f.busy_ratio >= h.busy_ratio
  AND coalesce(f.alone_ns < h.alone_ratio * f.await_ns, true)
