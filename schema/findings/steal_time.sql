-- steal_time: The hypervisor gives the CPUs to others: this machine was ready to run and did not
-- condition: 5 % or more of all CPU time was stolen, and 100 ms or more in all; critical from 20 %. Hypervisor vendors call 5 % of ready
--   time for each CPU a caution and 10 % a problem; the published database suffered when its ready time went from 12.5 % to 20 %
-- means: everything takes longer at the same CPU utilization, and no figure inside of this machine says who had the CPU
-- next: perfcase view cpu_utilization: which CPUs, and when; on the hypervisor: how many virtual CPUs share one, and whose they are
-- next: perfcase view ready_time: steal beside the time that each process waited for a CPU inside
-- taught by: A tale of ten bugs (9)
-- source: cpu_utilization
-- evidence: SELECT ts_ns, cpu, steal_ns, steal_ratio, busy_ratio FROM cpu_utilization ORDER BY steal_ns DESC, ts_ns, cpu
-- judged when: SELECT count(steal_ns) > 0 FROM cpu_utilization
-- not judged: steal time in two snapshots of /proc/stat; perfcase-record takes them by default
WITH threshold AS (
  SELECT 0.05 AS steal_ratio, 0.2 AS critical_ratio, 100000000 AS steal_ns
), total AS (
  SELECT sum(steal_ns) AS steal_ns, sum(total_ns) AS total_ns, sum(steal_ns) / nullif(sum(total_ns), 0) AS steal_ratio,
    max(steal_ratio) AS worst_ratio, arg_max(ts_ns, (steal_ratio, -ts_ns)) AS worst_ts_ns
  FROM cpu_utilization
  WHERE cpu = 'all'
  HAVING count(*) > 0
)
SELECT
  CASE WHEN t.steal_ratio >= h.critical_ratio THEN 'critical' ELSE 'warning' END AS severity, 'all CPUs' AS subject,
  format('{:.2f} s of {:.2f} s of CPU time were stolen ({:.1f} %), most in the interval to {:.1f} s ({:.1f} %)',
    t.steal_ns / 1e9, t.total_ns / 1e9, 100 * t.steal_ratio, t.worst_ts_ns / 1e9, 100 * t.worst_ratio) AS message,
  t.steal_ratio::DOUBLE AS score
FROM total AS t
CROSS JOIN threshold AS h
WHERE t.steal_ratio >= h.steal_ratio AND t.steal_ns >= h.steal_ns
