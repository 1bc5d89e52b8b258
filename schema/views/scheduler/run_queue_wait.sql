-- run_queue_wait: every wait of a thread for a CPU, with the CPU that it left and the one that it got
-- grain: a wait: from a wakeup, or from losing the CPU, until the thread runs
-- source: followed_state, thread, thread_name
-- caveat: a wait after a wakeup begins with sched_waking where it was recorded, else with sched_wakeup, which comes some µs later
-- caveat: if switches were lost, the wait ends with the first known switch on its CPU, as in perf sched timehist
-- diff no: events; run_queue_latency_by_thread adds them up
-- keys: ts_ns
-- column wait_ns [ns]: length of the wait; an open wait counts until the end of the capture
-- keys: utid, tid, pid
-- column comm: the thread's name when it left its CPU or, if new, was woken
-- column state: runnable (after a wakeup) or runnable_preempted (it left its CPU while it could have run on)
-- column left_cpu: the CPU that it ran on before; NULL when that was before the capture
-- column cpu: the CPU that it got; NULL for an open wait
-- column waker_utid: the thread that woke it; NULL if it is not known, and for threads that lost their CPU
-- column is_open: true if the capture ended before the wait did
WITH step AS (
  SELECT
    ts_ns, duration_ns, utid, name_id, state, cpu, is_open,
    lead(state) OVER w = 'running' AS is_run_next, lead(cpu) OVER w AS next_cpu, coalesce(waker_utid, lag(waker_utid) OVER w) AS waker_utid
  FROM followed_state
  WHERE utid <> 0
  -- By the ends: a run whose beginning is doubtful may seem to begin before the wait that precedes it.
  WINDOW w AS (PARTITION BY utid ORDER BY ts_ns + duration_ns, ts_ns, state = 'running')
)
SELECT
  s.ts_ns, s.duration_ns AS wait_ns, s.utid, t.tid, t.pid, coalesce(n.comm, t.comm) AS comm, s.state, s.cpu AS left_cpu,
  CASE WHEN s.is_run_next AND NOT s.is_open THEN s.next_cpu END AS cpu,
  CASE WHEN s.state = 'runnable' THEN s.waker_utid END AS waker_utid,
  s.is_open
FROM step AS s
JOIN thread AS t USING (utid)
LEFT JOIN thread_name AS n ON n.name_id = s.name_id
WHERE s.state IN ('runnable', 'runnable_preempted')
ORDER BY s.ts_ns, s.utid
