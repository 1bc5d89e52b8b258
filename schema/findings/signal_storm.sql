-- signal_storm: A process is sent signals again and again: its handlers run, and its calls are interrupted
-- condition: handlers of signals returned in a process (sigreturn(2), which the kernel puts behind each of them) 1000 times a second or more,
--   not counting one for each of its children that ended (SIGCHLD: rules about processes say that). Profilers
--   send a thread a hundred a second (SIGPROF, gperftools' default), runtimes that interrupt their threads likewise (Go, since 1.14: each 10 ms). A
--   warning. Who sent them is the thread that woke this process most often and called kill, tkill, tgkill or their like, if it did so for half of them or more
-- means: each signal ends the call that waits, runs the handler and begins the call again (EINTR, or SA_RESTART: signal(7)). What has to
--   start over each time, such as fork of a large process, may never end
-- next: perfcase view syscall_error: the calls that were interrupted (EINTR)
-- next: perfcase view syscall_log: a timer of its own begins with setitimer or timer_settime
-- next: stop who sends them, or have it send fewer: a pipe, an eventfd or a condition wakes a thread without a handler
-- about: the requests at the addresses of the process
-- taught by: -
-- source: followed_state, process, recorded_span, recorder_thread, service_address, syscall, thread
-- evidence: SELECT t.comm, t.tid, s.name, s.errno_name, count(*) AS call_count FROM syscall AS s JOIN thread AS t USING (utid)
--   WHERE s.name IN ('rt_sigreturn', 'sigreturn', 'kill', 'tkill', 'tgkill', 'rt_sigqueueinfo', 'rt_tgsigqueueinfo', 'pidfd_send_signal') OR s.errno_name IN ('EINTR', 'ERESTARTSYS')
--   GROUP BY ALL ORDER BY call_count DESC, t.tid, s.name, s.errno_name
WITH threshold AS (
  SELECT 1000 AS per_s, 0.5 AS sent_ratio
), handled AS (
  SELECT t.upid, count(*) AS handler_count, min(s.ts_ns) AS first_ns
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  WHERE s.name IN ('rt_sigreturn', 'sigreturn') AND t.upid IS NOT NULL AND s.utid NOT IN (SELECT utid FROM recorder_thread)
  GROUP BY t.upid
), ended AS (
  SELECT parent_upid AS upid, count(*) AS child_count FROM process WHERE end_ts_ns IS NOT NULL GROUP BY parent_upid
), found AS (
  SELECT n.*, 1e9 * n.handler_count / c.duration_ns AS per_s
  FROM handled AS n
  LEFT JOIN ended AS e USING (upid)
  JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
  CROSS JOIN threshold AS h
  WHERE n.handler_count - coalesce(e.child_count, 0) >= h.per_s * c.duration_ns / 1e9
), interrupted AS (
  SELECT t.upid, count(*) AS call_count, mode(s.name ORDER BY s.name) AS name
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  WHERE t.upid IN (SELECT upid FROM found) AND s.name NOT IN ('rt_sigreturn', 'sigreturn')
    AND (s.errno_name = 'EINTR' OR starts_with(s.errno_name, 'ERESTART'))
  GROUP BY t.upid
), sent AS (
  SELECT utid, count(*) AS sent_count,
    mode(CASE WHEN name IN ('tgkill', 'rt_tgsigqueueinfo') THEN args[3] ELSE args[2] END ORDER BY CASE WHEN name IN ('tgkill', 'rt_tgsigqueueinfo') THEN args[3] ELSE args[2] END) AS signal
  FROM syscall
  WHERE name IN ('kill', 'tkill', 'tgkill', 'rt_sigqueueinfo', 'rt_tgsigqueueinfo', 'pidfd_send_signal') AND ret = 0 AND EXISTS (FROM found)
  GROUP BY utid
), woken AS (
  SELECT t.upid, s.waker_utid AS utid, count(*) AS wake_count
  FROM followed_state AS s
  JOIN thread AS t USING (utid)
  WHERE t.upid IN (SELECT upid FROM found) AND s.waker_utid IN (SELECT utid FROM sent)
  GROUP BY t.upid, s.waker_utid
), sender AS (
  SELECT f.upid, arg_max(format('{} ({}) called kill or its like {} times, with signal {}', coalesce(o.comm, '?'), o.tid, @whole(n.sent_count), n.signal), (w.wake_count, n.sent_count, o.tid)) AS text
  FROM found AS f
  JOIN woken AS w USING (upid)
  JOIN sent AS n ON n.utid = w.utid
  JOIN thread AS o ON o.utid = n.utid
  CROSS JOIN threshold AS h
  WHERE n.sent_count >= h.sent_ratio * f.handler_count
  GROUP BY f.upid
)
SELECT
  'warning' AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('its handlers of signals ran {} times, {:.0f} per second, from {:.2f} s on{}; {}', @whole(f.handler_count), f.per_s, f.first_ns / 1e9,
    CASE WHEN i.call_count > 0 THEN format('; they interrupted {} calls, most often {}', @whole(i.call_count), i.name) ELSE '' END,
    coalesce(s.text, 'no process in the recording was seen to send them: a timer of its own, or another process')) AS message,
  coalesce((SELECT list('requests of ' || a.address) FROM service_address AS a WHERE a.upid = f.upid), []) AS about
FROM found AS f
JOIN process AS p USING (upid)
LEFT JOIN interrupted AS i USING (upid)
LEFT JOIN sender AS s USING (upid)
