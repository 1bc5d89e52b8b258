-- workload_time: all the time of the workload: what its threads ran, waited for a CPU, and waited otherwise while they had work; findings say which share of it they cost
-- grain: the whole capture
-- source: followed_state, blame, workload_thread, proc_thread
-- caveat: times are sums over threads: a thread that waits for another one that runs counts as well as this one
-- caveat: a thread that waits without work (a pool, a loop without events) does not count; blame says which waits do. If nobody knows whether it had work, the waits that a running thread, a taken CPU or a disk kept up count
-- caveat: without context switches, the figures are those of the snapshots of threads: the waits are those for storage only
-- diff no: thread_time and blame_by_comm are compared
-- column run_ns [ns]: time its threads ran
-- column run_queue_ns [ns]: time they could run and waited for a CPU
-- column wait_ns [ns]: time they waited otherwise while they had work
-- column total_ns [ns]: the three together; NULL if nothing tells them
WITH state AS (
  SELECT utid, state = 'running' AS is_run, @total(duration_ns) AS ns
  FROM followed_state
  WHERE state IN ('running', 'runnable', 'runnable_preempted')
  GROUP BY utid, state = 'running'
), ran AS (
  SELECT @total_where(ns, is_run) AS run_ns, @total_where(ns, NOT is_run) AS run_queue_ns
  FROM state
  WHERE utid IN (SELECT utid FROM workload_thread)
  HAVING count(*) > 0
), waited AS (
  -- Its own wait for a CPU is a state.
  SELECT @total(duration_ns) AS wait_ns
  FROM blame
  WHERE utid IN (SELECT utid FROM workload_thread) AND NOT (cause IN ('cpu_taken', 'cpu_idle', 'quota') AND depth = 0)
), counted AS (
  SELECT max(on_cpu_ns) - min(on_cpu_ns) AS run_ns, max(run_queue_ns) - min(run_queue_ns) AS run_queue_ns,
    max(block_delay_ns) - min(block_delay_ns) AS wait_ns
  FROM proc_thread
  WHERE utid IN (SELECT utid FROM workload_thread)
  GROUP BY source_id, utid
), known AS (
  SELECT r.run_ns, r.run_queue_ns, w.wait_ns FROM ran AS r CROSS JOIN waited AS w
  UNION ALL
  SELECT @total(run_ns), @total(run_queue_ns), @total(wait_ns)
  FROM counted
  WHERE (SELECT count(*) FROM ran) = 0
  HAVING count(run_ns) > 0
)
SELECT run_ns, run_queue_ns, wait_ns,
  nullif(try_cast(coalesce(run_ns, 0)::HUGEINT + coalesce(run_queue_ns, 0) + coalesce(wait_ns, 0) AS BIGINT), 0) AS total_ns
FROM known
