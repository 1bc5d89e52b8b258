-- migrations: how often each thread changed its CPU
-- grain: a thread that ran
-- source: followed_state, sched_migrate_task, thread, source, cpu_node
-- caveat: a thread that was moved to another run queue and back before it ran has migrations without a change of CPU
-- caveat: perf sched timehist -s counts moves only with -M, and prints 0 without it
-- diff by: comm
-- diff sum: migration_count, cross_node_count
-- diff weight: 0.4
-- column utid: the capture's own key of the thread
-- column tid: thread id, a label
-- column pid: process id, a label
-- column comm: the thread's last name
-- column migration_count [count]: how often the kernel moved it to another run queue; NULL where sched_migrate_task was not recorded
-- column cpu_change_count [count]: how often it ran on another CPU than the time before
-- column run_count [count]: how often it ran
-- column cpu_count [count]: on how many CPUs it ran
-- column cross_node_count [count]: changes of CPU to another NUMA node; NULL where the capture does not say which CPU is on which node
WITH span AS (
  -- A thread id may be used again: the thread that had it last.
  SELECT utid, tid, coalesce(start_ts_ns, -9223372036854775807) AS since_ns FROM thread WHERE utid <> 0
), move AS (
  SELECT n.utid, count(*) AS migration_count
  FROM (
    SELECT ts_ns, pid FROM sched_migrate_task JOIN source AS o USING (source_id) WHERE o.is_timeline
  ) AS m
  ASOF JOIN span AS n ON m.pid = n.tid AND m.ts_ns >= n.since_ns
  GROUP BY n.utid
), run AS (
  SELECT utid, cpu, lag(cpu) OVER (PARTITION BY utid ORDER BY ts_ns + duration_ns, ts_ns) AS before_cpu
  FROM followed_state
  WHERE state = 'running' AND utid <> 0
), total AS (
  SELECT r.utid,
    count(*) FILTER (r.cpu <> r.before_cpu) AS cpu_change_count,
    count(*) AS run_count,
    count(DISTINCT r.cpu) AS cpu_count,
    CASE WHEN EXISTS (FROM cpu_node) THEN count(*) FILTER (n.node <> b.node) END AS cross_node_count
  FROM run AS r
  LEFT JOIN cpu_node AS n ON n.cpu = r.cpu
  LEFT JOIN cpu_node AS b ON b.cpu = r.before_cpu
  GROUP BY r.utid
)
SELECT
  t.utid, t.tid, t.pid, t.comm,
  CASE WHEN EXISTS (FROM move) THEN coalesce(m.migration_count, 0) END AS migration_count,
  x.cpu_change_count, x.run_count, x.cpu_count, x.cross_node_count
FROM total AS x
JOIN thread AS t ON t.utid = x.utid
LEFT JOIN move AS m ON m.utid = x.utid
ORDER BY x.cpu_change_count DESC, t.utid
