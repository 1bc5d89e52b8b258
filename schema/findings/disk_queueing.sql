-- disk_queueing: Requests queue at a disk: each waits for those before it
-- condition: 100 requests or more took 10 ms or more on average (a rotating disk needs that for a random access), with four or
--   more in flight while the disk was busy, for a tenth of the capture or more. If block events show it for half of the
--   requests or more (a recording of one command sees few), the requests that found the disk idle took less than half of that;
--   otherwise the disk itself is slow (disk_slow). The published host had 25.32 in flight, 33.84 ms, and was busy all the time.
--   Critical if the disk was busy for 90 % of the capture
-- means: a request spends most of its time in the queue. Less load makes each request quicker, and so does spreading it over
--   time or over disks
-- next: perfcase view disk_utilization: when, and the sizes of the requests
-- next: perfcase view process_activity: which processes read and write. page_cache: whether memory could have answered
-- about: the disk
-- follows from: page_cache_too_small
-- taught by: A high rate of paging
-- source: disk_summary, disk_wait
-- evidence: SELECT ts_ns, device, read_per_s, write_per_s, request_size_bytes, read_await_ns, write_await_ns, queue_length, util_ratio FROM
--   disk_utilization WHERE read_count + write_count > 0 ORDER BY ts_ns, device
-- judged when: SELECT count(*) > 0 FROM disk_utilization
-- not judged: what the disks did. It needs two snapshots of /proc/diskstats; perfcase-record takes them by default
WITH threshold AS (
  SELECT 100 AS request_count, 10000000 AS await_ns, 4 AS depth, 0.1 AS busy_ratio, 0.9 AS critical_ratio, 0.5 AS alone_ratio, 5 AS alone_count,
    0.5 AS traced_ratio
), told AS (
  SELECT d.*, CASE WHEN d.alone_count >= h.alone_count AND d.traced_count >= h.traced_ratio * d.request_count THEN d.alone_ns END AS idle_ns
  FROM disk_summary AS d
  CROSS JOIN threshold AS h
)
SELECT
  @severity(d.busy_ratio >= h.critical_ratio, true) AS severity,
  d.device AS subject,
  format('{} requests took {:.1f} ms on average, with {:.1f} in flight while it was busy ({:.2f} s, {:.1f} % of the time): it finished one each {:.1f} ms{}',
    d.request_count, d.await_ns / 1e6, d.in_flight_count, d.busy_ns / 1e9, 100 * d.busy_ratio, d.busy_ns / d.request_count / 1e6,
    CASE WHEN d.idle_ns IS NULL THEN '' ELSE format(', and those that found it idle took {:.1f} ms', d.idle_ns / 1e6) END) AS message,
  @whole(w.wait_ns) AS cost_ns, ['disk ' || d.device] AS about
FROM told AS d
LEFT JOIN disk_wait AS w USING (device)
CROSS JOIN threshold AS h
WHERE d.request_count >= h.request_count AND d.await_ns >= h.await_ns AND d.in_flight_count >= h.depth AND d.busy_ratio >= h.busy_ratio
  AND coalesce(d.idle_ns < h.alone_ratio * d.await_ns, true)
