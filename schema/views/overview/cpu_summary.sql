-- cpu_summary: what each CPU spent its time on over the whole capture, as the averages of mpstat -P ALL
-- grain: a CPU, and a row `all` for the CPUs together
-- source: cpu_utilization
-- caveat: ratios are made of sums, they are not means of the intervals' ratios; cpu_utilization has the intervals
-- caveat: a CPU whose counters did not change counts as idle, as in mpstat
-- diff no: cpu_utilization is compared, with the noise of its intervals
-- as in cpu_utilization: cpu, busy_ns
-- column busy_ratio [ratio]: busy_ns as a share of cpu_ns; the other ratios likewise
-- column busy_max_ratio [ratio]: busy_ratio of the busiest interval
-- column user_ns [ns]: in user mode, guests not included
-- column user_ratio [ratio]: in user mode
-- column nice_ns [ns]: in user mode at low priority, guests not included
-- column nice_ratio [ratio]: in user mode at low priority
-- column system_ns [ns]: in the kernel, interrupts not included
-- column system_ratio [ratio]: in the kernel
-- column iowait_ns [ns]: idle while a request of a thread that ran here was in flight
-- column iowait_ratio [ratio]: idle with a request in flight
-- column irq_ns [ns]: serving interrupts
-- as in cpu_utilization: irq_ratio
-- column softirq_ns [ns]: serving soft interrupts
-- as in cpu_utilization: softirq_ratio
-- column steal_ns [ns]: not given by the hypervisor
-- as in cpu_utilization: steal_ratio
-- column steal_max_ratio [ratio]: the largest steal_ratio of an interval
-- as in cpu_utilization: guest_ns, guest_ratio, guest_nice_ns, guest_nice_ratio
-- column idle_ns [ns]: idle, iowait not included
-- column idle_ratio [ratio]: idle
-- column cpu_ns [ns]: sum of all these times
WITH total AS (
  SELECT cpu, max(busy_ratio) AS busy_max_ratio, max(steal_ratio) AS steal_max_ratio,
    @total(busy_ns) AS busy, @total(user_ns) AS "user", @total(nice_ns) AS nice, @total(system_ns) AS system, @total(iowait_ns) AS iowait,
    @total(irq_ns) AS irq, @total(softirq_ns) AS softirq, @total(steal_ns) AS steal, @total(guest_ns) AS guest, @total(guest_nice_ns) AS guest_nice,
    @total(idle_ns) AS idle, @total(cpu_ns) AS cpu_ns
  FROM cpu_utilization
  GROUP BY cpu
), divided AS (
  -- A total of 0: the CPU slept.
  SELECT *, CASE WHEN cpu_ns = 0 THEN 1 ELSE cpu_ns END AS whole FROM total
)
SELECT
  cpu, busy AS busy_ns, busy / whole AS busy_ratio, busy_max_ratio, "user" AS user_ns, "user" / whole AS user_ratio,
  nice AS nice_ns, nice / whole AS nice_ratio, system AS system_ns, system / whole AS system_ratio,
  iowait AS iowait_ns, iowait / whole AS iowait_ratio, irq AS irq_ns, irq / whole AS irq_ratio,
  softirq AS softirq_ns, softirq / whole AS softirq_ratio, steal AS steal_ns, steal / whole AS steal_ratio, steal_max_ratio,
  guest AS guest_ns, guest / whole AS guest_ratio, guest_nice AS guest_nice_ns, guest_nice / whole AS guest_nice_ratio,
  idle AS idle_ns, CASE WHEN cpu_ns = 0 THEN 1.0::DOUBLE ELSE idle / whole END AS idle_ratio, cpu_ns
FROM divided
ORDER BY cpu <> 'all', busy_ns DESC NULLS LAST, cpu
