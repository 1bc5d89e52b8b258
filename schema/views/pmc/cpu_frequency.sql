-- cpu_frequency: how fast each CPU ran, and how busy it was at its actual and at its base clock (%RUN and %USED)
-- grain: an interval of perf stat × CPU (or core, socket, thread, or everything, as it was counted)
-- source: pmc_event, proc_cpu, capture
-- caveat: run_ratio (%RUN) is the share of time that the CPU was not idle; used_ratio (%USED) = run_ratio × effective / base clock: if it is below run_ratio, the CPU was slowed down (power management); if it is above, the CPU ran in turbo
-- caveat: method says how effective_ghz was found: aperf/mperf, cycles/ref-cycles (both × base clock, as PerfSpect's metric_CPU operating frequency), cycles/busy time of /proc/stat, or cycles/task-clock as perf stat prints GHz; the last counts idle time as well where all CPUs were counted (-a), since task-clock then never stops
-- caveat: base_ghz is what msr/tsc/ counted in the interval, else what the CPU's model name says (@ 2.50GHz); if neither is known, the figures that need it are NULL
-- caveat: busy time of /proc/stat comes in ticks of 10 ms: effective_ghz is NULL if busy time is below 50 ms
-- caveat: events limited to user mode are not used
-- caveat: in a virtual machine the counters may be synthetic
-- diff by: -
-- diff mean: effective_ghz by cycles, run_ratio, used_ratio
-- diff weight: 0.8
-- plot: intervals effective_ghz, run_ratio by cpu
-- as in pmc_event: ts_ns, interval_ns, cpu, aggregate
-- column cycles [count]: cycles at the actual clock, not counting halted ones
-- column reference_cycles [count]: the same time in cycles of the base clock (ref-cycles or mperf)
-- column busy_ns [ns]: time that the CPU was not idle
-- column effective_ghz [GHz]: the clock it ran at while it was busy
-- column base_ghz [GHz]: the nominal clock of the CPU, at which its time stamp counter runs
-- column run_ratio [ratio]: busy_ns as a share of the interval (%RUN); for an aggregate, the mean number of busy CPUs
-- column used_ratio [ratio]: the work done as a share of what the base clock allows (%USED)
-- column method: how effective_ghz was found
WITH counted AS (
  SELECT source_id, ts_ns, interval_ns, cpu, aggregate,
    sum(count) FILTER (event IN ('cycles', 'cpu_cycles', 'cpu_clk_unhalted.thread') AND pmu <> 'msr') AS cycles,
    sum(count) FILTER (event IN ('ref-cycles', 'cpu_clk_unhalted.ref_tsc')) AS ref_cycles,
    sum(count) FILTER (pmu = 'msr' AND event = 'aperf') AS aperf,
    sum(count) FILTER (pmu = 'msr' AND event = 'mperf') AS mperf,
    sum(count) FILTER (pmu = 'msr' AND event = 'tsc') AS tsc,
    sum(count * CASE WHEN unit = 'msec' THEN 1e6 ELSE 1.0 END) FILTER (event = 'task-clock') AS task_clock_ns
  FROM pmc_event
  WHERE count IS NOT NULL AND (mode = '' OR event = 'task-clock')
  GROUP BY ALL
), clocked AS (
  SELECT * FROM counted WHERE coalesce(cycles, ref_cycles, aperf, mperf) IS NOT NULL
), busy AS (
  SELECT cpu, ts_ns,
    coalesce(user_ns, 0)::HUGEINT + coalesce(nice_ns, 0) + coalesce(system_ns, 0) + coalesce(irq_ns, 0) + coalesce(softirq_ns, 0)
      AS busy_ns
  FROM proc_cpu
  QUALIFY source_id = min(source_id) OVER ()
), slope AS (
  -- Between two snapshots busy time is taken to grow evenly.
  SELECT *, (lead(busy_ns) OVER w - busy_ns) / nullif(lead(ts_ns) OVER w - ts_ns, 0) AS busy_per_ns,
    lead(ts_ns) OVER w AS next_ts_ns
  FROM busy
  WINDOW w AS (PARTITION BY cpu ORDER BY ts_ns)
), edge AS (
  SELECT DISTINCT cpu, at_ns
  FROM (
    SELECT cpu, ts_ns AS at_ns FROM clocked WHERE cpu IS NOT NULL
    UNION ALL
    SELECT cpu, ts_ns + interval_ns FROM clocked WHERE cpu IS NOT NULL AND interval_ns IS NOT NULL
  )
), reached AS (
  SELECT e.cpu, e.at_ns, s.busy_ns + CASE WHEN e.at_ns = s.ts_ns THEN 0 ELSE (e.at_ns - s.ts_ns) * s.busy_per_ns END AS busy_ns
  FROM edge AS e
  ASOF JOIN slope AS s ON e.cpu = s.cpu AND e.at_ns >= s.ts_ns
  WHERE e.at_ns = s.ts_ns OR e.at_ns <= s.next_ts_ns
), with_busy AS (
  SELECT c.*, b.busy_ns - a.busy_ns AS proc_busy_ns,
    CASE WHEN c.cpu IS NOT NULL THEN @ratio(c.tsc, c.interval_ns) END AS tsc_ghz,
    m.model_ghz
  FROM clocked AS c
  LEFT JOIN reached AS a ON a.cpu = c.cpu AND a.at_ns = c.ts_ns
  LEFT JOIN reached AS b ON b.cpu = c.cpu AND b.at_ns = c.ts_ns + c.interval_ns
  LEFT JOIN (
    SELECT try_cast(nullif(regexp_extract(max(cpu_model), '@ *([0-9.]+) *GHz', 1), '') AS DOUBLE) AS model_ghz FROM capture
  ) AS m ON true
), based AS (
  SELECT *, coalesce(tsc_ghz, model_ghz) AS base_ghz, coalesce(ref_cycles, mperf) AS reference_cycles
  FROM with_busy
), measured AS (
  SELECT *,
    coalesce(@ratio(reference_cycles, base_ghz), proc_busy_ns) AS busy_ns,
    CASE
      WHEN aperf IS NOT NULL AND mperf > 0 AND base_ghz IS NOT NULL THEN 'aperf/mperf'
      WHEN cycles IS NOT NULL AND ref_cycles > 0 AND base_ghz IS NOT NULL THEN 'cycles/ref-cycles'
      -- The kernel counts busy time in ticks: a handful of them tells no clock.
      WHEN cycles IS NOT NULL AND proc_busy_ns >= 50000000 THEN 'cycles/busy time'
      WHEN cycles IS NOT NULL AND proc_busy_ns IS NULL AND task_clock_ns > 0 THEN 'cycles/task-clock'
    END AS method
  FROM based
), clock AS (
  SELECT *,
    CASE method
      WHEN 'aperf/mperf' THEN aperf / mperf * base_ghz
      WHEN 'cycles/ref-cycles' THEN cycles / ref_cycles * base_ghz
      WHEN 'cycles/busy time' THEN cycles / proc_busy_ns
      WHEN 'cycles/task-clock' THEN cycles / task_clock_ns
    END AS effective_ghz
  FROM measured
)
SELECT
  ts_ns, interval_ns, cpu, aggregate,
  try_cast(round(coalesce(cycles, aperf)) AS BIGINT) AS cycles,
  try_cast(round(reference_cycles) AS BIGINT) AS reference_cycles,
  try_cast(round(busy_ns) AS BIGINT) AS busy_ns,
  effective_ghz, base_ghz,
  @ratio(busy_ns, interval_ns) AS run_ratio,
  @ratio(coalesce(cycles, aperf), base_ghz * interval_ns) AS used_ratio,
  method
FROM clock
ORDER BY ts_ns, source_id, cpu NULLS FIRST, aggregate NULLS FIRST
