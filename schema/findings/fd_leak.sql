-- fd_leak: A process leaks file descriptors, or is close to its limit
-- condition: its open descriptors reached 80 % of its limit (critical if a call failed with EMFILE); or in four
--   snapshots or more, over 4 s or more, their number never fell, grew by 20 or more and by half or more, also in the later
--   half of the time, and lies on a straight line (R² 0.9 or more). Where there are fewer snapshots, nine moments of the recording
--   count instead, at which the calls that open and close descriptors say how many were open; accepted connections are left out of
--   these, as clients that come and stay look the same. This is a warning if the line meets the limit within an hour, else a note. Its
--   cost is the share of the calls that failed for it; not told where none did
-- means: at the limit the process can accept no connection and open no file. A warm-up or a growing number of connections looks
--   like a leak; the next capture shows which it is
-- next: perfcase view file_descriptor: what is open, at each snapshot
-- next: perfcase view fd_history: which call created each descriptor, and which were closed
-- about: the descriptors of the process, and those who are answered late if calls failed
-- follows from: pipe_deadlock
-- taught by: A tale of ten bugs (5, 6)
-- source: descriptor, file_descriptor, proc_limit, process, recorded_span, recorder_thread, service_address, syscall, thread
-- evidence: SELECT pid, comm, snapshot, min(ts_ns) AS ts_ns, kind, count(*) AS open_count, any_value(limit_count) AS limit_count,
--   mode(target ORDER BY target) AS most_often FROM file_descriptor GROUP BY ALL ORDER BY pid, snapshot, open_count DESC, kind
WITH threshold AS (
  SELECT 0.8 AS limit_ratio, 4 AS snapshot_count, 4000000000 AS duration_ns, 20 AS growth_count,
    1.5 AS growth_ratio, 0.9 AS fit_ratio, 3600 AS limit_s, 9 AS moment_count
), snapped AS (
  SELECT upid, pid, arg_max(comm, ts_ns) AS comm, snapshot, min(ts_ns) AS ts_ns, count(*) AS open_count, max(limit_count) AS limit_count
  FROM file_descriptor
  WHERE upid IS NOT NULL AND upid NOT IN (SELECT t.upid FROM recorder_thread JOIN thread AS t USING (utid) WHERE t.upid IS NOT NULL)
  GROUP BY upid, pid, snapshot
), traceable AS (
  SELECT d.upid
  FROM descriptor AS d
  CROSS JOIN threshold AS h
  WHERE coalesce(d.opened_by, '') NOT IN ('accept', 'accept4')
    AND d.upid NOT IN (SELECT t.upid FROM recorder_thread JOIN thread AS t USING (utid) WHERE t.upid IS NOT NULL)
    AND d.upid NOT IN (SELECT upid FROM snapped GROUP BY upid HAVING count(*) >= (SELECT snapshot_count FROM threshold))
  GROUP BY d.upid, h.growth_count
  HAVING count(*) FILTER (d.ts_ns IS NOT NULL) - count(*) FILTER (d.end_ts_ns IS NOT NULL AND d.end_known_from IS DISTINCT FROM 'exit') >= h.growth_count
), lived AS (
  SELECT p.upid, p.pid, p.name, greatest(c.start_ts_ns, coalesce(p.start_ts_ns, c.start_ts_ns)) AS from_ns, least(c.end_ts_ns, coalesce(p.end_ts_ns, c.end_ts_ns)) AS to_ns
  FROM process AS p
  JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
  WHERE p.upid IN (SELECT upid FROM traceable)
), moment AS (
  SELECT l.*, i::BIGINT AS snapshot, l.from_ns + (l.to_ns - l.from_ns) * (2 * i + 1) // (2 * h.moment_count) AS ts_ns
  FROM lived AS l
  CROSS JOIN threshold AS h
  CROSS JOIN range((SELECT moment_count FROM threshold)) AS r(i)
  WHERE l.to_ns > l.from_ns
), open AS (
  SELECT m.upid, m.pid, m.name, m.snapshot, m.ts_ns, d.kind, d.target
  FROM moment AS m
  JOIN descriptor AS d ON d.upid = m.upid AND coalesce(d.ts_ns <= m.ts_ns, true) AND coalesce(d.end_ts_ns > m.ts_ns, true)
    AND coalesce(d.opened_by, '') NOT IN ('accept', 'accept4')
), traced AS (
  SELECT o.upid, o.pid, any_value(o.name) AS comm, o.snapshot, o.ts_ns, count(*) AS open_count,
    any_value((SELECT max(soft) FROM proc_limit AS l WHERE l.upid = o.upid AND l.name = 'Max open files')) AS limit_count
  FROM open AS o
  GROUP BY o.upid, o.pid, o.snapshot, o.ts_ns
), listed AS (
  FROM snapped WHERE upid NOT IN (SELECT upid FROM traced)
  UNION ALL
  FROM traced
), stepped AS (
  SELECT *, open_count - lag(open_count) OVER (PARTITION BY upid ORDER BY ts_ns) AS step_count,
    ts_ns > (min(ts_ns) OVER (PARTITION BY upid) + max(ts_ns) OVER (PARTITION BY upid)) / 2 AS is_later
  FROM listed
), grown AS (
  SELECT upid, any_value(pid) AS pid, arg_max(comm, ts_ns) AS comm, count(*) AS snapshot_count, max(ts_ns) - min(ts_ns) AS duration_ns,
    arg_min(open_count, ts_ns) AS first_count, arg_max(open_count, ts_ns) AS last_count, max(open_count) AS most_count,
    arg_max(limit_count, ts_ns) AS limit_count, min(step_count) AS least_step, coalesce(sum(step_count) FILTER (is_later), 0) AS later_count,
    regr_slope(open_count, ts_ns / 1e9) AS per_s, regr_r2(open_count, ts_ns / 1e9) AS fit_ratio
  FROM stepped
  GROUP BY upid
), kinds AS (
  SELECT f.upid, f.kind, count(*) AS kind_count, coalesce(mode(f.target ORDER BY f.target), '?') AS target
  FROM (
    SELECT upid, snapshot, kind, target FROM file_descriptor WHERE upid NOT IN (SELECT upid FROM traced)
    UNION ALL
    SELECT upid, snapshot, coalesce(kind, 'of unknown kind'), target FROM open
  ) AS f
  JOIN (SELECT upid, max(snapshot) AS snapshot FROM listed GROUP BY upid) AS l USING (upid, snapshot)
  GROUP BY f.upid, f.kind
  QUALIFY row_number() OVER (PARTITION BY f.upid ORDER BY count(*) DESC, f.kind) = 1
), refused AS (
  SELECT upid, sum(refused_count) AS refused_count, sum(call_count) AS call_count
  FROM (
    SELECT t.upid, s.name, count(*) FILTER (s.errno = 24) AS refused_count, count(*) AS call_count
    FROM syscall AS s
    JOIN thread AS t USING (utid)
    GROUP BY t.upid, s.name
  )
  WHERE refused_count > 0
  GROUP BY upid
), judged AS (
  SELECT g.*, k.kind, k.kind_count, k.target, coalesce(r.refused_count, 0) AS refused_count, r.call_count,
    @ratio(g.most_count, g.limit_count) AS limit_ratio,
    (g.limit_count - g.last_count) / nullif(g.per_s, 0) AS left_s,
    g.snapshot_count >= h.snapshot_count AND g.duration_ns >= h.duration_ns AND g.least_step >= 0
      AND g.last_count - g.first_count >= h.growth_count AND g.last_count >= h.growth_ratio * g.first_count
      AND g.later_count > 0 AND g.fit_ratio >= h.fit_ratio AS is_growing
  FROM grown AS g
  JOIN kinds AS k USING (upid)
  LEFT JOIN refused AS r USING (upid)
  CROSS JOIN threshold AS h
)
SELECT
  @severity(j.refused_count > 0 AND j.limit_ratio >= h.limit_ratio, j.limit_ratio >= h.limit_ratio OR j.left_s <= h.limit_s) AS severity,
  format('{} ({})', coalesce(j.comm, '?'), j.pid) AS subject,
  format('{} open descriptor{}{}, {} of them {} (most often {}){}{}{}', j.last_count, CASE j.last_count WHEN 1 THEN '' ELSE 's' END,
    CASE WHEN j.most_count > j.last_count THEN format(' in the end, {} before', j.most_count) ELSE '' END, j.kind_count, j.kind, j.target,
    CASE WHEN j.limit_count IS NULL THEN '' ELSE format('; {:.1f} % of its limit of {}', 100 * j.limit_ratio, j.limit_count) END,
    CASE WHEN j.is_growing THEN format('; {} more than {:.0f} s before, {:.1f} per second{}', j.last_count - j.first_count, j.duration_ns / 1e9, j.per_s,
      CASE WHEN j.left_s IS NULL THEN '' ELSE format(': the limit is reached in {:.0f} s', j.left_s) END) ELSE '' END,
    CASE WHEN j.refused_count > 0 THEN format('; {} call{} failed because none was left', j.refused_count, CASE j.refused_count WHEN 1 THEN '' ELSE 's' END) ELSE '' END) AS message,
  @ratio(j.refused_count, j.call_count)::DOUBLE AS failed_ratio, ['descriptors of process ' || j.upid] ||
    CASE WHEN j.refused_count > 0 THEN coalesce((SELECT list('peer ' || a.address) FROM service_address AS a WHERE a.upid = j.upid), []) ELSE [] END AS about
FROM judged AS j
CROSS JOIN threshold AS h
WHERE j.is_growing OR j.limit_ratio >= h.limit_ratio
