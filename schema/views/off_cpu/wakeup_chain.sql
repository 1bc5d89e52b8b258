-- wakeup_chain: which thread ended a wait, which thread had woken that one meanwhile, and so on
-- grain: a step of the chain of a wait, from the wakeup that ended it back to the wait's beginning
-- source: followed_state, thread, thread_name, recorder_thread
-- caveat: by default, each thread's longest sleep; SET VARIABLE wakeup_chain_min_ns = 1000000 shows all sleeps from 1 ms, SET VARIABLE wakeup_chain_utid = 7 those of one thread
-- caveat: a chain has at most 10 steps (SET VARIABLE wakeup_chain_depth = 50 changes that); the last step holds what remains
-- caveat: the waker is the thread that ran on the waking CPU; in an interrupt that is the thread that was interrupted, often the idle task (utid 0)
-- diff no: chains of single waits; off_wake adds them up by name
-- keys: utid, tid, pid, comm, ts_ns
-- column wait_ns [ns]: length of the wait, until the wakeup
-- column depth: 1 is the wakeup that ended the wait, 2 the one that let its waker run, …
-- column woken_utid: the thread that was woken in this step
-- column woken_tid: its thread id
-- column woken_comm: its name when it fell asleep
-- column woken_state: what it was doing: sleeping, disk_sleep, …
-- column woken_sleep_ns [ns]: how long it had been in that state
-- column woken_stack_id: the callchain that it slept with
-- column waker_utid: the thread that woke it; NULL if it is not known: the chain ends there
-- column waker_tid: its thread id
-- column waker_comm: its name then
-- as in followed_state: waker_cpu, waker_stack_id
-- column wake_ts_ns [ns]: when it was woken
-- column held_ns [ns]: the part of the wait from the wakeup before (or the wait's beginning) to this wakeup: the waker's share; the parts of a chain add up to wait_ns
-- column held_ratio [ratio]: held_ns as a share of wait_ns
WITH RECURSIVE setting AS (
  SELECT getvariable('wakeup_chain_utid')::BIGINT AS utid, getvariable('wakeup_chain_min_ns')::BIGINT AS min_ns,
    coalesce(getvariable('wakeup_chain_depth'), 10)::BIGINT AS depth
), sleep AS (
  SELECT row_number() OVER () AS sleep_id,
    utid, name_id, ts_ns, ts_ns + duration_ns AS end_ns, state, stack_id, waker_utid, waker_name_id, waker_cpu, waker_stack_id
  FROM followed_state
  WHERE state NOT IN ('running', 'idle', 'runnable', 'runnable_preempted', 'dead') AND NOT is_open AND utid <> 0
), look AS (
  -- Each wakeup beside the sleeps of its waker: the last one that had ended by then. (An ASOF join, which DuckDB does not
  -- take beside a recursion.)
  SELECT sleep_id, is_wakeup, end_ns,
    last_value(CASE WHEN NOT is_wakeup THEN sleep_id END IGNORE NULLS) OVER w AS parent_id,
    last_value(CASE WHEN NOT is_wakeup THEN end_ns END IGNORE NULLS) OVER w AS parent_end_ns
  FROM (
    SELECT sleep_id, false AS is_wakeup, utid, ts_ns, end_ns FROM sleep
    UNION ALL
    SELECT sleep_id, true, waker_utid, ts_ns, end_ns FROM sleep WHERE waker_utid IS NOT NULL
  )
  WINDOW w AS (PARTITION BY utid ORDER BY end_ns, is_wakeup, ts_ns ROWS UNBOUNDED PRECEDING)
), link AS (
  SELECT sleep_id, end_ns, parent_id, parent_end_ns FROM look WHERE is_wakeup AND parent_id IS NOT NULL
), longest AS (
  -- The first of equally long ones.
  SELECT max({ns: end_ns - ts_ns, before: -ts_ns, sleep_id: sleep_id}).sleep_id AS sleep_id FROM sleep GROUP BY utid
), root AS (
  SELECT s.sleep_id, s.ts_ns
  FROM sleep AS s
  CROSS JOIN setting AS x
  WHERE (x.utid IS NULL OR s.utid = x.utid) AND s.end_ns - s.ts_ns >= coalesce(x.min_ns, 0)
    AND (x.min_ns IS NOT NULL OR x.utid IS NOT NULL OR s.sleep_id IN (SELECT sleep_id FROM longest))
), chain AS (
  -- The links are read twice, so that DuckDB finds them once and not for each step: of a view that is read from case.duckdb it knows no
  -- MATERIALIZED.
  SELECT sleep_id AS root_id, ts_ns AS since_ts_ns, 1::BIGINT AS depth, sleep_id FROM root WHERE (SELECT count(*) FROM link) IS NOT NULL
  UNION ALL
  SELECT c.root_id, c.since_ts_ns, c.depth + 1, l.parent_id
  FROM chain AS c
  JOIN link AS l USING (sleep_id)
  WHERE l.parent_end_ns > c.since_ts_ns AND c.depth < (SELECT depth FROM setting)
)
SELECT
  r.utid, t.tid, t.pid, coalesce(tn.comm, t.comm) AS comm, r.ts_ns, r.end_ns - r.ts_ns AS wait_ns,
  c.depth, s.utid AS woken_utid, n.tid AS woken_tid, coalesce(nn.comm, n.comm) AS woken_comm,
  s.state AS woken_state, s.end_ns - s.ts_ns AS woken_sleep_ns, s.stack_id AS woken_stack_id,
  s.waker_utid, k.tid AS waker_tid, coalesce(kn.comm, k.comm) AS waker_comm, s.waker_cpu, s.waker_stack_id,
  s.end_ns AS wake_ts_ns,
  s.end_ns - coalesce(lead(s.end_ns) OVER w, r.ts_ns) AS held_ns,
  (s.end_ns - coalesce(lead(s.end_ns) OVER w, r.ts_ns)) / nullif(r.end_ns - r.ts_ns, 0) AS held_ratio
FROM chain AS c
JOIN sleep AS r ON r.sleep_id = c.root_id
JOIN sleep AS s ON s.sleep_id = c.sleep_id
JOIN thread AS t ON t.utid = r.utid
JOIN thread AS n ON n.utid = s.utid
LEFT JOIN thread AS k ON k.utid = s.waker_utid
LEFT JOIN thread_name AS tn ON tn.name_id = r.name_id
LEFT JOIN thread_name AS nn ON nn.name_id = s.name_id
LEFT JOIN thread_name AS kn ON kn.name_id = s.waker_name_id
WINDOW w AS (PARTITION BY c.root_id ORDER BY c.depth)
ORDER BY r.utid IN (SELECT utid FROM recorder_thread), wait_ns DESC, r.utid, r.ts_ns, c.depth
