-- run_queue_wait: every wait of a thread for a CPU, with the CPU that it left and the one that it got
-- grain: a wait: from a wakeup, or from losing the CPU, until the thread runs
-- source: followed_state, thread, thread_name
-- caveat: a wait after a wakeup begins with sched_waking where it was recorded, else with sched_wakeup, which comes some µs later: on an idle CPU, after the time that it takes to wake up
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
SELECT
  s.ts_ns, s.duration_ns AS wait_ns, s.utid, t.tid, t.pid, coalesce(n.comm, t.comm) AS comm, s.state, s.cpu AS left_cpu,
  s.ran_cpu AS cpu, s.woken_by_utid AS waker_utid, s.is_open
FROM followed_state AS s
JOIN thread AS t USING (utid)
LEFT JOIN thread_name AS n ON n.name_id = s.name_id
WHERE s.state IN ('runnable', 'runnable_preempted') AND s.utid <> 0
ORDER BY s.ts_ns, s.utid
