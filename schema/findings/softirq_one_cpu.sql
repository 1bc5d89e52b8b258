-- softirq_one_cpu: One CPU handles the soft interrupts: packets wait for it, and other CPUs could help
-- condition: on a machine with two CPUs or more, one CPU spent 20 % of its time or more in soft interrupts, half a second or more
--   in all, and 80 % or more of the time of all CPUs in them. A warning from 50 %. Below a fifth the CPU has room, even if the
--   shares are uneven. Its cost is not told: nothing says which threads an interrupt held up
-- means: this CPU limits the throughput, and threads on it become slower, although the host looks idle on average
-- next: perfcase view cpu_utilization: softirq_ratio of each CPU over time. irq_time: which soft interrupt (net_rx, block, timer)
-- next: receive queues and their affinity: /proc/interrupts, ethtool -l, RPS (rps_cpus)
-- taught by: -
-- source: cpu_summary
-- evidence: SELECT cpu, softirq_ns, irq_ns, cpu_ns, softirq_ratio FROM cpu_summary ORDER BY softirq_ns DESC, cpu
-- judged when: SELECT count(cpu) > 2 AND count(softirq_ns) > 0 FROM cpu_summary
-- not judged: two snapshots of /proc/stat on a machine with two CPUs or more
WITH threshold AS (
  SELECT 0.2 AS softirq_ratio, 0.5 AS warning_ratio, 500000000 AS softirq_ns, 0.8 AS of_all_ratio
), shared AS (
  SELECT cpu, softirq_ns, softirq_ratio, softirq_ns / nullif(sum(softirq_ns) OVER (), 0) AS of_all_ratio, count(*) OVER () AS cpus
  FROM cpu_summary
  WHERE cpu <> 'all'
)
SELECT
  @severity(false, s.softirq_ratio >= h.warning_ratio) AS severity, 'CPU ' || s.cpu AS subject,
  format('{:.2f} s in soft interrupts, {:.1f} % of its time and {:.1f} % of the soft interrupts of all {} CPUs',
    s.softirq_ns / 1e9, 100 * s.softirq_ratio, 100 * s.of_all_ratio, s.cpus) AS message
FROM shared AS s
CROSS JOIN threshold AS h
WHERE s.cpus >= 2 AND s.softirq_ratio >= h.softirq_ratio AND s.softirq_ns >= h.softirq_ns AND s.of_all_ratio >= h.of_all_ratio
