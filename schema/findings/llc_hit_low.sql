-- llc_hit_low: The last-level cache is too small for the working set
-- condition: the cache hit less than 60 % of the accesses that reached it, and 10 or more of a thousand instructions missed it,
--   while the CPUs ran half a billion cycles per second or more (the caches of an idle machine are cold and show nothing). The
--   published slow host had 31 % hits and 18.9 misses per thousand instructions at 0.59 instructions per cycle; the fast one 89 %,
--   4.4 and 1.51. Its cost is not told: no counter here says how much of a miss the CPU hides behind other work
-- means: each miss waits about a hundred nanoseconds for memory. The same work takes more cycles, and the CPUs look busy
-- next: perfcase view pmcarch: when the hit ratio was low, and what instructions per cycle did
-- next: perfcase view machine_config: the size of the caches. Compare with another host: a larger working set, or neighbours
--   that share the cache
-- next: perfcase view on_cpu_distribution: a thread that is moved off the CPU every few microseconds loads its data into the
--   caches again each time
-- taught by: An unexplained win
-- source: pmcarch
-- evidence: SELECT ts_ns, cycles, instructions, ipc, llc_references, llc_misses, llc_hit_ratio FROM pmcarch ORDER BY ts_ns
-- judged when: SELECT count(llc_hit_ratio) > 0 FROM pmcarch
-- not judged: counters of the last-level cache, which most virtual machines hide; perf stat -a -I 1000 -x, -e
--   cycles,instructions,cache-references,cache-misses
WITH threshold AS (
  SELECT 0.6 AS hit_ratio, 10 AS misses_pki, 5e8 AS cycles_per_s
), total AS (
  SELECT sum(cycles) AS cycles, sum(instructions) AS instructions, sum(llc_references) AS refs, sum(llc_misses) AS misses,
    max(ts_ns) AS end_ns
  FROM pmcarch
  WHERE llc_hit_ratio IS NOT NULL AND cycles > 0 AND instructions > 0
  HAVING count(*) > 0
), told AS (
  SELECT *, 1 - misses / nullif(refs, 0) AS hit_ratio, 1000 * misses / nullif(instructions, 0) AS misses_pki FROM total
)
SELECT
  'warning' AS severity, 'all CPUs' AS subject,
  format('{:,} of {:,} accesses missed the last-level cache: {:.1f} % hits, {:.1f} misses per thousand instructions, {:.2f} instructions a cycle',
    @whole(t.misses), @whole(t.refs), 100 * t.hit_ratio, t.misses_pki, t.instructions / t.cycles) AS message
FROM told AS t
CROSS JOIN threshold AS h
WHERE t.hit_ratio < h.hit_ratio AND t.misses_pki >= h.misses_pki AND t.cycles >= h.cycles_per_s * t.end_ns / 1e9
