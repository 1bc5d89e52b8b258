-- run_queue_stretch: every wait for a CPU, cut where the thread was moved from one CPU's run queue to another's
-- grain: a stretch of a wait in the run queue of one CPU
-- source: run_queue_wait, followed_state, sched_migrate_task, thread, source
-- caveat: moves are known if sched_migrate_task was recorded; without it a whole wait counts for the CPU on which it ended, and an open one for the CPU that the thread left
-- caveat: a recording of some threads misses the moves that other threads make: if the last known run queue is not that of the CPU that the thread got, the last stretch has no CPU
-- diff no: stretches of time; run_queue_length and ready_time add them up
-- keys: ts_ns
-- column duration_ns [ns]: length of the stretch
-- keys: utid
-- column cpu: the CPU whose run queue it was in; NULL if that is not known, or if the thread must have been moved at an unknown moment
-- as in run_queue_wait: state
-- column is_last: true if the wait ended in this stretch
WITH span AS (
  -- A thread id may be used again: the thread that had it last.
  SELECT utid, tid, coalesce(start_ts_ns, -9223372036854775807) AS since_ts_ns FROM thread WHERE utid <> 0
), move AS (
  SELECT m.ts_ns, n.utid, TRY_CAST(m.dest_cpu AS UINTEGER) AS cpu
  FROM (
    SELECT ts_ns, pid, dest_cpu FROM sched_migrate_task JOIN source AS o USING (source_id) WHERE o.is_timeline
  ) AS m
  ASOF JOIN span AS n ON m.pid = n.tid AND m.ts_ns >= n.since_ts_ns
), step AS (
  SELECT utid, ts_ns, 2 AS place, NULL AS cpu, wait_ns, state, cpu AS got_cpu, left_cpu FROM run_queue_wait
  UNION ALL
  SELECT utid, ts_ns, 1, cpu, NULL, NULL, NULL, NULL FROM move
  UNION ALL
  SELECT utid, ts_ns + duration_ns, 0, cpu, NULL, NULL, NULL, NULL FROM followed_state WHERE state = 'running' AND utid <> 0
), placed AS (
  SELECT utid, ts_ns, place,
    last_value(cpu IGNORE NULLS) OVER w AS queue_cpu,
    last_value(CASE WHEN place = 2 THEN ts_ns + wait_ns END IGNORE NULLS) OVER w AS end_ns,
    last_value(state IGNORE NULLS) OVER w AS state,
    last_value(CASE WHEN place = 2 THEN {got: got_cpu, gone: left_cpu} END IGNORE NULLS) OVER w AS cpus,
    lead(CASE WHEN place = 1 THEN ts_ns END) OVER (PARTITION BY utid ORDER BY ts_ns, place, wait_ns, cpu) AS next_ns
  FROM step
  WINDOW w AS (PARTITION BY utid ORDER BY ts_ns, place, wait_ns, cpu ROWS UNBOUNDED PRECEDING)
)
SELECT
  ts_ns,
  CASE WHEN is_last THEN end_ns ELSE next_ns END - ts_ns AS duration_ns,
  utid,
  CASE
    WHEN NOT EXISTS (FROM move) THEN coalesce(cpus.got, cpus.gone)
    -- A wait ends in the queue of the CPU that the thread gets: if it was last seen in another one, a move was missed.
    WHEN is_last AND queue_cpu <> cpus.got THEN NULL
    ELSE coalesce(queue_cpu, cpus.got)
  END AS cpu,
  state,
  is_last
FROM (SELECT *, next_ns IS NULL OR next_ns >= end_ns AS is_last FROM placed)
WHERE place = 2 OR (place = 1 AND ts_ns < end_ns)
ORDER BY ts_ns, utid, is_last
