-- thread_leak: A process leaks threads: it starts threads that do not end
-- condition: in four snapshots or more over 4 s or more, the number of its threads never fell, grew by 10 or more and by half or
--   more, also in the later half of the time, and lies on a straight line (R² 0.9 or more). A warning if the line meets the task
--   limit of its control group within an hour, or doubles the number within a minute, else a note. It has cost nothing so far: its
--   cost is not told
-- means: each thread keeps its stack and its place in the scheduler. In the end the process cannot start another. A pool that
--   fills up looks like a leak; the next capture shows which it is
-- next: perfcase view thread_census: the names of the threads, and where they sleep
-- next: perfcase view off_cpu_by_thread: what the new threads wait for
-- about: the threads of the process
-- follows from: pipe_deadlock
-- taught by: A tale of ten bugs (5, 6)
-- source: cgroup_activity, proc_thread, process, process_cgroup, recorder_thread, thread
-- evidence: SELECT pid, process, snapshot, min(ts_ns) AS ts_ns, comm, sum(thread_count) AS thread_count, any_value(wait_channel) AS wait_channel
--   FROM thread_census GROUP BY ALL ORDER BY pid, snapshot, thread_count DESC, comm
WITH threshold AS (
  SELECT 4 AS snapshot_count, 4000000000 AS duration_ns, 10 AS growth_count, 1.5 AS growth_ratio, 0.9 AS fit_ratio, 3600 AS limit_s, 60 AS double_s
), listed AS (
  SELECT t.upid, p.source_id, p.snapshot, min(p.ts_ns) AS ts_ns, count(*) AS thread_count
  FROM proc_thread AS p
  JOIN thread AS t USING (utid)
  WHERE t.upid IS NOT NULL AND t.pid > 0 AND utid NOT IN (SELECT utid FROM recorder_thread)
  GROUP BY t.upid, p.source_id, p.snapshot
), stepped AS (
  SELECT *, thread_count - lag(thread_count) OVER (PARTITION BY upid ORDER BY ts_ns) AS step_count,
    ts_ns > (min(ts_ns) OVER (PARTITION BY upid) + max(ts_ns) OVER (PARTITION BY upid)) / 2 AS is_later
  FROM listed
), grown AS (
  SELECT upid, count(*) AS snapshot_count, max(ts_ns) - min(ts_ns) AS duration_ns, arg_min(thread_count, ts_ns) AS first_count,
    arg_max(thread_count, ts_ns) AS last_count, min(step_count) AS least_step, coalesce(sum(step_count) FILTER (is_later), 0) AS later_count,
    regr_slope(thread_count, ts_ns / 1e9) AS per_s, regr_r2(thread_count, ts_ns / 1e9) AS fit_ratio
  FROM stepped
  GROUP BY upid
), room AS (
  SELECT c.upid, min(a.task_limit_count - a.task_count) AS left_count
  FROM (SELECT upid, cgroup FROM process_cgroup QUALIFY row_number() OVER (PARTITION BY upid ORDER BY since_ts_ns DESC, cgroup) = 1) AS c
  JOIN (SELECT cgroup, arg_max(task_limit_count, ts_ns) AS task_limit_count, arg_max(task_count, ts_ns) AS task_count
    FROM cgroup_activity WHERE task_limit_count IS NOT NULL GROUP BY cgroup) AS a
    ON c.cgroup = a.cgroup OR starts_with(c.cgroup, rtrim(a.cgroup, '/') || '/')
  GROUP BY c.upid
)
SELECT
  @severity(false, r.left_count / nullif(g.per_s, 0) <= h.limit_s OR g.last_count / nullif(g.per_s, 0) <= h.double_s) AS severity,
  format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} threads, {} more than {:.0f} s before: {:.1f} per second{}', g.last_count, g.last_count - g.first_count, g.duration_ns / 1e9, g.per_s,
    CASE WHEN r.left_count IS NULL THEN '' ELSE format('; {} more fit into its control group', r.left_count) END) AS message,
  ['threads of process ' || g.upid] AS about
FROM grown AS g
JOIN process AS p USING (upid)
LEFT JOIN room AS r USING (upid)
CROSS JOIN threshold AS h
WHERE g.snapshot_count >= h.snapshot_count AND g.duration_ns >= h.duration_ns AND g.least_step >= 0
  AND g.last_count - g.first_count >= h.growth_count AND g.last_count >= h.growth_ratio * g.first_count AND g.later_count > 0
  AND g.fit_ratio >= h.fit_ratio
