-- capture_trust: Parts of the capture are not reliable: events were lost, data is damaged, counters were multiplexed, or clocks
--   differ
-- condition: a source lost 1 % of its events or more (a lost switch makes the waits on both sides of it wrong); or the import had
--   an error; or an event of perf stat ran for less than a tenth of the time, so that more than nine tenths of its count are
--   estimated; or a source has times of another clock than the capture. It costs the workload nothing: its cost is not told
-- means: counts are too small, and times around the gaps are wrong. Draw no conclusions from small differences
-- next: perfcase view data_quality: the losses of each source, and how much of the capture it covers
-- next: perfcase tables import_issue: everything that was lost, damaged or unknown, with its place
-- next: record again with fewer events, only one command or control group, or larger buffers (perf record -m)
-- taught by: A tale of ten bugs (3)
-- source: capture, import_issue, pmc_event, source
-- evidence: SELECT source, status, event_count, lost_count, lost_ratio, error_count, clock, meaning FROM data_quality
--   ORDER BY lost_ratio DESC NULLS LAST, source
WITH threshold AS (
  SELECT 0.01 AS lost_ratio, 0.1 AS running_ratio
), damage AS (
  -- What belongs to no source is the archive's own damage.
  SELECT coalesce(s.name, i.source, 'the capture') AS name, count(*) AS errors
  FROM import_issue AS i
  LEFT JOIN source AS s ON i.source IN (s.name, s.member)
  WHERE i.severity = 'error'
  GROUP BY 1
), quality AS (
  SELECT s.name AS source, s.clock, s.lost_count, s.event_count, @ratio(s.lost_count, s.lost_count + s.event_count) AS lost_ratio,
    c.clock AS capture_clock
  FROM source AS s
  CROSS JOIN capture AS c
), counter AS (
  SELECT s.name AS source, p.event, avg(p.running_ratio) AS running_ratio, count(*) AS number
  FROM pmc_event AS p
  JOIN source AS s USING (source_id)
  WHERE p.running_ratio IS NOT NULL AND p.count IS NOT NULL
  GROUP BY s.name, p.event
), doubt AS (
  SELECT 'warning' AS severity, q.source AS subject,
    format('lost {:,} of {:,} events ({:.1f} %)', q.lost_count, q.lost_count + q.event_count, 100 * q.lost_ratio) AS message
  FROM quality AS q CROSS JOIN threshold AS h
  WHERE q.lost_ratio >= h.lost_ratio
  UNION ALL
  SELECT 'warning', d.name, format('{:,} error{} in the import: what comes after the damage is missing', d.errors, CASE d.errors WHEN 1 THEN '' ELSE 's' END)
  FROM damage AS d
  UNION ALL
  SELECT 'note', k.source, format('{} of perf stat ran less than {:.0f} % of the time, least of all {}, {:.1f} %: {}',
    CASE count(*) WHEN 1 THEN '1 event' ELSE count(*) || ' events' END, 100 * max(h.running_ratio), arg_min(k.event, (k.running_ratio, k.event)), 100 * min(k.running_ratio),
    CASE count(*) WHEN 1 THEN 'its count is an estimate' ELSE 'their counts are estimates' END)
  FROM counter AS k CROSS JOIN threshold AS h
  WHERE k.running_ratio < h.running_ratio
  GROUP BY k.source
  UNION ALL
  SELECT 'warning', q.source, format('its times are of the clock {}, the capture''s of {}: they do not line up', q.clock, q.capture_clock)
  FROM quality AS q
  WHERE q.clock <> q.capture_clock
)
SELECT severity, subject, message FROM doubt
