-- slow_syscalls: the system calls that took long, longest first
-- grain: a call of at least slow_syscall_ns (SET VARIABLE slow_syscall_ns = …; 10,000,000 ns by default)
-- source: syscall, thread, thread_name, source, stack_folded, recorder_thread
-- caveat: for a call that the capture's edge cuts (cut_at), known_ns is the part that was recorded: it took at least that
-- caveat: exit and exit_group, which never return, are not here; a call that was cut by the end of its thread lasts until then
-- caveat: most long calls are waits for work, such as those of a server in epoll_wait: a long call is not always a problem
-- diff no: events; syscall_summary adds them up
-- as in syscall: ts_ns
-- column known_ns [ns]: how long it took, or the part of it within the capture
-- keys: utid, tid, pid, comm
-- as in syscall: name, fd, args, ret, errno_name, cut_at
-- column stack: where it was called, root first; NULL when no callchains were recorded
WITH edge AS (
  SELECT min(first_ts_ns) AS first_ns, max(last_ts_ns) AS last_ns FROM source WHERE is_syscall_source
), call AS (
  SELECT
    s.ts_ns, s.utid, t.tid, t.pid, coalesce(n.comm, t.comm) AS comm, s.name, s.fd, s.args, s.ret, s.errno_name, s.cut_at, s.stack_id,
    CASE
      WHEN s.pairing = 'strict' THEN s.duration_ns
      WHEN s.cut_at = 'end' THEN least(e.last_ns, coalesce(t.end_ts_ns, e.last_ns)) - s.ts_ns
      -- A new thread's first event is its return from the call that made it.
      WHEN s.cut_at = 'start' AND NOT (s.ret = 0 AND s.name IN ('clone', 'clone3', 'fork', 'vfork'))
        THEN s.exit_ts_ns - greatest(e.first_ns, coalesce(t.start_ts_ns, e.first_ns))
    END AS known_ns
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  LEFT JOIN thread_name AS n ON n.name_id = s.name_id
  CROSS JOIN edge AS e
  WHERE s.name NOT IN ('exit', 'exit_group')
)
SELECT
  c.ts_ns, c.known_ns, c.utid, c.tid, c.pid, c.comm, c.name, c.fd, c.args, c.ret, c.errno_name, c.cut_at,
  f.folded AS stack
FROM call AS c
LEFT JOIN stack_folded AS f USING (stack_id)
WHERE c.known_ns >= coalesce(getvariable('slow_syscall_ns')::BIGINT, 10000000)
ORDER BY c.utid IN (SELECT utid FROM recorder_thread), c.known_ns DESC, c.ts_ns, c.utid
