-- run_queue_latency: how long threads waited for a CPU (runqlat), as a histogram in powers of two
-- grain: a power of two, a thread and a name that it had
-- source: run_queue_wait
-- caveat: a wait begins with a wakeup, or when the thread left its CPU while it could have run on; it ends when it runs
-- caveat: only waits with both ends in the capture count
-- diff by: comm
-- diff median: bucket_min_ns by wait_count
-- diff weight: 0.6
-- chart histograms 1: Waits for a CPU: wait_count as waits by comm
-- as in run_queue_wait: utid, tid, pid, comm
-- column bucket_min_ns [ns]: the range begins at this value: 0, 2, 4, 8, …
-- column bucket_max_ns [ns]: the range ends before this value: 2, 4, 8, 16, …
-- column wait_count [count]: how many waits
-- column woken_count [count]: how many of them followed a wakeup: perf sched timehist's sch delay
-- column preempted_count [count]: how many followed a switch that the thread did not ask for
-- column wait_ns [ns]: time of these waits together
SELECT
  utid, tid, pid, comm,
  @bucket_min(wait_ns) AS bucket_min_ns,
  @bucket_max(wait_ns) AS bucket_max_ns,
  count(*) AS wait_count,
  count(*) FILTER (state = 'runnable') AS woken_count,
  count(*) FILTER (state = 'runnable_preempted') AS preempted_count,
  @total(wait_ns) AS wait_ns
FROM run_queue_wait
WHERE NOT is_open
GROUP BY ALL
ORDER BY utid, comm, bucket_min_ns
