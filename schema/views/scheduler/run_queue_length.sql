-- run_queue_length: how many threads waited for each CPU, over time (runqlen)
-- grain: an interval of the capture and a CPU
-- source: cpu_queue, recorded_span
-- caveat: SET VARIABLE interval_ns = 100000000 makes intervals of 0.1 s; they are 1 s long if it is not set
-- caveat: the thread that runs is not counted, only those that wait
-- caveat: without sched_migrate_task a whole wait counts for the CPU that ended it
-- diff by: -
-- diff mean: waiting_avg_count by known_ns, queued_ratio by known_ns
-- diff max: waiting_max_count
-- diff weight: 0.9
-- plot: intervals waiting_avg_count, waiting_max_count, queued_ratio by cpu
-- column ts_ns [ns]: when the interval began; the first one with the recording of switches
-- column interval_ns [ns]: its length; of the first and the last one the part that was recorded
-- column cpu: the CPU
-- column waiting_avg_count [count]: waiting threads, weighted with time over known_ns
-- column waiting_max_count [count]: the most at any moment
-- column waiting_ns [ns]: waiting times of all threads together, within the interval
-- column queued_ns [ns]: time in which at least one thread waited
-- column queued_ratio [ratio]: queued_ns as a share of known_ns
-- column busy_ns [ns]: time in which the CPU ran a thread
-- column idle_ns [ns]: time in which it ran the idle task
-- column known_ns [ns]: the part of the interval in which the CPU's state is known
WITH setting AS (
  -- At most 100,000 intervals.
  SELECT greatest(coalesce(getvariable('interval_ns'), 1000000000), 1, max(end_ts_ns) // 100000)::BIGINT AS step_ns,
    max(start_ts_ns) AS start_ns, max(end_ts_ns) AS end_ns
  FROM recorded_span
  WHERE table_name = 'thread_state'
), cut AS (
  SELECT q.*, s.step_ns, s.start_ns, s.end_ns, unnest(range(q.ts_ns // s.step_ns, least((q.ts_ns + q.duration_ns - 1) // s.step_ns, q.ts_ns // s.step_ns + 100000) + 1)) AS step
  FROM cpu_queue AS q
  CROSS JOIN setting AS s
), part AS (
  SELECT greatest(step * step_ns, start_ns) AS ts_ns,
    greatest(1, least((step + 1) * step_ns, end_ns) - greatest(step * step_ns, start_ns)) AS interval_ns,
    cpu, waiting_count, is_running, is_idle,
    least(cut.ts_ns + duration_ns, (step + 1) * step_ns) - greatest(cut.ts_ns, step * step_ns) AS ns
  FROM cut
)
SELECT
  ts_ns, interval_ns, cpu,
  sum(waiting_count * ns) / sum(ns) AS waiting_avg_count,
  max(waiting_count) AS waiting_max_count,
  TRY_CAST(sum(waiting_count * ns) AS BIGINT) AS waiting_ns,
  TRY_CAST(coalesce(sum(ns) FILTER (waiting_count > 0), 0) AS BIGINT) AS queued_ns,
  coalesce(sum(ns) FILTER (waiting_count > 0), 0) / sum(ns) AS queued_ratio,
  TRY_CAST(coalesce(sum(ns) FILTER (is_running), 0) AS BIGINT) AS busy_ns,
  TRY_CAST(coalesce(sum(ns) FILTER (is_idle AND NOT is_running), 0) AS BIGINT) AS idle_ns,
  TRY_CAST(sum(ns) AS BIGINT) AS known_ns
FROM part
GROUP BY ts_ns, interval_ns, cpu
ORDER BY ts_ns, cpu
