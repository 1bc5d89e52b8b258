-- clock_below_base: The CPUs run below their base clock: power management, or a limit on their frequency
-- condition: counters show that the busy CPUs (30 % of an interval or more, half a second in all) ran at 90 % of their base
--   clock or less (%USED below %RUN); or the allowed maximum frequency is 90 % of the hardware's maximum or less, and the
--   machine is 50 % busy or more. A warning below 75 %: a quarter of the work is lost
-- means: the same work takes more time, but CPU utilization looks the same, because utilization counts time and not work
-- next: perfcase view cpu_frequency: the clock of each CPU over time, and how it was measured
-- next: perfcase view machine_config: governor, limits and boost (cpu.frequency.*). kernel_log shows limits by heat and power
-- taught by: A tale of ten bugs (10)
-- source: cpu_frequency, cpu_summary, machine_config
-- evidence: SELECT ts_ns, cpu, run_ratio, used_ratio, effective_ghz, base_ghz, method FROM cpu_frequency UNION ALL BY NAME
--   SELECT try_cast(value AS DOUBLE) / 1e6 AS effective_ghz, key AS method FROM machine_config WHERE key LIKE 'cpu.frequency.%max'
--   ORDER BY ts_ns, cpu, method
-- judged when: SELECT (SELECT count(used_ratio) > 0 FROM cpu_frequency WHERE run_ratio IS NOT NULL AND method <> 'cycles/task-clock')
--   OR (SELECT count(*) > 0 FROM machine_config WHERE key = 'cpu.frequency.allowed_max')
-- not judged: the clock of the CPUs. It needs counters of cycles with a known base clock, or frequency limits; most virtual
--   machines hide both
WITH threshold AS (
  SELECT 0.9 AS clock_ratio, 0.75 AS warning_ratio, 0.3 AS run_ratio, 500000000 AS busy_ns, 0.5 AS busy_ratio
), clocked AS (
  SELECT sum(f.busy_ns) AS busy_ns, @ratio(sum(f.busy_ns * effective_ghz), sum(f.busy_ns)) AS ghz,
    @ratio(sum(f.busy_ns * base_ghz), sum(f.busy_ns)) AS base_ghz
  FROM cpu_frequency AS f
  CROSS JOIN threshold AS h
  WHERE f.run_ratio >= h.run_ratio AND f.used_ratio IS NOT NULL AND f.method <> 'cycles/task-clock'
  HAVING count(*) > 0
), allowed AS (
  SELECT max(try_cast(value AS DOUBLE)) FILTER (key = 'cpu.frequency.allowed_max') AS allowed_khz,
    max(try_cast(value AS DOUBLE)) FILTER (key = 'cpu.frequency.hardware_max') AS hardware_khz
  FROM machine_config
  HAVING count(*) > 0
), host AS (
  SELECT busy_ratio FROM cpu_summary WHERE cpu = 'all'
), slow AS (
  SELECT k.ghz / k.base_ghz AS clock_ratio, 'CPU clock' AS subject,
    format('busy CPUs ran at {:.2f} GHz, {:.1f} % of their base clock of {:.2f} GHz, in {:.2f} s of busy time',
      k.ghz, 100 * k.ghz / k.base_ghz, k.base_ghz, k.busy_ns / 1e9) AS message
  FROM clocked AS k
  CROSS JOIN threshold AS h
  WHERE k.busy_ns >= h.busy_ns AND k.ghz <= h.clock_ratio * k.base_ghz
  UNION ALL
  SELECT a.allowed_khz / a.hardware_khz, 'frequency limit',
    format('the CPUs may run at {:.2f} GHz at most, {:.1f} % of the {:.2f} GHz that they can; they were {:.1f} % busy',
      a.allowed_khz / 1e6, 100 * a.allowed_khz / a.hardware_khz, a.hardware_khz / 1e6, 100 * u.busy_ratio)
  FROM allowed AS a
  CROSS JOIN host AS u
  CROSS JOIN threshold AS h
  WHERE a.hardware_khz > 0 AND a.allowed_khz <= h.clock_ratio * a.hardware_khz AND u.busy_ratio >= h.busy_ratio
)
SELECT @severity(false, s.clock_ratio < h.warning_ratio) AS severity, s.subject, s.message,
  greatest(0, 1 - s.clock_ratio)::DOUBLE AS of_run_ratio
FROM slow AS s
CROSS JOIN threshold AS h
