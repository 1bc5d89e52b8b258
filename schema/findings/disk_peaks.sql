-- disk_peaks: Some requests to a disk take very long or fail: the average hides them
-- condition: a disk completed a read or a write with an error, or the kernel log names the disk in an error during the
--   recording (critical if requests also took 100 ms or more, and 10 times the median of the interval or more: those of the
--   published controller took 100 to 1100 ms); or three intervals or more have such a request (a warning)
-- means: most requests are quick, so an average hides the slow ones. A thread that meets a slow one waits for a tenth of a
--   second or longer. If there are errors, the device, its cable or its controller tries again: it may fail soon
-- next: perfcase view block_latency_over_time: the longest request of each interval beside the median
-- next: perfcase view kernel_log: what the device reported, and when
-- about: the disk
-- taught by: A tale of ten bugs (8)
-- source: block_device, block_io, block_latency_over_time, disk_wait, kernel_log
-- evidence: SELECT ts_ns, device_name, request_count, latency_p50_ns, request_max_ns, requeue_count, error_count FROM block_latency_over_time
--   WHERE request_count > 0 ORDER BY ts_ns, device_name
WITH threshold AS (
  SELECT 100000000 AS peak_ns, 10e0 AS peak_ratio, 3 AS interval_count
), interval AS (
  SELECT coalesce(device_name, device) AS device, device_name, ts_ns, request_count, latency_p50_ns, greatest(request_max_ns, latency_max_ns) AS max_ns
  FROM block_latency_over_time
  WHERE request_count > 0
), failed AS (
  SELECT coalesce(n.device_name, b.device) AS device, count(*) AS failed_count
  FROM block_io AS b
  LEFT JOIN block_device AS n USING (device)
  WHERE b.error <> 0 AND b.operation IN ('read', 'write')
  GROUP BY ALL
), message AS (
  SELECT text
  FROM kernel_log
  WHERE is_in_capture AND facility = 'kern' AND level IN ('emerg', 'alert', 'crit', 'err', 'warn')
    AND regexp_matches(text, '(I/O error|critical [a-z ]+ error|error reading|lost async page write|imeout|timed out|abort|exception Emask|failed command|EXT4-fs error|XFS.*error)')
), logged AS (
  -- The log names partitions too, and of an NVMe disk its controller.
  SELECT n.device, count(*) AS message_count, min(m.text) AS text
  FROM message AS m
  JOIN (
    SELECT DISTINCT device_name AS device, concat_ws('|',
      regexp_escape(device_name) || CASE WHEN regexp_matches(device_name, '[0-9]$') THEN '(p[0-9]+)?' ELSE '[0-9]*' END,
      nullif(regexp_extract(device_name, '^(nvme[0-9]+)n[0-9]+$', 1), '')) AS names
    FROM block_device
  ) AS n ON regexp_matches(m.text, '\b(' || n.names || ')\b')
  GROUP BY n.device
), peak AS (
  SELECT i.device, @total(i.request_count) AS request_count, count(*) AS interval_count, median(i.latency_p50_ns) AS p50_ns, max(i.max_ns) AS max_ns,
    count(*) FILTER (i.max_ns >= h.peak_ns AND i.max_ns >= h.peak_ratio * i.latency_p50_ns) AS peak_count
  FROM interval AS i
  CROSS JOIN threshold AS h
  GROUP BY i.device
)
SELECT
  @severity(p.peak_count > 0 AND (f.failed_count > 0 OR l.message_count > 0), true) AS severity,
  p.device AS subject,
  concat_ws('; ',
    format('the longest of {} requests took {:.1f} ms, the median {:.1f} ms; in {} of {} intervals one took 100 ms or more', p.request_count, p.max_ns / 1e6,
      p.p50_ns / 1e6, p.peak_count, p.interval_count),
    CASE WHEN f.failed_count > 0 THEN format('{} failed', f.failed_count) END,
    CASE WHEN l.message_count > 0 THEN format('the kernel logged {} error{}, such as "{}"', l.message_count, CASE l.message_count WHEN 1 THEN '' ELSE 's' END, l.text) END) AS message,
  @whole(w.long_ns) AS cost_ns, (f.failed_count / p.request_count)::DOUBLE AS failed_ratio, ['disk ' || p.device] AS about
FROM peak AS p
CROSS JOIN threshold AS h
LEFT JOIN failed AS f USING (device)
LEFT JOIN logged AS l USING (device)
LEFT JOIN disk_wait AS w USING (device)
WHERE p.peak_count >= h.interval_count OR f.failed_count > 0 OR l.message_count > 0
