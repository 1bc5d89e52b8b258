-- pmcarch: cycles, instructions, branches and last-level cache over time, from the architectural CPU counters
-- grain: an interval of perf stat
-- source: pmc_interval, capture
-- caveat: all CPUs together. Where the counters took turns (pmc_interval.running_ratio below 1), counts are perf's estimates
-- caveat: events limited to user mode (cycles:u) are used only where there are no others; then all columns are of user mode
-- caveat: the llc columns come from cache-references and cache-misses, or from LLC-loads and LLC-load-misses, which leave out stores. On Arm, cache-references counts the first-level cache and is not used
-- caveat: an event that the machine does not have is NULL, and so are the ratios made of it
-- diff by: -
-- diff sum: cycles, instructions, llc_misses
-- diff mean: ipc by cycles, branch_miss_ratio by branches, llc_hit_ratio by llc_references
-- diff apart: ipc, llc_hit_ratio, branch_miss_ratio
-- diff weight: 0.95
-- plot: intervals ipc, branch_miss_ratio, llc_hit_ratio
-- chart timeline 6: Instructions per cycle: ipc as IPC
-- as in pmc_interval: ts_ns, interval_ns
-- column cycles [count]: CPU cycles, not counting halted ones
-- column instructions [count]: instructions retired
-- column ipc [instructions/cycle]: instructions per cycle
-- column cpi [cycles/instruction]: cycles per instruction
-- column branches [count]: branches retired
-- column branch_misses [count]: those that were mispredicted
-- column branch_miss_ratio [ratio]: branch_misses / branches
-- column llc_references [count]: accesses to the last-level cache
-- column llc_misses [count]: accesses that it did not hold
-- column llc_hit_ratio [ratio]: 1 - llc_misses / llc_references
WITH named AS (
  -- cycles, cycles:u, cpu_core/cycles/u
  SELECT source_id, ts_ns, interval_ns, cpu, aggregate, cgroup, count,
    CASE WHEN event LIKE '%/%/%' THEN split_part(event, '/', 1) ELSE '' END AS pmu,
    lower(CASE WHEN event LIKE '%/%/%' THEN split_part(event, '/', 2) ELSE split_part(event, ':', 1) END) AS name,
    -- Modes that are counted; precision and the like say nothing about what is counted.
    regexp_replace(
      CASE WHEN event LIKE '%/%/%' THEN split_part(event, '/', 3) ELSE split_part(event, ':', 2) END,
      '[^ukhHG]', '', 'g') AS mode
  FROM pmc_interval
), alias (name, metric, rank) AS (
  VALUES
    ('cycles', 'cycles', 0), ('cpu-cycles', 'cycles', 0), ('cpu_cycles', 'cycles', 1),
    ('instructions', 'instructions', 0), ('inst_retired', 'instructions', 1),
    ('branches', 'branches', 0), ('branch-instructions', 'branches', 0), ('br_retired', 'branches', 1),
    ('branch-misses', 'branch_misses', 0), ('br_mis_pred_retired', 'branch_misses', 1),
    ('cache-references', 'llc_references', 0), ('cache-misses', 'llc_misses', 0),
    ('llc-loads', 'llc_references', 1), ('llc-load-misses', 'llc_misses', 1),
    ('ll_cache_rd', 'llc_references', 2), ('ll_cache_miss_rd', 'llc_misses', 2)
), known AS (
  SELECT n.*, a.metric, a.rank,
    -- The widest count is wanted: of all modes, of the whole machine.
    CASE n.mode WHEN '' THEN 0 WHEN 'u' THEN 1 ELSE 2 END AS mode_rank,
    CASE WHEN n.cgroup IS NULL THEN 0 WHEN n.cgroup = '/' THEN 1 ELSE 2 END AS cgroup_rank
  FROM named AS n
  JOIN alias AS a USING (name)
  LEFT JOIN (SELECT max(machine) AS machine FROM capture) AS c ON true
  WHERE n.count IS NOT NULL
    AND NOT (n.name IN ('cache-references', 'cache-misses') AND coalesce(c.machine, '') SIMILAR TO '(aarch64|arm).*')
), widest AS (
  SELECT *
  FROM known
  QUALIFY mode_rank = min(mode_rank) OVER (PARTITION BY source_id)
    AND cgroup_rank = min(cgroup_rank) OVER (PARTITION BY source_id)
), best AS (
  -- References and misses have to be of the same kind: llc_, bran(ches), bran(ch_misses).
  SELECT *
  FROM widest
  QUALIFY rank = min(rank) OVER (PARTITION BY source_id, left(metric, 4))
), counted AS (
  -- An event that stands in several groups was counted several times.
  SELECT source_id, ts_ns, max(interval_ns) AS interval_ns, metric, avg(count) AS count
  FROM best
  GROUP BY source_id, ts_ns, cpu, aggregate, cgroup, pmu, mode, metric
), total AS (
  SELECT source_id, ts_ns, max(interval_ns) AS interval_ns,
    sum(count) FILTER (metric = 'cycles') AS cycles,
    sum(count) FILTER (metric = 'instructions') AS instructions,
    sum(count) FILTER (metric = 'branches') AS branches,
    sum(count) FILTER (metric = 'branch_misses') AS branch_misses,
    sum(count) FILTER (metric = 'llc_references') AS llc_references,
    sum(count) FILTER (metric = 'llc_misses') AS llc_misses
  FROM counted
  GROUP BY source_id, ts_ns
)
SELECT
  ts_ns,
  interval_ns,
  try_cast(round(cycles) AS BIGINT) AS cycles,
  try_cast(round(instructions) AS BIGINT) AS instructions,
  @ratio(instructions, cycles) AS ipc,
  @ratio(cycles, instructions) AS cpi,
  try_cast(round(branches) AS BIGINT) AS branches,
  try_cast(round(branch_misses) AS BIGINT) AS branch_misses,
  @ratio(branch_misses, branches) AS branch_miss_ratio,
  try_cast(round(llc_references) AS BIGINT) AS llc_references,
  try_cast(round(llc_misses) AS BIGINT) AS llc_misses,
  1 - llc_misses / nullif(llc_references, 0) AS llc_hit_ratio
FROM total
ORDER BY total.ts_ns, total.source_id
