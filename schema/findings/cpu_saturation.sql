-- cpu_saturation: Threads wait for a CPU: there are more runnable threads than CPUs
-- condition: threads waited for a CPU for 20 % or more of the time that they could run (their work took 1.25 times as long),
--   and together they needed half a CPU all the time, and half a second of it in all. Critical from 40 %: the published slow
--   host had a load of 1.77 per CPU, so 0.77 / 1.77 = 43 % was waiting
-- means: every request takes longer than its work, by the time that it waits for a CPU. Latency grows faster than the load
-- next: perfcase view run_queue_latency_by_thread: which threads wait, how long, and when longest
-- next: perfcase view preemptions: which thread takes the CPU from which
-- next: perfcase view unclaimed_cpu: whether CPUs were idle at the same time (affinity). cgroup_activity: whether a quota
--   limits the threads
-- taught by: An unexplained win
-- source: recorded_span, thread_time, workload_thread
-- evidence: SELECT comm, tid, on_cpu_ns, run_queue_ns, run_queue_ratio, run_delay_max_ns FROM thread_time
--   WHERE utid IN (SELECT utid FROM workload_thread) ORDER BY run_queue_ns DESC
WITH threshold AS (
  SELECT 0.2 AS waiting_ratio, 0.4 AS critical_ratio, 500000000 AS wanted_ns, 0.5 AS wanted_cpus
), wanting AS (
  SELECT arg_max(comm, (run_queue_ns, comm)) AS comm, tid, sum(on_cpu_ns) AS on_cpu_ns, sum(run_queue_ns) AS run_queue_ns
  FROM thread_time
  WHERE utid IN (SELECT utid FROM workload_thread)
  GROUP BY utid, tid
), total AS (
  SELECT sum(on_cpu_ns) AS ran_ns, sum(run_queue_ns) AS waited_ns,
    sum(run_queue_ns) / nullif(sum(on_cpu_ns) + sum(run_queue_ns), 0) AS waiting_ratio,
    arg_max(comm, (run_queue_ns, -tid)) AS most_comm, arg_max(tid, (run_queue_ns, -tid)) AS most_tid, max(run_queue_ns) AS most_ns
  FROM wanting
  HAVING count(*) > 0
)
SELECT
  CASE WHEN t.waiting_ratio >= h.critical_ratio THEN 'critical' ELSE 'warning' END AS severity,
  'all CPUs' AS subject,
  format('threads waited {:.2f} s for a CPU and ran {:.2f} s: {:.1f} % of the time that they could run; {} ({}) waited most, {:.2f} s',
    t.waited_ns / 1e9, t.ran_ns / 1e9, 100 * t.waiting_ratio, t.most_comm, t.most_tid, t.most_ns / 1e9) AS message,
  t.waiting_ratio AS score
FROM total AS t
CROSS JOIN threshold AS h
JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
WHERE t.waiting_ratio >= h.waiting_ratio
  AND t.ran_ns + t.waited_ns >= greatest(h.wanted_ns, h.wanted_cpus * c.duration_ns)
