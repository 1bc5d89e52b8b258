-- block_latency_over_time: what each block device did in each interval: requests, their latency, and how many were in flight
-- grain: an interval and a device that had a request at any time
-- source: block_io, block_device, recorded_span
-- caveat: a request belongs to the interval that it completed in, as in iostat; latencies are of requests whose issue is known
-- caveat: depth and busy time count only requests whose completion is in the capture; the others are in open_count of the interval in which they were issued
-- caveat: a recording of some processes sees few completions: they come in interrupts, while any thread may run. Record the whole host to get latencies
-- caveat: latency counts from the last issue: if a device did not answer and the kernel issued the request again, the whole wait is in request_max_ns
-- caveat: an average hides the slowest requests: also look at latency_max_ns, and in kernel_log for messages of the device at that time
-- caveat: intervals are 1 s long; SET VARIABLE interval_ns = 100000000 makes them 0.1 s long
-- diff by: device_name
-- diff sum: request_count, read_bytes, write_bytes, error_count
-- diff mean: latency_avg_ns by request_count, queue_avg_ns by request_count, in_flight_avg_count, busy_ratio
-- diff max: latency_max_ns
-- diff weight: 0.75
-- plot: intervals request_count, latency_avg_ns, latency_max_ns, in_flight_avg_count, busy_ratio by device
-- chart timeline 3 instead: Disks, by requests: busy_ratio as in use by device
-- keys: ts_ns, interval_ns
-- as in block_io: device
-- as in block_device: device_name
-- column request_count [count]: requests that completed in the interval
-- column read_bytes [bytes]: bytes that they read
-- column write_bytes [bytes]: bytes that they wrote
-- column latency_avg_ns [ns]: mean time from issue to completion
-- column latency_p50_ns [ns]: median: half of the requests took no longer
-- column latency_p99_ns [ns]: 99th percentile: 99 of 100 requests took no longer
-- column latency_max_ns [ns]: time of the slowest request
-- column queue_avg_ns [ns]: mean wait in the queue before the issue, of the requests that were queued
-- column request_max_ns [ns]: the longest time from queued (or issued, if it went straight to the device) to completed, with all tries
-- column requeue_count [count]: times that the kernel took a request back to issue it again
-- column in_flight_avg_count [count]: mean number of requests in flight at the device, weighted by time
-- column in_flight_max_count [count]: most requests in flight at once
-- column busy_ns [ns]: time with at least one request in flight
-- column busy_ratio [ratio]: busy_ns as a share of the interval
-- column error_count [count]: requests that completed with an error
-- column open_count [count]: requests that were issued in the interval and whose completion is not in the capture: in flight at its end, or the completion was not seen
WITH request AS (
  SELECT device, issued_ts_ns, completed_ts_ns, latency_ns, queue_ns, operation, size_bytes, error,
    completed_ts_ns - coalesce(queued_ts_ns, issued_ts_ns) AS total_ns, requeue_count
  FROM block_io
  WHERE issued_ts_ns IS NOT NULL
), setting AS (
  -- At most 100,000 intervals.
  SELECT greatest(1, coalesce(getvariable('interval_ns'), 1000000000)::BIGINT, end_ns // 100000) AS step_ns,
    least(coalesce(start_ns, 0), (SELECT min(issued_ts_ns) FROM request)) AS start_ns, end_ns
  FROM (
    SELECT max(start_ts_ns) AS start_ns,
      greatest(max(end_ts_ns), (SELECT max(coalesce(completed_ts_ns, issued_ts_ns)) + 1 FROM request)) AS end_ns
    FROM recorded_span
    WHERE table_name = 'block_io'
  )
), grid AS (
  SELECT device, unnest(generate_series(start_ns // step_ns * step_ns, end_ns - 1, step_ns)) AS ts_ns
  FROM (SELECT DISTINCT device FROM request)
  CROSS JOIN setting
), change AS (
  SELECT device, ts_ns, sum(step) AS step
  FROM (
    SELECT device, issued_ts_ns AS ts_ns, CASE WHEN completed_ts_ns IS NULL THEN 0 ELSE 1 END AS step FROM request
    UNION ALL SELECT device, completed_ts_ns, -1 FROM request
    UNION ALL SELECT device, ts_ns, 0 FROM grid
  )
  WHERE ts_ns IS NOT NULL
  GROUP BY device, ts_ns
), segment AS (
  SELECT device, ts_ns,
    sum(step) OVER (PARTITION BY device ORDER BY ts_ns) AS depth,
    lead(ts_ns) OVER (PARTITION BY device ORDER BY ts_ns) AS end_ns
  FROM change
), depth AS (
  SELECT
    s.device, s.ts_ns // g.step_ns * g.step_ns AS ts_ns,
    sum(s.depth * (coalesce(s.end_ns, g.end_ns) - s.ts_ns))::DOUBLE AS depth_ns,
    @total(CASE WHEN s.depth > 0 THEN coalesce(s.end_ns, g.end_ns) - s.ts_ns ELSE 0 END) AS busy_ns,
    max(s.depth)::BIGINT AS depth_max
  FROM segment AS s
  CROSS JOIN setting AS g
  WHERE s.ts_ns < g.end_ns
  GROUP BY ALL
), done AS (
  SELECT
    r.device, r.completed_ts_ns // g.step_ns * g.step_ns AS ts_ns,
    count(*) AS request_count,
    sum(CASE WHEN r.operation = 'read' THEN r.size_bytes ELSE 0 END)::HUGEINT AS read_bytes,
    sum(CASE WHEN r.operation = 'write' THEN r.size_bytes ELSE 0 END)::HUGEINT AS write_bytes,
    avg(r.latency_ns) AS latency_avg_ns,
    quantile_disc(r.latency_ns, 0.5) AS latency_p50_ns,
    quantile_disc(r.latency_ns, 0.99) AS latency_p99_ns,
    max(r.latency_ns) AS latency_max_ns,
    avg(r.queue_ns) AS queue_avg_ns,
    max(r.total_ns) AS request_max_ns,
    @total(r.requeue_count) AS requeue_count,
    count(*) FILTER (r.error <> 0) AS error_count
  FROM request AS r
  CROSS JOIN setting AS g
  WHERE r.completed_ts_ns IS NOT NULL
  GROUP BY ALL
), open AS (
  SELECT r.device, r.issued_ts_ns // g.step_ns * g.step_ns AS ts_ns, count(*) AS open_count
  FROM request AS r
  CROSS JOIN setting AS g
  WHERE r.completed_ts_ns IS NULL
  GROUP BY ALL
)
SELECT
  d.since_ts_ns AS ts_ns, d.interval_ns, d.device, n.device_name,
  coalesce(x.request_count, 0) AS request_count,
  coalesce(x.read_bytes, 0) AS read_bytes, coalesce(x.write_bytes, 0) AS write_bytes,
  x.latency_avg_ns, x.latency_p50_ns, x.latency_p99_ns, x.latency_max_ns, x.queue_avg_ns, x.request_max_ns,
  coalesce(x.requeue_count, 0) AS requeue_count,
  d.depth_ns / d.interval_ns AS in_flight_avg_count,
  d.depth_max AS in_flight_max_count,
  d.busy_ns, d.busy_ns / d.interval_ns AS busy_ratio,
  coalesce(x.error_count, 0) AS error_count, coalesce(o.open_count, 0) AS open_count
FROM (
  SELECT depth.*, greatest(depth.ts_ns, start_ns) AS since_ts_ns,
    least(depth.ts_ns + step_ns, end_ns) - greatest(depth.ts_ns, start_ns) AS interval_ns
  FROM depth
  CROSS JOIN setting
) AS d
LEFT JOIN done AS x ON x.device = d.device AND x.ts_ns = d.ts_ns
LEFT JOIN open AS o ON o.device = d.device AND o.ts_ns = d.ts_ns
LEFT JOIN block_device AS n ON n.device = d.device
ORDER BY d.ts_ns, d.device
