-- run_queue_stretch: every wait for a CPU, cut where the thread was moved from one CPU's run queue to another's
-- grain: a stretch of a wait in the run queue of one CPU
-- source: followed_state, sched_migrate_task, thread, source
-- caveat: moves are known if sched_migrate_task was recorded; without it a whole wait counts for the CPU on which it ended, and an open one for the CPU that the thread left
-- caveat: a recording of some threads misses the moves that other threads make: if the last known run queue is not that of the CPU that the thread got, the last stretch has no CPU
-- diff no: stretches of time; run_queue_length and ready_time add them up
-- keys: ts_ns
-- column duration_ns [ns]: length of the stretch
-- keys: utid
-- column cpu: the CPU whose run queue it was in; NULL if that is not known, or if the thread must have been moved at an unknown moment
-- column state: runnable (after a wakeup) or runnable_preempted (it left its CPU while it could have run on)
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
), wait AS (
  SELECT ts_ns, ts_ns + duration_ns AS end_ns, utid, state, cpu AS left_cpu, queue_cpu, ran_cpu
  FROM followed_state
  WHERE state IN ('runnable', 'runnable_preempted') AND utid <> 0
), moved AS (
  -- The last wait that began before the move. Most waits have none.
  SELECT m.utid, m.ts_ns, m.cpu, w.ts_ns AS wait_ts_ns
  FROM move AS m
  ASOF JOIN wait AS w ON w.utid = m.utid AND w.ts_ns < m.ts_ns
  WHERE m.ts_ns < w.end_ns
), part AS (
  SELECT w.utid, w.state, w.left_cpu, w.ran_cpu, p.ts_ns,
    coalesce(last_value(p.cpu IGNORE NULLS) OVER (w ROWS UNBOUNDED PRECEDING), w.queue_cpu) AS queue_cpu,
    coalesce(lead(p.ts_ns) OVER w, w.end_ns) AS end_ns, lead(p.ts_ns) OVER w IS NULL AS is_last
  FROM (SELECT utid, ts_ns, cpu, wait_ts_ns FROM moved UNION ALL SELECT DISTINCT utid, wait_ts_ns, NULL, wait_ts_ns FROM moved) AS p
  JOIN wait AS w ON w.utid = p.utid AND w.ts_ns = p.wait_ts_ns
  WINDOW w AS (PARTITION BY p.utid, p.wait_ts_ns ORDER BY p.ts_ns, p.cpu NULLS FIRST)
  UNION ALL
  SELECT w.utid, w.state, w.left_cpu, w.ran_cpu, w.ts_ns, w.queue_cpu, w.end_ns, true
  FROM wait AS w
  ANTI JOIN moved AS m ON m.utid = w.utid AND m.wait_ts_ns = w.ts_ns
)
SELECT
  ts_ns, end_ns - ts_ns AS duration_ns, utid,
  CASE
    WHEN NOT EXISTS (FROM move) THEN coalesce(ran_cpu, left_cpu)
    -- A wait ends in the queue of the CPU that the thread gets: if it was last seen in another one, a move was missed.
    WHEN is_last AND queue_cpu <> ran_cpu THEN NULL
    ELSE coalesce(queue_cpu, ran_cpu)
  END AS cpu,
  state, is_last
FROM part
ORDER BY ts_ns, utid, is_last
