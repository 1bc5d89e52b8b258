-- false_sharing: False sharing: threads write different variables on the same cache line
-- condition: sampled loads of a line found it modified by another core, 3 times or more and in 5 % or more of all such loads, and
--   its threads wrote and read different offsets but none in common; or counters show 0.5 or more pipeline clears for memory
--   ordering per thousand instructions, at 1.5 or more cycles per instruction (the published slow nodes had 4 times the clears and
--   3 times the cycles of the fast ones). Its cost is not told: no counter says how long an access waited for the line
-- means: each write takes the line away from the other cores, and each of their accesses fetches it back. More threads make it
--   slower
-- next: perfcase view contended_cache_line: the lines, the offsets, and the threads that access them
-- next: perfcase view cache_line_access: which function of which thread accesses which offset
-- next: pad the fields to separate lines. If that does not help, look for one field that all threads write
-- taught by: Seeing through hardware counters
-- source: contended_cache_line, microarchitecture
-- evidence: SELECT line_address, pid, hitm_count, peer_count, offsets, threads, symbols FROM contended_cache_line WHERE is_false_sharing
--   ORDER BY hitm_count DESC, line_address
-- judged when: SELECT (SELECT count(*) > 0 FROM contended_cache_line) OR (SELECT count(memory_ordering_clears_pki) > 0 FROM microarchitecture)
-- not judged: sampled memory accesses (perf c2c record), or the event machine_clears.memory_ordering (perf stat); most virtual
--   machines hide both
WITH threshold AS (
  SELECT 3 AS hitm_count, 0.05 AS hitm_ratio, 0.5 AS clears_pki, 1.5 AS cpi
), counted AS (
  SELECT @total(memory_ordering_clears) AS clears, sum(cycles) AS cycles, sum(instructions) AS instructions
  FROM microarchitecture
  WHERE memory_ordering_clears IS NOT NULL AND instructions > 0
  HAVING count(*) > 0
), signature AS (
  SELECT 'warning' AS severity, format('line 0x{:x} of process {}', n.line_address, coalesce(n.pid::VARCHAR, 'kernel')) AS subject,
    format('{:,} of {:,} sampled accesses found it modified by another core ({:.1f} % of all such loads): {} at {} places of it',
      n.hitm_count + n.peer_count, n.access_count, 100 * coalesce(n.hitm_ratio, 1), array_to_string(n.threads, ', '), n.offset_count) AS message
  FROM contended_cache_line AS n
  CROSS JOIN threshold AS h
  WHERE n.is_false_sharing AND n.hitm_count + n.peer_count >= h.hitm_count AND coalesce(n.hitm_ratio, 1) >= h.hitm_ratio
  UNION ALL
  SELECT 'warning', 'all CPUs',
    format('{:,} pipeline clears for memory ordering, {:.2f} per thousand instructions, at {:.2f} cycles an instruction',
      k.clears, 1000 * k.clears / k.instructions, k.cycles / k.instructions)
  FROM counted AS k
  CROSS JOIN threshold AS h
  WHERE 1000 * k.clears / k.instructions >= h.clears_pki AND k.cycles / k.instructions >= h.cpi
)
SELECT severity, subject, message FROM signature
