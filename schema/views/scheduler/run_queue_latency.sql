-- run_queue_latency: how long threads waited for a CPU (runqlat), as a histogram in powers of two
-- grain: a power of two, a thread and a name that it had
-- source: run_queue_wait
-- caveat: a wait begins with a wakeup, or when the thread left its CPU while it could have run on; it ends when it runs
-- caveat: only waits whose both ends are in the capture count
-- diff by: comm
-- diff median: bucket_min_ns by wait_count
-- diff weight: 0.6
-- column utid: the capture's own key of the thread
-- column tid: thread id, a label
-- column pid: process id, a label
-- column comm: the thread's name when it began to wait
-- column bucket_min_ns [ns]: the range begins here: 0, 2, 4, 8, …
-- column bucket_max_ns [ns]: and ends before this: 2, 4, 8, 16, …
-- column wait_count [count]: how many waits
-- column woken_count [count]: how many of them followed a wakeup: perf sched timehist's sch delay
-- column preempted_count [count]: how many followed a switch that the thread did not ask for
-- column wait_ns [ns]: these waits together
SELECT
  utid, tid, pid, comm,
  -- length(bin(n)) is exact where log2 rounds.
  CASE WHEN wait_ns < 2 THEN 0 ELSE 1::BIGINT << (length(bin(wait_ns)) - 1) END AS bucket_min_ns,
  CASE WHEN wait_ns < 2 THEN 2 WHEN length(bin(wait_ns)) = 63 THEN 9223372036854775807 ELSE 1::BIGINT << length(bin(wait_ns)) END
    AS bucket_max_ns,
  count(*) AS wait_count,
  count(*) FILTER (state = 'runnable') AS woken_count,
  count(*) FILTER (state = 'runnable_preempted') AS preempted_count,
  TRY_CAST(sum(wait_ns) AS BIGINT) AS wait_ns
FROM run_queue_wait
WHERE NOT is_open
GROUP BY ALL
ORDER BY utid, comm, bucket_min_ns
