-- event_loop_blocked: An event loop makes blocking calls: other events wait
-- condition: a thread is the only one that waits on an epoll descriptor (10 times or more, with a timeout above 0). Its calls
--   were asleep for 10 ms or more (a sleep, connect, a blocking read, fsync, wait for a child; not futex, where runtimes park
--   idle workers), and its next epoll_wait returned events within 1 ms, so they had been waiting. There are five of these calls
--   or more, and they take 5 % or more of the recording: at that share a request meets one by chance about as often as the
--   slowest of twenty. asyncio's debug mode calls a callback slow at ten times 10 ms. Critical from half of the recording
-- means: the loop serves nothing during such a call. Every other connection of this loop waits
-- next: perfcase view slow_syscalls and syscall_log: the calls, and what came before
-- next: perfcase view off_cpu_by_stack: where in the code the loop sleeps (stacks of sched_switch)
-- next: make the call asynchronous, or move it to a worker thread
-- taught by: Identifying an off-CPU bottleneck
-- source: followed_state, recorded_span, syscall, thread
-- evidence: SELECT t.comm, t.tid, s.name, count(*) AS call_count, sum(s.duration_ns) AS total_ns, max(s.duration_ns) AS max_ns FROM syscall AS s
--   JOIN thread AS t USING (utid) WHERE s.duration_ns >= 10000000 AND s.name NOT LIKE 'epoll%' AND s.name NOT LIKE 'futex%' AND s.utid IN (
--   SELECT utid FROM syscall WHERE name LIKE 'epoll_%wait%') GROUP BY ALL ORDER BY total_ns DESC, t.tid, s.name
WITH threshold AS (
  SELECT 10 AS poll_count, 10000000 AS call_ns, 1000000 AS at_once_ns, 5 AS call_count, 0.05 AS blocked_ratio, 0.5 AS critical_ratio
), poll AS (
  SELECT s.utid, t.upid, s.fd, s.ts_ns, s.duration_ns, s.ret,
    -- The timeout of epoll_pwait2 is a pointer: none is for ever.
    s.name = 'epoll_pwait2' OR s.args[4] & 4294967295 <> 0 AS is_blocking
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  WHERE s.name IN ('epoll_wait', 'epoll_pwait', 'epoll_pwait2') AND s.fd IS NOT NULL AND t.upid IS NOT NULL
), loop AS (
  SELECT upid, fd, min(utid) AS utid
  FROM poll
  WHERE is_blocking
  GROUP BY upid, fd
  HAVING min(utid) = max(utid) AND count(*) >= (SELECT poll_count FROM threshold)
), sleep AS (
  SELECT utid, ts_ns, ts_ns + duration_ns AS end_ns, duration_ns
  FROM followed_state
  WHERE state IN ('sleeping', 'disk_sleep') AND NOT is_open AND utid IN (SELECT utid FROM loop)
), long AS (
  SELECT s.utid, s.name, s.ts_ns, s.exit_ts_ns, s.duration_ns
  FROM syscall AS s
  CROSS JOIN threshold AS h
  WHERE s.duration_ns >= h.call_ns AND s.utid IN (SELECT utid FROM loop)
    AND s.name NOT IN ('epoll_wait', 'epoll_pwait', 'epoll_pwait2', 'futex', 'futex_time64', 'futex_waitv', 'io_uring_enter', 'io_getevents')
), blocked AS (
  -- A call whose time went by in the run queue did not block.
  SELECT l.*
  FROM long AS l
  CROSS JOIN threshold AS h
  ASOF JOIN sleep AS s ON s.utid = l.utid AND s.end_ns <= l.exit_ts_ns
  WHERE s.ts_ns >= l.ts_ns AND s.duration_ns >= h.call_ns / 2
), delayed AS (
  SELECT b.*
  FROM blocked AS b
  CROSS JOIN threshold AS h
  ASOF JOIN poll AS p ON p.utid = b.utid AND p.ts_ns >= b.exit_ts_ns
  WHERE p.ret > 0 AND p.duration_ns < h.at_once_ns
), by_call AS (
  SELECT utid, name, count(*) AS call_count, sum(duration_ns) AS call_ns, max(duration_ns) AS max_ns
  FROM delayed
  GROUP BY utid, name
), total AS (
  SELECT b.utid, sum(b.call_count) AS call_count, sum(b.call_ns) AS blocked_ns, max(b.max_ns) AS max_ns,
    arg_max(b.name, (b.call_ns, b.name)) AS name, max(b.call_ns) AS most_ns,
    least(1, sum(b.call_ns) / any_value(c.duration_ns)) AS blocked_ratio
  FROM by_call AS b
  JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
  GROUP BY b.utid
)
SELECT
  @severity(x.blocked_ratio >= h.critical_ratio, true) AS severity,
  format('{} ({})', coalesce(t.comm, '?'), t.tid) AS subject,
  format('its event loop was in {} blocking calls for {:.2f} s, {:.1f} % of the recording, the longest {:.1f} ms, and events were waiting when each returned; {:.2f} s of it in {}',
    @whole(x.call_count), x.blocked_ns / 1e9, 100 * x.blocked_ratio, x.max_ns / 1e6, x.most_ns / 1e9, x.name) AS message,
  @whole(x.blocked_ns) AS cost_ns
FROM total AS x
JOIN thread AS t USING (utid)
CROSS JOIN threshold AS h
WHERE x.call_count >= h.call_count AND x.blocked_ratio >= h.blocked_ratio
