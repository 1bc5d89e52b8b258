-- unclaimed_cpu: CPUs that were idle while threads waited in the run queues of others (cpuunclaimed)
-- grain: an interval of the capture
-- source: cpu_level, unclaimed_level, recorded_span
-- caveat: intervals are 1 s long; SET VARIABLE interval_ns = 100000000 makes them 0.1 s long
-- caveat: an idle CPU is not unclaimed if the thread waits for this same CPU, as it does for some µs after each wakeup; affinity (taskset, cpusets) can forbid what would seem possible here
-- caveat: without sched_migrate_task, a whole wait counts for the CPU on which it ended, which hides threads that were pulled from another queue
-- diff by: -
-- diff sum: unclaimed_ns
-- diff mean: unclaimed_ratio
-- diff weight: 0.6
-- keys: ts_ns, interval_ns
-- column cpu_count [count]: CPUs that are known in this interval
-- column busy_ns [ns]: CPU time that threads ran
-- column idle_ns [ns]: CPU time that was idle
-- column queued_ns [ns]: time that threads waited behind another thread, all threads together
-- column unclaimed_ns [ns]: CPU time that was idle while as many threads waited behind others: these threads could have used it
-- column unclaimed_ratio [ratio]: unclaimed_ns as a share of busy_ns and idle_ns together
-- column wall_ns [ns]: time in which at least one CPU was unclaimed
WITH setting AS @steps('thread_state'), cut AS (
  SELECT q.*, s.step_ns, @cut(q.ts_ns, q.ts_ns + q.duration_ns, s.step_ns) AS step
  FROM cpu_level AS q
  CROSS JOIN setting AS s
), part AS (
  -- Few rows of many: what each state counts for is then asked of these.
  SELECT step, cpu, is_running, is_idle AND NOT is_running AS is_idle, waiting_count,
    sum(least(ts_ns + duration_ns, (step + 1) * step_ns) - greatest(ts_ns, step * step_ns)) AS ns
  FROM cut
  GROUP BY step, cpu, is_running, is_idle AND NOT is_running, waiting_count
), total AS (
  SELECT step, count(DISTINCT cpu) AS cpu_count,
    @total_or_zero(ns, is_running) AS busy_ns,
    @total_or_zero(ns, is_idle) AS idle_ns,
    -- The thread that is next on an idle CPU is on its way.
    @total(CASE WHEN is_running THEN waiting_count ELSE greatest(waiting_count::BIGINT - 1, 0) END * ns) AS queued_ns
  FROM part
  GROUP BY step
), unclaimed_cut AS (
  SELECT q.*, s.step_ns, @cut(q.ts_ns, q.ts_ns + q.duration_ns, s.step_ns) AS step
  FROM unclaimed_level AS q
  CROSS JOIN setting AS s
), unclaimed AS (
  SELECT step, sum(cpu_count::HUGEINT * ns) AS unclaimed_ns, sum(ns) AS wall_ns
  FROM (
    SELECT step, cpu_count, least(ts_ns + duration_ns, (step + 1) * step_ns) - greatest(ts_ns, step * step_ns) AS ns
    FROM unclaimed_cut
  )
  GROUP BY step
)
SELECT
  @step_ts(t.step, s.step_ns, s.start_ns) AS ts_ns,
  @step_interval(t.step, s.step_ns, s.start_ns, s.end_ns) AS interval_ns,
  t.cpu_count, t.busy_ns, t.idle_ns, t.queued_ns,
  TRY_CAST(coalesce(u.unclaimed_ns, 0) AS BIGINT) AS unclaimed_ns,
  @ratio(TRY_CAST(coalesce(u.unclaimed_ns, 0) AS BIGINT), t.busy_ns + t.idle_ns) AS unclaimed_ratio,
  TRY_CAST(coalesce(u.wall_ns, 0) AS BIGINT) AS wall_ns
FROM total AS t
LEFT JOIN unclaimed AS u USING (step)
CROSS JOIN setting AS s
ORDER BY t.step
