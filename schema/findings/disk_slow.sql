-- disk_slow: A disk is slow by itself: requests take long, but few are in flight
-- condition: 20 requests or more took 20 ms or more on average (a rotating disk needs about 10 ms for a random access, flash
--   less than 1 ms), with fewer than two in flight on average while the disk was busy. If block events show it for half of the
--   requests or more (a recording of one command sees few), half of them took that long; otherwise see disk_peaks. Critical if
--   the disk was busy for half of the capture. A note if it was busy for less than a twentieth: then there is almost no
--   waiting
-- means: a thread waits for each of these requests. Fewer requests, or fewer threads, do not make them quicker. A throttled or
--   shared device looks like this: a cloud volume at its limit, the server of a network file system, a RAID that rebuilds
-- next: perfcase view disk_utilization and block_latency: the times and their distribution
-- next: perfcase view kernel_log: what the device reported
-- about: the disk
-- follows from: page_cache_too_small
-- taught by: A tale of ten bugs (8)
-- source: disk_summary, disk_wait
-- evidence: SELECT ts_ns, device, read_count, write_count, read_await_ns, write_await_ns, queue_length, util_ratio FROM disk_utilization
--   WHERE read_count + write_count > 0 ORDER BY ts_ns, device
-- judged when: SELECT count(*) > 0 FROM disk_utilization
-- not judged: what the disks did. It needs two snapshots of /proc/diskstats; perfcase-record takes them by default
WITH threshold AS (
  SELECT 20 AS request_count, 20000000 AS await_ns, 2 AS depth, 0.5 AS critical_ratio, 0.05 AS warning_ratio, 0.5 AS traced_ratio
), told AS (
  SELECT d.*, CASE WHEN d.traced_count >= h.traced_ratio * d.request_count THEN d.traced_p50_ns END AS p50_ns
  FROM disk_summary AS d
  CROSS JOIN threshold AS h
)
SELECT
  @severity(d.busy_ratio >= h.critical_ratio, d.busy_ratio >= h.warning_ratio) AS severity,
  d.device AS subject,
  format('{} requests took {:.1f} ms on average{}, with {:.1f} in flight while it was busy: {:.2f} s, {:.1f} % of the time', d.request_count,
    d.await_ns / 1e6, CASE WHEN d.p50_ns IS NULL THEN '' ELSE format(' (half of those traced {:.1f} ms or more)', d.p50_ns / 1e6) END,
    d.in_flight_count, d.busy_ns / 1e9, 100 * d.busy_ratio) AS message,
  @whole(w.wait_ns) AS cost_ns, ['disk ' || d.device] AS about
FROM told AS d
LEFT JOIN disk_wait AS w USING (device)
CROSS JOIN threshold AS h
WHERE d.request_count >= h.request_count AND d.await_ns >= h.await_ns AND d.in_flight_count < h.depth
  AND coalesce(d.p50_ns >= h.await_ns, true)
