-- hyperthread_contention: Hyperthreads share cores: more than half of the logical CPUs were busy
-- condition: the CPUs have two threads per core or more, and were 60 % busy or more in all. Then both threads of a core ran
--   together for a fifth of the time or longer, however the scheduler placed them. A warning from 75 % (half of the time). In
--   the published investigation siblings began to compete above 50 % of the logical CPUs
-- means: a thread beside a busy sibling runs at about 60 to 65 % of its speed alone (two threads on a core do 1.2 to 1.3 times
--   the work of one). Requests become slower long before the CPUs are 100 % busy, and the idle rest is worth less than it looks
-- next: perfcase view cpu_utilization: which CPUs, and when
-- next: perfcase view pmcarch: instructions per cycle, to compare with a quiet hour. microarchitecture: smt_contention_ratio,
--   if the CPU counts it
-- taught by: An unexplained win
-- source: cpu_utilization, machine_config
-- evidence: SELECT ts_ns, cpu, busy_ratio, busy_ns, cpu_ns FROM cpu_utilization WHERE cpu = 'all' ORDER BY ts_ns
-- judged when: SELECT (SELECT count(*) > 0 FROM machine_config WHERE key IN ('cpu.threads_per_core', 'cpu.smt.active'))
--   AND (SELECT count(*) > 0 FROM cpu_utilization)
-- not judged: how many threads a core has, and how busy the CPUs were; perfcase-record records both by default
WITH threshold AS (
  SELECT 0.6 AS busy_ratio, 0.75 AS warning_ratio, 1000000000 AS busy_ns, 0.38 AS slowed_ratio
), topology AS (
  SELECT max(try_cast(value AS INTEGER)) FILTER (key = 'cpu.threads_per_core') AS threads,
    coalesce(max(value) FILTER (key = 'cpu.smt.active'), '1') AS active
  FROM machine_config
  HAVING count(*) > 0
), total AS (
  SELECT sum(busy_ns) AS busy_ns, sum(cpu_ns) AS cpu_ns, @ratio(sum(busy_ns), sum(cpu_ns)) AS busy_ratio
  FROM cpu_utilization
  WHERE cpu = 'all'
  HAVING count(*) > 0
)
SELECT
  @severity(false, t.busy_ratio >= h.warning_ratio) AS severity, 'all cores' AS subject,
  format('{} threads a core, and the CPUs were {:.1f} % busy ({:.2f} s of {:.2f} s): siblings ran together {:.1f} % of the time or more',
    p.threads, 100 * t.busy_ratio, t.busy_ns / 1e9, t.cpu_ns / 1e9, 100 * (2 * t.busy_ratio - 1)) AS message,
  (h.slowed_ratio * (2 * t.busy_ratio - 1) / t.busy_ratio)::DOUBLE AS of_run_ratio
FROM total AS t
CROSS JOIN topology AS p
CROSS JOIN threshold AS h
WHERE p.threads >= 2 AND p.active <> '0' AND t.busy_ratio >= h.busy_ratio AND t.busy_ns >= h.busy_ns
