-- slow_wakeups: waits for a CPU that were longer than a threshold, and who ran instead (runqslower)
-- grain: a wait for a CPU
-- source: run_queue_wait, followed_state, thread, thread_name, recorder_thread
-- caveat: it shows waits from 10 ms, as runqslower does; SET VARIABLE slow_wakeup_ns = 1000000 shows waits from 1 ms
-- caveat: waits that the end of the capture cut are shown if they are already long enough; for them it is not known which thread ran instead
-- caveat: the idle task (utid 0) in a blocker column means that the CPU was idle meanwhile: the thread waited elsewhere, or the wakeup was slow
-- diff no: events; run_queue_latency_by_thread adds them up
-- as in run_queue_wait: ts_ns, wait_ns, utid, tid, pid, comm, state, cpu, waker_utid
-- column waker_tid: the waker's thread id
-- column waker_comm: the waker's name then
-- column previous_utid: the thread that ran on this CPU right before
-- column previous_tid: its thread id
-- column previous_comm: its name then
-- column blocker_utid: the thread that ran longest on this CPU during the wait
-- column blocker_tid: its thread id
-- column blocker_comm: its name then
-- column blocker_ns [ns]: how long it ran during the wait
-- column blocker_ratio [ratio]: blocker_ns as a share of wait_ns
-- as in run_queue_wait: is_open
WITH slow AS (
  SELECT * FROM run_queue_wait WHERE wait_ns >= coalesce(getvariable('slow_wakeup_ns'), 10000000)
), run AS (
  SELECT ts_ns, ts_ns + duration_ns AS end_ns, cpu, utid FROM followed_state WHERE state IN ('running', 'idle')
), instead AS (
  SELECT s.utid, s.ts_ns, r.utid AS other_utid,
    @total(least(s.ts_ns + s.wait_ns, r.end_ns) - greatest(s.ts_ns, r.ts_ns)) AS ns,
    bool_or(r.end_ns = s.ts_ns + s.wait_ns) AS is_previous
  FROM slow AS s
  JOIN run AS r ON r.cpu = s.cpu AND r.ts_ns < s.ts_ns + s.wait_ns AND r.end_ns > s.ts_ns AND r.utid <> s.utid
  GROUP BY s.utid, s.ts_ns, r.utid
), chosen AS (
  SELECT utid, ts_ns, max({ns: ns, order_utid: -other_utid::BIGINT}) AS longest,
    min(other_utid) FILTER (is_previous) AS previous_utid
  FROM instead
  GROUP BY utid, ts_ns
)
SELECT
  s.ts_ns, s.wait_ns, s.utid, s.tid, s.pid, s.comm, s.state, s.cpu,
  s.waker_utid, w.tid AS waker_tid, coalesce(wn.comm, w.comm) AS waker_comm,
  c.previous_utid, p.tid AS previous_tid, coalesce(pn.comm, p.comm) AS previous_comm,
  b.utid AS blocker_utid, b.tid AS blocker_tid, coalesce(bn.comm, b.comm) AS blocker_comm,
  c.longest.ns AS blocker_ns, c.longest.ns / s.wait_ns AS blocker_ratio,
  s.is_open
FROM slow AS s
LEFT JOIN chosen AS c ON c.utid = s.utid AND c.ts_ns = s.ts_ns
LEFT JOIN thread AS w ON w.utid = s.waker_utid
LEFT JOIN thread AS p ON p.utid = c.previous_utid
LEFT JOIN thread AS b ON b.utid = -c.longest.order_utid
ASOF LEFT JOIN thread_name AS wn ON wn.utid = s.waker_utid AND wn.ts_ns <= s.ts_ns
ASOF LEFT JOIN thread_name AS pn ON pn.utid = c.previous_utid AND pn.ts_ns <= s.ts_ns
ASOF LEFT JOIN thread_name AS bn ON bn.utid = b.utid AND bn.ts_ns <= s.ts_ns
ORDER BY s.utid IN (SELECT utid FROM recorder_thread), s.wait_ns DESC, s.ts_ns, s.utid
