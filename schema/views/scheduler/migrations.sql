-- migrations: how often each thread changed its CPU
-- grain: a thread that ran, and a name that it had
-- source: followed_state, sched_migrate_task, thread, thread_name, source, cpu_node, recorder_thread
-- caveat: a thread that was moved to another run queue and back before it ran has migrations without a change of CPU
-- caveat: perf sched timehist -s counts moves only with -M, and prints 0 without it
-- diff by: comm
-- diff sum: migration_count, cross_node_count
-- diff weight: 0.4
-- keys: utid, tid, pid
-- column comm: the thread's name when it was moved, or left the CPU
-- column migration_count [count]: how often the kernel moved it to another run queue; NULL where sched_migrate_task was not recorded
-- column cpu_change_count [count]: how often it ran on another CPU than the time before
-- column run_count [count]: how often it ran
-- column cpu_count [count]: on how many CPUs it ran
-- column cross_node_count [count]: changes of CPU to another NUMA node; NULL where the capture does not say which CPU is on which node
WITH span AS (
  -- A thread id may be used again: the thread that had it last.
  SELECT utid, tid, comm, coalesce(start_ts_ns, -9223372036854775807) AS since_ts_ns FROM thread WHERE utid <> 0
), move AS (
  SELECT n.utid, coalesce(m.comm, n.comm) AS comm, count(*) AS migration_count
  FROM (
    SELECT ts_ns, pid, comm FROM sched_migrate_task JOIN source AS o USING (source_id) WHERE o.is_timeline
  ) AS m
  ASOF JOIN span AS n ON m.pid = n.tid AND m.ts_ns >= n.since_ts_ns
  GROUP BY n.utid, coalesce(m.comm, n.comm)
), run AS (
  SELECT utid, name_id, cpu, lag(cpu) OVER (PARTITION BY utid ORDER BY ts_ns + duration_ns, ts_ns) AS before_cpu
  FROM followed_state
  WHERE state = 'running' AND utid <> 0
), total AS (
  SELECT r.utid, coalesce(m.comm, t.comm) AS comm,
    count(*) FILTER (r.cpu <> r.before_cpu) AS cpu_change_count,
    count(*) AS run_count,
    count(DISTINCT r.cpu) AS cpu_count,
    CASE WHEN EXISTS (FROM cpu_node) THEN count(*) FILTER (n.node <> b.node) END AS cross_node_count
  FROM run AS r
  JOIN thread AS t USING (utid)
  LEFT JOIN thread_name AS m ON m.name_id = r.name_id
  LEFT JOIN cpu_node AS n ON n.cpu = r.cpu
  LEFT JOIN cpu_node AS b ON b.cpu = r.before_cpu
  GROUP BY r.utid, coalesce(m.comm, t.comm)
)
SELECT
  t.utid, t.tid, t.pid, coalesce(x.comm, m.comm) AS comm,
  CASE WHEN EXISTS (FROM move) THEN coalesce(m.migration_count, 0) END AS migration_count,
  coalesce(x.cpu_change_count, 0) AS cpu_change_count, coalesce(x.run_count, 0) AS run_count, coalesce(x.cpu_count, 0) AS cpu_count,
  CASE WHEN EXISTS (FROM cpu_node) THEN coalesce(x.cross_node_count, 0) END AS cross_node_count
FROM total AS x
FULL JOIN (FROM move WHERE utid IN (SELECT utid FROM run)) AS m ON m.utid = x.utid AND m.comm IS NOT DISTINCT FROM x.comm
JOIN thread AS t ON t.utid = coalesce(x.utid, m.utid)
ORDER BY t.utid IN (SELECT utid FROM recorder_thread), cpu_change_count DESC, t.utid, comm
