-- address_profile: where the samples of each event were taken, by instruction, with the cycles per instruction there
-- grain: an event × instruction address
-- source: sample, perf_event, frame, frame_label
-- caveat: like perf annotate, but without the instructions' text: the address is the one in the object (for most programs that of objdump -d), or the kernel's own
-- caveat: cycles, instructions and cpi need samples of both events, in one group (perf record -e '{cycles,instructions}:S') or side by side. They are estimates from the samples: of an address with few samples cpi says little. Interrupt-based samples lie some instructions behind the one that caused them; use :pp where the CPU has it
-- diff no: addresses are of one build and one run; function_profile compares by name
-- column event: the event's name
-- column symbol: the function; if it has no name, the object and the address in it
-- as in frame_label: dso, address
-- column symbol_offset_bytes [bytes]: its distance from the function's start; NULL for a function without a name
-- as in frame_label: is_kernel
-- column sample_count [count]: samples of the event at the address
-- column period: what these samples stand for, in the event's unit
-- column event_ratio [ratio]: period as a share of the event's whole period
-- column symbol_ratio [ratio]: period as a share of the function's whole period: perf annotate's percent; NULL for a function without a name
-- column cycles [count]: cycles that the samples of cycles at the address stand for; NULL without such samples in the capture
-- column instructions [count]: instructions that the samples of instructions at the address stand for; NULL without such samples in the capture
-- column cpi [cycles/instruction]: cycles / instructions: cycles per instruction; NULL where one of them has no samples here
WITH at_address AS (
  SELECT s.event_id, s.frame_id, count(*) AS samples, sum(coalesce(s.period, 1)) AS period
  FROM sample AS s
  WHERE s.frame_id IS NOT NULL
  GROUP BY ALL
), kind AS (
  SELECT event_id, name,
    CASE
      WHEN regexp_matches(name, '^(cycles|cpu-cycles|cpu_(core|atom)/(cycles|cpu-cycles)/|cpu_clk_unhalted.thread)([:/].*)?[ukhHGpPSDe]*$') THEN 'cycles'
      WHEN regexp_matches(name, '^(instructions|cpu_(core|atom)/instructions/|inst_retired.(any|prec_dist))([:/].*)?[ukhHGpPSDe]*$') THEN 'instructions'
    END AS counts
  FROM perf_event
), counters AS (
  SELECT a.frame_id,
    sum(a.period) FILTER (k.counts = 'cycles') AS cycles,
    sum(a.period) FILTER (k.counts = 'instructions') AS instructions
  FROM at_address AS a
  JOIN kind AS k USING (event_id)
  WHERE k.counts IS NOT NULL
  GROUP BY a.frame_id
), described AS (
  SELECT k.name AS event, a.event_id, l.label, l.dso, f.address, f.symbol, f.symbol_offset_bytes, f.is_kernel, a.samples,
    a.period, b.cycles, b.instructions
  FROM at_address AS a
  JOIN kind AS k USING (event_id)
  JOIN frame AS f USING (frame_id)
  JOIN frame_label AS l USING (frame_id)
  LEFT JOIN counters AS b USING (frame_id)
)
SELECT event, label AS symbol, dso, address, symbol_offset_bytes, is_kernel, samples AS sample_count,
  TRY_CAST(period AS UBIGINT) AS period,
  period / sum(period) OVER (PARTITION BY event_id) AS event_ratio,
  CASE WHEN symbol IS NOT NULL THEN period / sum(period) OVER (PARTITION BY event_id, symbol, dso, is_kernel) END
    AS symbol_ratio,
  TRY_CAST(cycles AS UBIGINT) AS cycles, TRY_CAST(instructions AS UBIGINT) AS instructions,
  @ratio(cycles, instructions) AS cpi
FROM described
ORDER BY event, described.period DESC, dso, address, label, is_kernel, event_id
