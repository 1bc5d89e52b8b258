-- branch_profile: sampled branches (perf record -b, LBR): from where to where, how often, how often mispredicted
-- grain: an event × branch
-- source: branch, sample, perf_event, frame_label
-- caveat: each sample brings the last 16 to 32 branches; a branch that is taken often is in many samples. Only taken branches are recorded
-- caveat: the flags are those of struct perf_branch_entry in the kernel's include/uapi/linux/perf_event.h; a CPU that reports neither predicted nor mispredicted has NULL ratios
-- diff by: event, from_symbol, to_symbol
-- diff sum: branch_count, mispredicted_count
-- column event: the event's name
-- column from_symbol: the function of the branch; if it has no name, the object and the address in it
-- column from_dso: the object of from_symbol
-- column from_address: the branch's address within the object
-- column to_symbol: the function that the branch went to
-- column to_dso: the object of to_symbol
-- column to_address: the address it went to, within the object
-- column branch_count [count]: times that it is in a branch stack
-- column mispredicted_count [count]: times that the CPU had predicted something else; NULL where the CPU does not say
-- column mispredicted_ratio [ratio]: mispredicted_count as a share of those with a prediction
-- column event_ratio [ratio]: branch_count as a share of all branches of the event
-- column gap_avg_cycles [cycles]: mean cycles since the branch before; NULL where the CPU does not say
-- column abort_count [count]: times that it aborted a transaction
-- column type: conditional, unconditional, indirect, call, indirect call, return, system call, …; NULL where the CPU does not say
WITH entry AS (
  SELECT v.event_id, v.name AS event, b.from_frame_id, b.to_frame_id,
    b.flags & 1 AS mispredicted, (b.flags >> 1) & 1 AS predicted, (b.flags >> 3) & 1 AS aborted,
    nullif((b.flags >> 4) & 65535, 0) AS cycles, (b.flags >> 20) & 15 AS type
  FROM branch AS b
  JOIN sample AS s USING (sample_id)
  JOIN perf_event AS v USING (event_id)
), total AS (
  SELECT event_id, event, from_frame_id, to_frame_id, type, count(*) AS branches, sum(mispredicted) AS mispredicted,
    sum(predicted) AS predicted, sum(aborted) AS aborted, avg(cycles) AS cycles
  FROM entry
  GROUP BY ALL
)
SELECT t.event, f.label AS from_symbol, f.dso AS from_dso, f.address AS from_address,
  g.label AS to_symbol, g.dso AS to_dso, g.address AS to_address,
  t.branches AS branch_count,
  CASE WHEN t.mispredicted + t.predicted > 0 THEN t.mispredicted::BIGINT END AS mispredicted_count,
  @ratio(t.mispredicted, t.mispredicted + t.predicted) AS mispredicted_ratio,
  t.branches / sum(t.branches) OVER (PARTITION BY t.event_id) AS event_ratio,
  t.cycles AS gap_avg_cycles,
  t.aborted::BIGINT AS abort_count,
  CASE t.type
    WHEN 1 THEN 'conditional' WHEN 2 THEN 'unconditional' WHEN 3 THEN 'indirect' WHEN 4 THEN 'call'
    WHEN 5 THEN 'indirect call' WHEN 6 THEN 'return' WHEN 7 THEN 'system call' WHEN 8 THEN 'system call return'
    WHEN 9 THEN 'conditional call' WHEN 10 THEN 'conditional return' WHEN 11 THEN 'exception return' WHEN 12 THEN 'interrupt'
    WHEN 13 THEN 'system error' WHEN 14 THEN 'no transaction'
  END AS type
FROM total AS t
LEFT JOIN frame_label AS f ON f.frame_id = t.from_frame_id
LEFT JOIN frame_label AS g ON g.frame_id = t.to_frame_id
ORDER BY t.event, branch_count DESC, f.dso, f.address, g.dso, g.address, type NULLS FIRST, t.event_id
