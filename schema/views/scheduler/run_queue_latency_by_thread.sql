-- run_queue_latency_by_thread: how long each thread waited for a CPU: mean, percentiles, the longest wait and when it was
-- grain: a thread that waited for a CPU, and a name that it had
-- source: run_queue_wait, recorder_thread
-- caveat: a wait begins with a wakeup, or when the thread left its CPU while it could have run on; it ends when it runs
-- caveat: only waits whose both ends are in the capture count; what the end of the capture cut is in open_ns
-- caveat: percentiles are waits that occurred (the smallest wait that is not shorter than this share of the waits)
-- diff by: comm
-- diff sum: total_ns, count
-- diff mean: avg_ns by count
-- diff max: max_ns
-- diff weight: 0.75
-- column utid: the capture's own key of the thread
-- column tid: thread id, a label
-- column pid: process id, a label
-- column comm: the thread's name when it began to wait
-- column count [count]: how many waits
-- column woken_count [count]: how many of them followed a wakeup
-- column preempted_count [count]: how many followed a switch that the thread did not ask for
-- column total_ns [ns]: all waits together
-- column avg_ns [ns]: their mean
-- column p50_ns [ns]: half of the waits are not longer
-- column p99_ns [ns]: 99 % of the waits are not longer
-- column max_ns [ns]: the longest wait
-- column max_ts_ns [ns]: when the longest wait began
-- column woken_total_ns [ns]: the part of total_ns that follows a wakeup
-- column woken_max_ns [ns]: the longest wait after a wakeup
-- column open_ns [ns]: the wait that the end of the capture cut
SELECT
  utid, tid, pid, comm,
  count(*) FILTER (NOT is_open) AS count,
  count(*) FILTER (NOT is_open AND state = 'runnable') AS woken_count,
  count(*) FILTER (NOT is_open AND state = 'runnable_preempted') AS preempted_count,
  TRY_CAST(coalesce(sum(wait_ns) FILTER (NOT is_open), 0) AS BIGINT) AS total_ns,
  avg(wait_ns) FILTER (NOT is_open) AS avg_ns,
  quantile_disc(wait_ns, 0.5) FILTER (NOT is_open) AS p50_ns,
  quantile_disc(wait_ns, 0.99) FILTER (NOT is_open) AS p99_ns,
  max(wait_ns) FILTER (NOT is_open) AS max_ns,
  -- The first of equally long waits.
  max({wait_ns: wait_ns, negative_ts_ns: -ts_ns}) FILTER (NOT is_open).negative_ts_ns * -1 AS max_ts_ns,
  TRY_CAST(coalesce(sum(wait_ns) FILTER (NOT is_open AND state = 'runnable'), 0) AS BIGINT) AS woken_total_ns,
  max(wait_ns) FILTER (NOT is_open AND state = 'runnable') AS woken_max_ns,
  TRY_CAST(coalesce(sum(wait_ns) FILTER (is_open), 0) AS BIGINT) AS open_ns
FROM run_queue_wait
GROUP BY utid, tid, pid, comm
ORDER BY utid IN (SELECT utid FROM recorder_thread), total_ns DESC, utid, comm
