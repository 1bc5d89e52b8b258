-- pmc_summary: cycles, instructions, branches and last-level cache over the whole capture, from the architectural CPU counters
-- grain: the capture, if such counters are in it
-- source: pmcarch
-- caveat: ratios are made of sums; they are not means of the intervals' ratios, in which idle intervals would weigh as much as busy ones. pmcarch has the intervals, and more caveats
-- caveat: a ratio covers only the intervals in which both of its counters are known
-- diff no: pmcarch is compared, with the noise of its intervals
-- column interval_count [count]: intervals of perf stat
-- column since_ts_ns [ns]: when the first began
-- column duration_ns [ns]: sum of their lengths; NULL for a total of unknown length
-- as in pmcarch: cycles, instructions, ipc, branches, branch_misses, branch_miss_ratio, llc_references, llc_misses, llc_hit_ratio
-- column llc_misses_pki [1/1000 instructions]: llc_misses per thousand instructions
SELECT
  count(*) AS interval_count, min(ts_ns) AS since_ts_ns, @total(interval_ns) AS duration_ns,
  @total(cycles) AS cycles, @total(instructions) AS instructions,
  @ratio(@total_where(instructions, cycles IS NOT NULL), @total_where(cycles, instructions IS NOT NULL)) AS ipc,
  @total(branches) AS branches, @total(branch_misses) AS branch_misses,
  @ratio(@total_where(branch_misses, branches IS NOT NULL), @total_where(branches, branch_misses IS NOT NULL)) AS branch_miss_ratio,
  @total(llc_references) AS llc_references, @total(llc_misses) AS llc_misses,
  1 - @ratio(@total_where(llc_misses, llc_references IS NOT NULL), @total_where(llc_references, llc_misses IS NOT NULL)) AS llc_hit_ratio,
  1000 * @ratio(@total_where(llc_misses, instructions IS NOT NULL), @total_where(instructions, llc_misses IS NOT NULL)) AS llc_misses_pki
FROM pmcarch
WHERE cycles IS NOT NULL OR instructions IS NOT NULL
HAVING count(*) > 0
