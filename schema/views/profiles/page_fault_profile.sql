-- page_fault_profile: which code faults pages in, and what the pages belong to
-- grain: an event × callchain × mapped object
-- source: sample, sample_detail, perf_event, stack, stack_folded, frame_label, dso
-- caveat: from samples of page-faults, minor-faults, major-faults or the exceptions:page_fault_* tracepoints; mapped needs their addresses (perf record -d)
-- caveat: mapped is what perf saw mapped at the address: data mappings are recorded with -d only, and a heap that grows by brk shows as [heap] only if that mapping was there before
-- diff by: event, symbol, mapped
-- diff sum: fault_count
-- column event: the event's name
-- column symbol: the function that faulted; if it has no name, the object and the address in it
-- as in frame_label: dso
-- column stack: the callchain, root first, separated by semicolons; the function alone where no callchain was recorded
-- column mapped: the object that the faulting address belongs to: a file, [heap], [stack], anonymous memory; [unknown] where no mapping covers it; NULL where the address was not recorded
-- column fault_count [count]: faults that the samples stand for
-- column fault_ratio [ratio]: share of the event's faults
-- column sample_count [count]: samples
-- column page_count [count]: distinct pages (of 4 KiB) among the samples; NULL where the address was not recorded
WITH fault AS (
  SELECT v.event_id, v.name AS event, s.stack_id, s.frame_id,
    CASE
      WHEN d.data_address IS NULL THEN NULL
      WHEN d.data_address >= 9223372036854775808::UBIGINT THEN '[kernel]'
      WHEN o.dso_id IS NULL THEN '[unknown]'
      WHEN o.kind = 'anon' AND (o.path LIKE '[JIT]%' OR o.path LIKE '//anon%') THEN 'anonymous memory'
      ELSE o.name
    END AS mapped,
    coalesce(s.period, 1) AS period, d.data_address // 4096 AS page
  FROM sample AS s
  JOIN perf_event AS v USING (event_id)
  LEFT JOIN sample_detail AS d USING (sample_id)
  LEFT JOIN dso AS o ON o.dso_id = d.data_dso_id
  WHERE regexp_matches(v.name, '^(page-faults|faults|minor-faults|major-faults|exceptions:page_fault_(user|kernel))(:|$)')
), total AS (
  SELECT event_id, event, stack_id, frame_id, mapped, @total(period) AS faults, count(*) AS samples,
    nullif(count(DISTINCT page), 0) AS pages
  FROM (SELECT * REPLACE (CASE WHEN stack_id IS NULL THEN frame_id END AS frame_id) FROM fault)
  GROUP BY ALL
), leaf AS (
  SELECT t.*, coalesce(t.frame_id, k.frame_ids[1]) AS leaf_id
  FROM total AS t
  LEFT JOIN stack AS k USING (stack_id)
), named AS (
  SELECT t.event_id, t.event, l.label AS symbol, l.dso, coalesce(f.folded, replace(l.label, ';', ':')) AS stack, t.mapped,
    t.faults, t.samples, t.pages
  FROM leaf AS t
  LEFT JOIN frame_label AS l ON l.frame_id = t.leaf_id
  LEFT JOIN stack_folded AS f USING (stack_id)
)
SELECT event, symbol, dso, stack, mapped,
  @total(faults) AS fault_count,
  sum(faults) / sum(sum(faults)) OVER (PARTITION BY event_id) AS fault_ratio,
  @total(samples) AS sample_count,
  @total(pages) AS page_count
FROM named
GROUP BY event_id, event, symbol, dso, stack, mapped
ORDER BY event, fault_count DESC, stack, symbol, dso, mapped NULLS FIRST, event_id
