-- microarchitecture: cache, TLB and pipeline events per thousand instructions, and where the pipeline's slots went (top-down, level 1)
-- grain: an interval of perf stat
-- source: pmc_event, top_down, capture
-- caveat: all CPUs together. NULL where the event was not counted; perf counts only what it was asked for: perf stat -e L1-dcache-loads,L1-dcache-load-misses,l2_lines_in.all,LLC-load-misses,machine_clears.count --topdown
-- caveat: per thousand instructions = 1000 × count / instructions; the counts are those of PerfSpect's metrics (metric_L1D MPI: L1D.REPLACEMENT, metric_L2 MPI: L2_LINES_IN.ALL, metric_DTLB load MPI: DTLB_LOAD_MISSES.WALK_COMPLETED, metric_ITLB MPI: ITLB_MISSES.WALK_COMPLETED, each / INST_RETIRED), else perf's generic event or the Arm event in their place
-- caveat: the four shares are those of top_down, which says where its formulas are from
-- caveat: events limited to user mode are used only where there are no others
-- caveat: on Arm cache-misses are of the first level and are not used for llc_misses
-- diff by: -
-- diff mean: l1d_misses_pki by instructions, l2_misses_pki by instructions, llc_misses_pki by instructions, dtlb_misses_pki by instructions, itlb_misses_pki by instructions, branch_misses_pki by instructions, machine_clears_pki by instructions, memory_ordering_clears_pki by instructions, frontend_stall_ratio by cycles, backend_stall_ratio by cycles
-- diff apart: llc_misses_pki, l1d_misses_pki, branch_misses_pki, machine_clears_pki
-- diff weight: 0.6
-- plot: intervals l1d_misses_pki, llc_misses_pki, branch_misses_pki, machine_clears_pki, frontend_bound_ratio, bad_speculation_ratio, retiring_ratio, backend_bound_ratio
-- as in top_down: ts_ns, interval_ns
-- column cycles [count]: CPU cycles, not counting halted ones
-- column instructions [count]: instructions retired
-- column l1d_loads [count]: loads from the first-level data cache
-- column l1d_misses [count]: lines brought into the first-level data cache (l1d.replacement), or loads that missed it
-- column l2_misses [count]: lines brought into the second-level cache (l2_lines_in.all), or requests that missed it
-- column llc_misses [count]: accesses that missed the last-level cache
-- column dtlb_misses [count]: data loads that needed a page walk
-- column itlb_misses [count]: fetches that needed a page walk
-- column branch_misses [count]: branches that were mispredicted
-- column machine_clears [count]: times that the pipeline was emptied because of memory ordering (false sharing), self-modifying code, …
-- column memory_ordering_clears [count]: machine clears for memory ordering
-- column l1d_loads_pki [1/1000 instructions]: l1d_loads per thousand instructions, and so on
-- column l1d_misses_pki [1/1000 instructions]: l1d_misses per thousand instructions
-- column l2_misses_pki [1/1000 instructions]: l2_misses per thousand instructions
-- column llc_misses_pki [1/1000 instructions]: llc_misses
-- column dtlb_misses_pki [1/1000 instructions]: dtlb_misses per thousand instructions
-- column itlb_misses_pki [1/1000 instructions]: itlb_misses per thousand instructions
-- column branch_misses_pki [1/1000 instructions]: branch_misses per thousand instructions
-- column machine_clears_pki [1/1000 instructions]: machine_clears per thousand instructions
-- column memory_ordering_clears_pki [1/1000 instructions]: memory_ordering_clears per thousand instructions
-- column frontend_stall_ratio [ratio]: share of all cycles in which the front end delivered nothing
-- column backend_stall_ratio [ratio]: share of all cycles in which the back end took nothing
-- as in top_down: slots, frontend_bound_ratio, bad_speculation_ratio, retiring_ratio, backend_bound_ratio, smt_contention_ratio
-- column top_down_method: which method of top_down; NULL without top-down
WITH alias (event, metric, rank) AS (
  VALUES
    ('cycles', 'cycles', 0), ('cpu_clk_unhalted.thread', 'cycles', 1), ('cpu_cycles', 'cycles', 1),
    ('instructions', 'instructions', 0), ('inst_retired.any', 'instructions', 1), ('inst_retired', 'instructions', 1),
    ('l1-dcache-loads', 'l1d_loads', 0), ('mem_inst_retired.all_loads', 'l1d_loads', 1), ('l1d_cache', 'l1d_loads', 2),
    ('l1d.replacement', 'l1d_misses', 0), ('l1-dcache-load-misses', 'l1d_misses', 1), ('l1d_cache_refill', 'l1d_misses', 2),
    ('l2_lines_in.all', 'l2_misses', 0), ('l2_rqsts.miss', 'l2_misses', 1), ('l2d_cache_refill', 'l2_misses', 2),
    ('longest_lat_cache.miss', 'llc_misses', 0), ('cache-misses', 'llc_misses', 1), ('llc-load-misses', 'llc_misses', 2),
    ('ll_cache_miss_rd', 'llc_misses', 3),
    ('dtlb_load_misses.walk_completed', 'dtlb_misses', 0), ('dtlb-load-misses', 'dtlb_misses', 1), ('dtlb_walk', 'dtlb_misses', 2),
    ('itlb_misses.walk_completed', 'itlb_misses', 0), ('itlb-load-misses', 'itlb_misses', 1), ('itlb_walk', 'itlb_misses', 2),
    ('branch-misses', 'branch_misses', 0), ('br_misp_retired.all_branches', 'branch_misses', 1), ('br_mis_pred_retired', 'branch_misses', 2),
    ('machine_clears.count', 'machine_clears', 0), ('machine_clears.memory_ordering', 'memory_ordering_clears', 0),
    ('stalled-cycles-frontend', 'frontend_stall', 0), ('stall_frontend', 'frontend_stall', 1),
    ('stalled-cycles-backend', 'backend_stall', 0), ('stall_backend', 'backend_stall', 1),
    ('slots', 'slots', 0), ('topdown.slots', 'slots', 1)
), best AS (
  SELECT e.source_id, e.ts_ns, e.interval_ns, a.metric, e.count
  FROM pmc_event AS e
  JOIN alias AS a USING (event)
  LEFT JOIN (SELECT max(machine) AS machine FROM capture) AS c ON true
  WHERE e.count IS NOT NULL AND NOT (e.event = 'cache-misses' AND coalesce(c.machine, '') SIMILAR TO '(aarch64|arm).*')
  -- Counts of different modes make no ratio.
  QUALIFY a.rank = min(a.rank) OVER (PARTITION BY e.source_id, a.metric)
    AND CASE e.mode WHEN '' THEN 0 WHEN 'u' THEN 1 ELSE 2 END
      = min(CASE e.mode WHEN '' THEN 0 WHEN 'u' THEN 1 ELSE 2 END) OVER (PARTITION BY e.source_id)
), total AS (
  SELECT source_id, ts_ns, max(interval_ns) AS interval_ns, map_from_entries(list((metric, count))) AS m
  FROM (SELECT source_id, ts_ns, max(interval_ns) AS interval_ns, metric, sum(count) AS count FROM best GROUP BY source_id, ts_ns, metric)
  GROUP BY source_id, ts_ns
), named AS (
  SELECT source_id, ts_ns, interval_ns, m,
    m['cycles'] AS cycles, nullif(m['instructions'], 0) AS instructions
  FROM total
)
SELECT
  ts_ns,
  coalesce(n.interval_ns, d.interval_ns) AS interval_ns,
  try_cast(round(cycles) AS BIGINT) AS cycles,
  try_cast(round(m['instructions']) AS BIGINT) AS instructions,
  try_cast(round(m['l1d_loads']) AS BIGINT) AS l1d_loads,
  try_cast(round(m['l1d_misses']) AS BIGINT) AS l1d_misses,
  try_cast(round(m['l2_misses']) AS BIGINT) AS l2_misses,
  try_cast(round(m['llc_misses']) AS BIGINT) AS llc_misses,
  try_cast(round(m['dtlb_misses']) AS BIGINT) AS dtlb_misses,
  try_cast(round(m['itlb_misses']) AS BIGINT) AS itlb_misses,
  try_cast(round(m['branch_misses']) AS BIGINT) AS branch_misses,
  try_cast(round(m['machine_clears']) AS BIGINT) AS machine_clears,
  try_cast(round(m['memory_ordering_clears']) AS BIGINT) AS memory_ordering_clears,
  1000 * m['l1d_loads'] / instructions AS l1d_loads_pki,
  1000 * m['l1d_misses'] / instructions AS l1d_misses_pki,
  1000 * m['l2_misses'] / instructions AS l2_misses_pki,
  1000 * m['llc_misses'] / instructions AS llc_misses_pki,
  1000 * m['dtlb_misses'] / instructions AS dtlb_misses_pki,
  1000 * m['itlb_misses'] / instructions AS itlb_misses_pki,
  1000 * m['branch_misses'] / instructions AS branch_misses_pki,
  1000 * m['machine_clears'] / instructions AS machine_clears_pki,
  1000 * m['memory_ordering_clears'] / instructions AS memory_ordering_clears_pki,
  m['frontend_stall'] / nullif(cycles, 0) AS frontend_stall_ratio,
  m['backend_stall'] / nullif(cycles, 0) AS backend_stall_ratio,
  coalesce(d.slots, try_cast(round(m['slots']) AS BIGINT)) AS slots,
  d.frontend_bound_ratio, d.bad_speculation_ratio, d.retiring_ratio, d.backend_bound_ratio, d.smt_contention_ratio,
  d.method AS top_down_method
FROM named AS n
FULL JOIN top_down AS d USING (source_id, ts_ns)
ORDER BY ts_ns, source_id
