-- run_queue_latency_by_thread: how long each thread waited for a CPU: mean, percentiles, the longest wait and when it was
-- grain: a thread that waited for a CPU, and a name that it had
-- source: run_queue_wait, recorder_thread
-- caveat: a wait begins with a wakeup, or when the thread left its CPU while it could have run on; it ends when it runs
-- caveat: only waits with both ends in the capture count; what the end of the capture cut is in open_ns
-- caveat: percentiles are waits that occurred (the smallest wait that is not shorter than this share of the waits)
-- diff by: comm
-- diff sum: wait_total_ns, wait_count
-- diff mean: wait_avg_ns by wait_count
-- diff max: wait_max_ns
-- diff weight: 0.75
-- as in run_queue_wait: utid, tid, pid, comm
-- column wait_count [count]: how many waits
-- column woken_count [count]: how many of them followed a wakeup
-- column preempted_count [count]: how many followed a switch that the thread did not ask for
-- column wait_total_ns [ns]: all waits together
-- column wait_avg_ns [ns]: mean wait
-- column wait_p50_ns [ns]: median: half of the waits are not longer
-- column wait_p99_ns [ns]: 99th percentile: 99 % of the waits are not longer
-- column wait_max_ns [ns]: the longest wait
-- column wait_max_ts_ns [ns]: when the longest wait began
-- column woken_wait_total_ns [ns]: the part of wait_total_ns that follows a wakeup
-- column woken_wait_max_ns [ns]: the longest wait after a wakeup
-- column open_ns [ns]: the wait that the end of the capture cut
WITH lengths AS (
  -- Waits of the same length are counted first: the percentiles then take memory for each length, not for each wait.
  SELECT
    utid, tid, pid, comm, is_open, state, wait_ns,
    count(*) AS length_count,
    min(ts_ns) AS first_ts_ns
  FROM run_queue_wait
  GROUP BY ALL
),
placed AS (
  SELECT
    *,
    sum(length_count) OVER (PARTITION BY utid, tid, pid, comm, is_open ORDER BY wait_ns) AS shorter_count,
    sum(length_count) OVER (PARTITION BY utid, tid, pid, comm, is_open) AS all_count
  FROM lengths
)
SELECT
  utid, tid, pid, comm,
  @total_or_zero(length_count, NOT is_open) AS wait_count,
  @total_or_zero(length_count, NOT is_open AND state = 'runnable') AS woken_count,
  @total_or_zero(length_count, NOT is_open AND state = 'runnable_preempted') AS preempted_count,
  @total_or_zero(wait_ns * length_count, NOT is_open) AS wait_total_ns,
  wait_total_ns / nullif(wait_count, 0) AS wait_avg_ns,
  min(wait_ns) FILTER (NOT is_open AND shorter_count >= 0.5 * all_count) AS wait_p50_ns,
  min(wait_ns) FILTER (NOT is_open AND shorter_count >= 0.99 * all_count) AS wait_p99_ns,
  max(wait_ns) FILTER (NOT is_open) AS wait_max_ns,
  -- The first of equally long waits.
  max({wait_ns: wait_ns, negative_ts_ns: -first_ts_ns}) FILTER (NOT is_open).negative_ts_ns * -1 AS wait_max_ts_ns,
  @total_or_zero(wait_ns * length_count, NOT is_open AND state = 'runnable') AS woken_wait_total_ns,
  max(wait_ns) FILTER (NOT is_open AND state = 'runnable') AS woken_wait_max_ns,
  @total_or_zero(wait_ns * length_count, is_open) AS open_ns
FROM placed
GROUP BY utid, tid, pid, comm
ORDER BY utid IN (SELECT utid FROM recorder_thread), wait_total_ns DESC, utid, comm
