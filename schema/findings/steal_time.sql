-- steal_time: Steal time: the hypervisor gives the CPUs to other machines
-- condition: 5 % or more of all CPU time was stolen, over the whole capture or in each interval of a stretch of 2 s or more,
--   and 100 ms or more of it. Critical from 20 %. Hypervisor vendors call 5 % of ready time per CPU a caution and 10 % a
--   problem; the published database suffered when its ready time went from 12.5 % to 20 %
-- means: this machine was ready to run and did not. Everything takes longer at the same CPU utilization, and no figure inside
--   this machine says which other machine had the CPU
-- next: perfcase view cpu_utilization: which CPUs, and when. On the hypervisor: how many virtual CPUs share one CPU, and of
--   which machines
-- next: perfcase view ready_time: steal time, beside the time that each process waited for a CPU inside
-- taught by: A tale of ten bugs (9)
-- source: cpu_summary, cpu_utilization
-- evidence: SELECT ts_ns, cpu, steal_ns, steal_ratio, busy_ratio FROM cpu_utilization ORDER BY steal_ns DESC, ts_ns, cpu
-- judged when: SELECT count(steal_ns) > 0 FROM cpu_utilization
-- not judged: steal time. It needs two snapshots of /proc/stat; perfcase-record takes them by default
WITH threshold AS (
  SELECT 0.05 AS steal_ratio, 0.2 AS critical_ratio, 100000000 AS steal_ns, 2000000000 AS burst_ns
), interval AS (
  SELECT u.ts_ns, u.interval_ns, u.steal_ns, u.cpu_ns, u.steal_ns > 0 AND u.steal_ratio >= h.steal_ratio AS is_stolen
  FROM cpu_utilization AS u
  CROSS JOIN threshold AS h
  WHERE u.cpu = 'all'
), numbered AS (
  SELECT *, count(CASE WHEN NOT is_stolen THEN 1 END) OVER (ORDER BY ts_ns) AS stretch FROM interval
), worst AS (
  SELECT min(ts_ns) AS from_ts_ns, max(ts_ns + interval_ns) AS to_ts_ns, sum(steal_ns) AS steal_ns, sum(steal_ns) / sum(cpu_ns) AS steal_ratio
  FROM numbered
  WHERE is_stolen
  GROUP BY stretch
  QUALIFY row_number() OVER (ORDER BY sum(steal_ns) DESC, min(ts_ns)) = 1
), total AS (
  SELECT steal_ns, cpu_ns, steal_ratio, busy_ns FROM cpu_summary WHERE cpu = 'all'
), judged AS (
  SELECT t.steal_ns, t.cpu_ns, t.steal_ratio, t.busy_ns, w.from_ts_ns, w.to_ts_ns, w.steal_ns AS worst_ns, w.steal_ratio AS worst_ratio,
    t.steal_ratio >= h.steal_ratio AND t.steal_ns >= h.steal_ns AS is_steady,
    w.to_ts_ns - w.from_ts_ns >= h.burst_ns AND w.steal_ns >= h.steal_ns AS is_burst
  FROM total AS t
  CROSS JOIN worst AS w
  CROSS JOIN threshold AS h
)
SELECT
  @severity(greatest(j.steal_ratio, CASE WHEN j.is_burst THEN j.worst_ratio END) >= h.critical_ratio, true) AS severity,
  'all CPUs' AS subject,
  format('{:.2f} s of {:.2f} s of CPU time were stolen ({:.1f} %), most from {:.1f} s to {:.1f} s: {:.2f} s ({:.1f} %)',
    j.steal_ns / 1e9, j.cpu_ns / 1e9, 100 * j.steal_ratio, j.from_ts_ns / 1e9, j.to_ts_ns / 1e9, j.worst_ns / 1e9, 100 * j.worst_ratio)
    AS message,
  -- To this machine, a thread ran while its CPU was stolen.
  @ratio(j.steal_ns, j.steal_ns::HUGEINT + j.busy_ns)::DOUBLE AS of_run_ratio
FROM judged AS j
CROSS JOIN threshold AS h
WHERE j.is_steady OR j.is_burst
