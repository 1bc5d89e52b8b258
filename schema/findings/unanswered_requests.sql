-- unanswered_requests: Requests are not answered: the threads that took them sleep, without a time limit
-- condition: a request that a thread read on a socket had no answer until the recording ended, 2 s or more later, and ten times later than
--   99 in 100 of the answered requests of the process, which were 20 or more, took; and since then this thread slept in one call until the end:
--   in a futex without a timeout (a lock, or a condition), or for the lock of a file (flock, fcntl F_SETLKW). A warning; critical if these
--   are half or more of the threads that read requests. Who holds requests back on purpose (long polling) sets a time limit, and
--   takes as long for those that it answers
-- means: a deadlock, a lock that its holder never gives back, or a message that was lost between threads. Those clients wait for ever, and
--   each such request takes a thread of the pool away
-- next: perfcase view syscall_log: what the thread called after it had read the request
-- next: perfcase view off_cpu_by_thread: the stacks in which these threads sleep
-- next: jstack, py-spy dump or gdb on the host, if it is still so: two threads that each hold what the other one wants
-- about: the requests without an answer of the process
-- taught by: -
-- source: descriptor, process, recorded_span, request, syscall, thread, workload_thread
-- evidence: SELECT t.comm, t.tid, r.peer, r.ts_ns AS request_ts_ns, s.name, s.ts_ns FROM request AS r JOIN thread AS t USING (utid)
--   JOIN syscall AS s ON s.utid = r.utid AND s.ts_ns >= r.ts_ns AND s.pairing = 'enter_only' WHERE r.duration_ns IS NULL ORDER BY r.ts_ns, t.tid
WITH threshold AS (
  SELECT 2000000000 AS waited_ns, 10 AS times_usual, 20 AS answered_count, 0.5 AS critical_ratio
), usual AS (
  SELECT upid, count(DISTINCT utid) AS thread_count, count(duration_ns) AS answered_count, quantile_disc(duration_ns, 0.99) AS duration_ns
  FROM request
  GROUP BY upid
), waiting AS (
  SELECT r.upid, r.utid, r.fd, r.since_ts_ns, r.ts_ns, c.end_ts_ns - r.ts_ns AS waited_ns, u.thread_count, u.duration_ns AS usual_ns, c.end_ts_ns
  FROM request AS r
  JOIN usual AS u USING (upid)
  JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
  CROSS JOIN threshold AS h
  WHERE r.duration_ns IS NULL AND r.utid IN (SELECT utid FROM workload_thread) AND u.answered_count >= h.answered_count
    AND c.end_ts_ns - r.ts_ns >= greatest(h.waited_ns, h.times_usual * u.duration_ns)
), endless AS (
  SELECT s.utid, s.ts_ns, s.name
  FROM syscall AS s
  WHERE s.pairing = 'enter_only' AND s.utid IN (SELECT utid FROM waiting)
    AND (starts_with(s.name, 'futex') AND s.args[4] = 0 OR s.name = 'flock' OR s.name IN ('fcntl', 'fcntl64') AND s.args[2] IN (7, 14))
), stuck AS (
  SELECT w.upid, w.utid, w.usual_ns, w.thread_count, w.waited_ns, w.end_ts_ns, e.name, e.ts_ns
  FROM waiting AS w
  JOIN endless AS e ON e.utid = w.utid AND e.ts_ns >= w.ts_ns
  LEFT JOIN descriptor AS d ON d.upid = w.upid AND d.fd = w.fd AND d.ts_ns IS NOT DISTINCT FROM w.since_ts_ns
  CROSS JOIN threshold AS h
  -- The client may have gone. A server that was killed has answered nobody.
  WHERE (d.end_ts_ns IS NULL OR d.end_known_from = 'exit') AND w.end_ts_ns - e.ts_ns >= h.waited_ns
), total AS (
  SELECT upid, count(*) AS request_count, count(DISTINCT utid) AS stuck_count, any_value(thread_count) AS thread_count, any_value(usual_ns) AS usual_ns,
    max(waited_ns) AS longest_ns, sum(waited_ns) AS waited_ns, arg_min(utid, (ts_ns, utid)) AS utid, mode(name ORDER BY name) AS name, max(end_ts_ns - ts_ns) AS asleep_ns
  FROM stuck
  GROUP BY upid
)
SELECT
  @severity(x.stuck_count >= h.critical_ratio * x.thread_count, true) AS severity,
  format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} request{} had no answer until the end, after {:.2f} s; 99 in 100 others took {:.1f} ms at most; {} of {} threads that take requests sleep{} for a lock or condition ({}) without a time limit, the first, {}, for {:.2f} s',
    x.request_count, CASE x.request_count WHEN 1 THEN '' ELSE 's' END, x.longest_ns / 1e9, x.usual_ns / 1e6, x.stuck_count, x.thread_count,
    CASE x.stuck_count WHEN 1 THEN 's' ELSE '' END, x.name, t.comm, x.asleep_ns / 1e9) AS message,
  @whole(x.waited_ns) AS cost_ns, ['unanswered requests of process ' || x.upid] AS about
FROM total AS x
JOIN process AS p USING (upid)
JOIN thread AS t ON t.utid = x.utid
CROSS JOIN threshold AS h
