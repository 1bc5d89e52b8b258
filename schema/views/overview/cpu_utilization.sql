-- cpu_utilization: what each CPU spent its time on, as mpstat -P ALL prints it
-- grain: an interval between two snapshots × CPU, and a row `all` for the CPUs together
-- source: proc_cpu
-- caveat: the kernel counts in ticks (10 ms with 100 ticks a second): shares of short intervals are coarse
-- caveat: iowait is idle time, too, and unreliable: the kernel lets it go backwards. A counter that goes backwards counts as unchanged, and the row `all` adds up the CPUs' own figures
-- caveat: idle and iowait of a CPU that was offline start again from 0: they count from 0 if that fits into the interval (mpstat always does so, and shows wrong values after a small step back)
-- caveat: a CPU whose counters did not change counts as idle, as in mpstat
-- diff by: -
-- diff mean: busy_ratio, user_ratio, system_ratio, iowait_ratio, irq_ratio, softirq_ratio, steal_ratio
-- diff where: cpu = 'all'
-- diff weight: 0.95
-- chart timeline 1: CPU: busy_ratio, user_ratio, system_ratio, iowait_ratio, steal_ratio where cpu = 'all'
-- keys: ts_ns, interval_ns
-- column cpu: the CPU's number, or all
-- column user_ratio [ratio]: in user mode, guests not included
-- column nice_ratio [ratio]: in user mode at low priority, guests not included
-- column system_ratio [ratio]: in the kernel, interrupts not included
-- column iowait_ratio [ratio]: idle while a request of a thread that ran here was in flight
-- column irq_ratio [ratio]: serving interrupts
-- column softirq_ratio [ratio]: serving soft interrupts
-- column steal_ratio [ratio]: not given by the hypervisor
-- column guest_ratio [ratio]: running guests
-- column guest_nice_ratio [ratio]: running guests at low priority
-- column idle_ratio [ratio]: idle, iowait not included
-- column busy_ratio [ratio]: everything but idle, iowait and steal
-- column user_ns [ns]: user_ratio in ns; the other times likewise
-- column nice_ns [ns]: in user mode at low priority
-- as in proc_cpu: system_ns, iowait_ns, irq_ns, softirq_ns, steal_ns
-- column guest_ns [ns]: running guests
-- column guest_nice_ns [ns]: running guests at low priority
-- column idle_ns [ns]: idle
-- column busy_ns [ns]: everything but idle, iowait and steal
-- column cpu_ns [ns]: sum of all these times: the ratios are shares of it
WITH counter AS (
  -- user and nice hold the guests' time as well.
  SELECT source_id, snapshot, ts_ns, cpu,
    user_ns - coalesce(guest_ns, 0) AS usr, nice_ns - coalesce(guest_nice_ns, 0) AS nice, system_ns AS sys,
    iowait_ns AS iowait, irq_ns AS irq, softirq_ns AS soft, steal_ns AS steal, guest_ns AS guest,
    guest_nice_ns AS gnice, idle_ns AS idle
  FROM proc_cpu
), interval AS (
  SELECT *, ts_ns - lag(ts_ns) OVER w AS interval_ns,
    idle < lag(idle) OVER w AND idle + coalesce(iowait, 0) <= ts_ns - lag(ts_ns) OVER w AS was_offline
  FROM counter
  WINDOW w AS (PARTITION BY source_id, cpu ORDER BY snapshot, ts_ns)
), step AS (
  SELECT source_id, snapshot, ts_ns, interval_ns, cpu, mode, was_offline, now_ns,
    lag(now_ns) OVER (PARTITION BY source_id, cpu, mode ORDER BY snapshot, ts_ns) AS before_ns
  FROM interval
  UNPIVOT (now_ns FOR mode IN (usr, nice, sys, iowait, irq, soft, steal, guest, gnice, idle))
), spent AS (
  SELECT source_id, snapshot, ts_ns, interval_ns, cpu, mode,
    CASE
      WHEN now_ns < before_ns AND was_offline AND mode IN ('idle', 'iowait') THEN now_ns
      ELSE @cpu_time_step(now_ns, before_ns)
    END AS ns
  FROM step
  WHERE before_ns IS NOT NULL AND interval_ns > 0
), scoped AS (
  SELECT source_id, snapshot, max(ts_ns) AS ts_ns, max(interval_ns) AS interval_ns, cpu, mode, sum(ns) AS ns
  FROM spent
  GROUP BY GROUPING SETS ((source_id, snapshot, cpu, mode), (source_id, snapshot, mode))
), total AS (
  SELECT source_id, snapshot, ts_ns, interval_ns, cpu,
    @total_where(ns, mode = 'usr') AS usr, @total_where(ns, mode = 'nice') AS nice,
    @total_where(ns, mode = 'sys') AS sys, @total_where(ns, mode = 'iowait') AS iowait,
    @total_where(ns, mode = 'irq') AS irq, @total_where(ns, mode = 'soft') AS soft,
    @total_where(ns, mode = 'steal') AS steal, @total_where(ns, mode = 'guest') AS guest,
    @total_where(ns, mode = 'gnice') AS gnice, @total_where(ns, mode = 'idle') AS idle,
    @total(ns) AS total,
    @total_or_zero(ns, mode NOT IN ('idle', 'iowait', 'steal')) AS busy
  FROM scoped
  GROUP BY source_id, snapshot, ts_ns, interval_ns, cpu
)
SELECT
  ts_ns - interval_ns AS ts_ns, interval_ns, coalesce(cpu::VARCHAR, 'all') AS cpu,
  -- A total of 0: the counters did not move, the CPU slept.
  usr / greatest(total, 1) AS user_ratio,
  nice / greatest(total, 1) AS nice_ratio,
  sys / greatest(total, 1) AS system_ratio,
  iowait / greatest(total, 1) AS iowait_ratio,
  irq / greatest(total, 1) AS irq_ratio,
  soft / greatest(total, 1) AS softirq_ratio,
  steal / greatest(total, 1) AS steal_ratio,
  guest / greatest(total, 1) AS guest_ratio,
  gnice / greatest(total, 1) AS guest_nice_ratio,
  CASE WHEN total = 0 THEN 1.0::DOUBLE ELSE idle / total END AS idle_ratio,
  busy / greatest(total, 1) AS busy_ratio,
  usr AS user_ns, nice AS nice_ns, sys AS system_ns, iowait AS iowait_ns, irq AS irq_ns, soft AS softirq_ns, steal AS steal_ns,
  guest AS guest_ns, gnice AS guest_nice_ns, idle AS idle_ns, busy AS busy_ns, total AS cpu_ns
FROM total
ORDER BY total.ts_ns, total.source_id, total.cpu NULLS FIRST
