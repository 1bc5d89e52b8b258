-- cpu_queue: what each CPU did and how many threads waited for it, at every moment
-- grain: a stretch of time on one CPU in which none of this changed
-- source: followed_state, run_queue_stretch
-- caveat: a CPU is known from its first switch, or from the first thread that waits for it; if it neither runs a thread nor is idle, its state is not known
-- caveat: without sched_migrate_task, a whole wait counts for the CPU on which it ended
-- diff no: stretches of time; run_queue_length adds them up
-- keys: ts_ns
-- as in run_queue_stretch: duration_ns
-- keys: cpu
-- column waiting_count [count]: threads that wait in its run queue, without the one that runs
-- column is_running: true if it runs a thread
-- column is_idle: true if it runs the idle task
WITH change AS (
  SELECT cpu, unnest([{ts_ns: ts_ns, change: 1}, {ts_ns: ts_ns + duration_ns, change: -1}], recursive := true),
    'waiting' AS what
  FROM run_queue_stretch
  WHERE cpu IS NOT NULL
  UNION ALL
  SELECT cpu, unnest([{ts_ns: ts_ns, change: 1}, {ts_ns: ts_ns + duration_ns, change: -1}], recursive := true), state
  FROM followed_state
  WHERE state IN ('running', 'idle') AND cpu IS NOT NULL
), moment AS (
  SELECT cpu, ts_ns,
    coalesce(sum(change) FILTER (what = 'waiting'), 0) AS waiting,
    coalesce(sum(change) FILTER (what = 'running'), 0) AS running,
    coalesce(sum(change) FILTER (what = 'idle'), 0) AS idle
  FROM change
  GROUP BY cpu, ts_ns
), level AS (
  SELECT cpu, ts_ns, lead(ts_ns) OVER w - ts_ns AS duration_ns,
    sum(waiting) OVER w AS waiting, sum(running) OVER w AS running, sum(idle) OVER w AS idle
  FROM moment
  WINDOW w AS (PARTITION BY cpu ORDER BY ts_ns)
)
SELECT ts_ns, duration_ns, cpu, waiting::BIGINT AS waiting_count, running > 0 AS is_running, idle > 0 AS is_idle
FROM level
WHERE duration_ns > 0
ORDER BY cpu, ts_ns
