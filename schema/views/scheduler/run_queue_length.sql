-- run_queue_length: how many threads waited for each CPU, over time (runqlen)
-- grain: an interval of the capture and a CPU
-- source: cpu_level, recorded_span
-- caveat: intervals are 1 s long; SET VARIABLE interval_ns = 100000000 makes them 0.1 s long
-- caveat: the thread that runs is not counted, only those that wait
-- caveat: without sched_migrate_task, a whole wait counts for the CPU on which it ended
-- diff by: -
-- diff mean: waiting_avg_count by known_ns, queued_ratio by known_ns
-- diff max: waiting_max_count
-- diff weight: 0.9
-- plot: intervals waiting_avg_count, waiting_max_count, queued_ratio, busy_ratio by cpu
-- chart timeline 1 instead: CPU, by switches: busy_ratio by cpu
-- chart timeline 2: Run queue: waiting_avg_count as waiting by cpu
-- keys: ts_ns, interval_ns, cpu
-- column waiting_avg_count [count]: mean number of waiting threads, weighted by time, over known_ns
-- column waiting_max_count [count]: most waiting threads at any moment
-- column waiting_ns [ns]: waiting time of all threads together, within the interval
-- column queued_ns [ns]: time in which at least one thread waited
-- column queued_ratio [ratio]: queued_ns as a share of known_ns
-- column busy_ns [ns]: time in which the CPU ran a thread
-- column busy_ratio [ratio]: busy_ns as a share of known_ns
-- column idle_ns [ns]: time in which it ran the idle task
-- column known_ns [ns]: the part of the interval in which the CPU's state is known
WITH setting AS @steps('thread_state'), cut AS (
  SELECT q.*, s.step_ns, s.start_ns, s.end_ns, @cut(q.ts_ns, q.ts_ns + q.duration_ns, s.step_ns) AS step
  FROM cpu_level AS q
  CROSS JOIN setting AS s
), part AS (
  SELECT @step_ts(step, step_ns, start_ns) AS ts_ns,
    @step_interval(step, step_ns, start_ns, end_ns) AS interval_ns,
    cpu, waiting_count, is_running, is_idle,
    least(cut.ts_ns + duration_ns, (step + 1) * step_ns) - greatest(cut.ts_ns, step * step_ns) AS ns
  FROM cut
)
SELECT
  ts_ns, interval_ns, cpu,
  sum(waiting_count::HUGEINT * ns) / sum(ns) AS waiting_avg_count,
  max(waiting_count)::BIGINT AS waiting_max_count,
  @total(waiting_count::HUGEINT * ns) AS waiting_ns,
  @total_or_zero(ns, waiting_count > 0) AS queued_ns,
  coalesce(sum(ns) FILTER (waiting_count > 0), 0) / sum(ns) AS queued_ratio,
  @total_or_zero(ns, is_running) AS busy_ns,
  coalesce(sum(ns) FILTER (is_running), 0) / sum(ns) AS busy_ratio,
  @total_or_zero(ns, is_idle AND NOT is_running) AS idle_ns,
  @total(ns) AS known_ns
FROM part
GROUP BY ts_ns, interval_ns, cpu
ORDER BY ts_ns, cpu
