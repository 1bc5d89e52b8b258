-- memory_growth_steady: The memory of a process grows in a straight line
-- condition: the anonymous memory (resident memory if that is unknown) of 6 snapshots or more over 8 s or longer lies on a line
--   (R² 0.95 or more), grew by 8 MiB and by 5 % or more, and never fell from one snapshot to the next, also in its last quarter.
--   The process was a minute old or more, and three times as old as these snapshots are long, or it used less than half a CPU: a
--   program that starts works as fast as it can to fill its memory, and a compiler does nothing else. A note. A warning if this
--   rate fills the available memory, or the rest of a limit of its control group, within a day, and the process has no threads of a
--   garbage collector (HotSpot, .NET), and is no program of JavaScript or Mono (by its name): such a heap grows up to its limit before it is collected, and only what is left after
--   collections tells of a leak. It has cost nothing so far: its cost is not told
-- means: it may be a leak, or a cache or queue that is never emptied. These look the same in a short capture: compare with a
--   capture from an hour earlier
-- next: perfcase view memory_growth: the slope of every process, and how straight its line is
-- next: perfcase view allocation_by_stack: which stacks allocate, if system calls or page faults were recorded
-- about: the threads of the process: each has its stack
-- follows from: thread_leak
-- taught by: A tale of ten bugs (5, 6)
-- source: capture, cgroup_activity, memory, proc_process, proc_thread, process, process_cgroup, recorder_thread, thread
-- evidence: SELECT pid, comm, snapshot_count, duration_ns, anon_first_bytes, anon_last_bytes, anon_bytes_per_h, anon_fit_ratio, resident_last_bytes
--   FROM memory_growth ORDER BY anon_last_bytes - anon_first_bytes DESC NULLS LAST, upid
-- judged when: SELECT count(*) > 0 FROM memory_growth WHERE snapshot_count >= 6 AND duration_ns >= 8000000000
-- not judged: six snapshots of processes over 8 seconds or longer; perfcase-record --duration 30 takes them
WITH threshold AS (
  SELECT 6 AS snapshots, 8000000000 AS length_ns, 0.95 AS fit, 8388608 AS bytes, 0.05 AS ratio, 24 AS warning_h,
    60000000000 AS age_ns, 3 AS age_lengths, 0.5 AS cpu_ratio
), seen AS (
  SELECT source_id, snapshot, upid, ts_ns, coalesce(resident_anon_bytes, anonymous_bytes) AS anon, resident_bytes AS resident,
    start_boottime_ns, @product(user_ns::HUGEINT + system_ns, 1) AS cpu_ns
  FROM proc_process
  UNION ALL
  SELECT t.source_id, t.snapshot, e.upid, t.ts_ns, t.resident_anon_bytes, t.resident_bytes, t.start_boottime_ns, NULL
  FROM proc_thread AS t
  JOIN thread AS e USING (utid)
  WHERE t.tid = t.pid
), per_snapshot AS (
  SELECT upid, min(ts_ns) AS ts_ns, max(anon) AS anon, max(resident) AS resident, max(start_boottime_ns) AS start_boottime_ns,
    max(cpu_ns) AS cpu_ns
  FROM seen
  WHERE upid IS NOT NULL
  GROUP BY source_id, snapshot, upid
), chosen AS (
  -- Anonymous memory where enough snapshots have it: resident memory holds the files that it has read, too.
  SELECT upid, ts_ns, start_boottime_ns, cpu_ns, CASE WHEN count(anon) OVER w >= h.snapshots THEN anon ELSE resident END AS bytes, count(anon) OVER w >= h.snapshots AS is_anon,
    -- The last two snapshots may be a millisecond apart.
    ts_ns >= max(ts_ns) OVER w - (max(ts_ns) OVER w - min(ts_ns) OVER w) // 4 AS is_late
  FROM per_snapshot
  CROSS JOIN threshold AS h
  WINDOW w AS (PARTITION BY upid)
), stepped AS (
  SELECT *, bytes - lag(bytes) OVER (PARTITION BY upid ORDER BY ts_ns) AS grown
  FROM chosen
  WHERE bytes IS NOT NULL
), straight AS (
  SELECT upid, any_value(is_anon) AS is_anon, count(*) AS snapshots, max(ts_ns) - min(ts_ns) AS length_ns,
    (SELECT max(start_boottime_ns) FROM capture) + min(ts_ns) - max(start_boottime_ns) AS age_ns,
    (max(cpu_ns::HUGEINT) - min(cpu_ns)) / nullif(max(ts_ns) - min(ts_ns), 0) AS cpu_ratio, min(grown) AS least_grown,
    arg_min(bytes, ts_ns) AS first_bytes, arg_max(bytes, ts_ns) AS last_bytes,
    arg_min(bytes, ts_ns) FILTER (is_late) AS late_bytes, regr_slope(bytes, ts_ns / 3.6e12) AS bytes_per_h, regr_r2(bytes, ts_ns / 3.6e12) AS fit
  FROM stepped
  GROUP BY upid
), free AS (
  SELECT arg_max(available_bytes, ts_ns) AS bytes, arg_max(memory_bytes, ts_ns) AS memory_bytes FROM memory
), room AS (
  -- Its files in the page cache give way.
  SELECT c.upid, min(a.bytes) AS bytes
  FROM (SELECT upid, cgroup FROM process_cgroup QUALIFY row_number() OVER (PARTITION BY upid ORDER BY since_ts_ns DESC, cgroup) = 1) AS c
  JOIN (
    SELECT cgroup, arg_max(greatest(0, memory_limit_bytes - coalesce(anon_bytes, memory_bytes)), ts_ns) AS bytes
    FROM cgroup_activity
    WHERE memory_limit_bytes IS NOT NULL AND coalesce(anon_bytes, memory_bytes) IS NOT NULL
    GROUP BY cgroup
  ) AS a ON c.cgroup = a.cgroup OR starts_with(c.cgroup, rtrim(a.cgroup, '/') || '/')
  GROUP BY c.upid
), growing AS (
  SELECT g.*, p.pid, p.name, f.memory_bytes, least(f.bytes, r.bytes) / g.bytes_per_h AS hours_left, r.bytes <= coalesce(f.bytes, r.bytes) AS is_limited,
    g.upid IN (SELECT upid FROM thread WHERE upid IS NOT NULL AND @collector(comm)) OR p.name IN ('node', 'nodejs', 'deno', 'bun', 'mono', 'mono-sgen') AS is_collected
  FROM straight AS g
  JOIN process AS p USING (upid)
  CROSS JOIN free AS f
  LEFT JOIN room AS r ON r.upid = g.upid
  CROSS JOIN threshold AS h
  WHERE g.snapshots >= h.snapshots AND g.length_ns >= h.length_ns AND g.fit >= h.fit AND g.least_grown >= 0 AND g.last_bytes > g.late_bytes
    AND (coalesce(g.age_ns >= greatest(h.age_ns, h.age_lengths * g.length_ns), true) OR g.cpu_ratio < h.cpu_ratio)
    AND g.last_bytes - g.first_bytes >= greatest(h.bytes, h.ratio * g.first_bytes)
    AND g.upid NOT IN (SELECT upid FROM thread WHERE upid IS NOT NULL AND utid IN (SELECT utid FROM recorder_thread))
)
SELECT
  @severity(false, g.hours_left <= h.warning_h AND NOT g.is_collected) AS severity,
  format('{} ({})', coalesce(g.name, '?'), g.pid) AS subject,
  format('{} memory went from {} to {} in {:.1f} s ({} snapshots, R² {:.3f}): {} an hour{}{}',
    CASE WHEN g.is_anon THEN 'anonymous' ELSE 'resident' END, @size(g.first_bytes), @size(g.last_bytes),
    g.length_ns / 1e9, g.snapshots, g.fit, @size(g.bytes_per_h),
    CASE WHEN g.hours_left < 1000 THEN format('; at this rate {} is full in {:.2f} h', CASE WHEN g.is_limited THEN 'its control group' ELSE 'the memory' END, g.hours_left) ELSE '' END,
    CASE WHEN g.is_collected THEN '; its garbage collector lets the heap grow up to a limit' ELSE '' END) AS message, ['threads of process ' || g.upid] AS about
FROM growing AS g
CROSS JOIN threshold AS h
