-- pipe_deadlock: A process waits for the end of a program, which waits until this process reads its pipe
-- condition: a thread waited until the recording ended, for 2 s or longer, in wait4, waitpid or waitid without WNOHANG for a child, or for any and it had one; this child, or a
--   descendant that it waits for in the same way (a shell's command), was in a write to a pipe until then, for 2 s or longer; the first process has this pipe
--   open, no process but these has, and nobody read it since the write began: both wait for ever. The manual of Python's subprocess says so of
--   Popen.wait ("This will deadlock when using stdout=PIPE or stderr=PIPE and the child process generates enough output to a pipe"); pipe(7), "Pipe
--   capacity": a write to a full pipe waits. A warning; critical if a thread that waits so has read a request that has no answer. A child that
--   works, sleeps or reads is waited for rightly
-- means: the program has said more than a pipe has room for (64 KiB by default). It can never end, and all that wait for the first process wait, too. Each
--   such call takes a thread, a child and its pipes away
-- next: read the pipe until its end before the wait (subprocess.communicate, a thread that reads), or give the child a file or /dev/null
-- next: perfcase view syscall_log: what the thread did before it waited
-- next: perfcase view fd_history: who has the pipe
-- about: the threads and the descriptors of the process that waits
-- taught by: -
-- source: descriptor, followed_state, process, recorded_span, request, syscall, thread, workload_thread
-- evidence: SELECT t.comm, t.tid, s.name, s.ts_ns, d.target FROM syscall AS s JOIN thread AS t USING (utid) LEFT JOIN descriptor AS d USING (descriptor_id)
--   WHERE s.pairing = 'enter_only' AND s.name IN ('wait4', 'waitpid', 'waitid', 'write', 'writev') ORDER BY s.ts_ns, t.tid
WITH RECURSIVE threshold AS (
  SELECT 2000000000 AS waited_ns, 8 AS deepest
), endless AS (
  SELECT s.utid, t.upid, s.name, s.args, s.ts_ns, s.descriptor_id, c.end_ts_ns - s.ts_ns AS waited_ns
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
  CROSS JOIN threshold AS h
  WHERE s.pairing = 'enter_only' AND s.cut_at = 'end' AND c.end_ts_ns - s.ts_ns >= h.waited_ns AND s.utid IN (SELECT utid FROM workload_thread)
), waiting AS (
  -- For a child by its id, which may be that of a namespace, or for any.
  SELECT utid, upid, name, waited_ns,
    CASE WHEN name = 'waitid' THEN CASE args[1] & 4294967295 WHEN 1 THEN args[2] & 4294967295 END WHEN args[1] & 4294967295 <> 4294967295 THEN args[1] & 4294967295 END AS child_pid
  FROM endless
  -- Process groups and descriptors of processes (P_PIDFD) do not tell which child.
  WHERE name IN ('wait4', 'waitpid') AND args[3] & 1 = 0 AND (args[1] & 4294967295 BETWEEN 1 AND 2147483647 OR args[1] & 4294967295 = 4294967295)
    OR name = 'waitid' AND args[4] & 1 = 0 AND args[1] & 4294967295 <= 1
), writing AS (
  SELECT e.utid, e.upid, e.name, e.ts_ns, d.inode, d.target
  FROM endless AS e
  JOIN descriptor AS d USING (descriptor_id)
  WHERE d.kind = 'pipe' AND d.inode IS NOT NULL AND e.name IN ('write', 'writev', 'splice', 'tee', 'vmsplice', 'sendfile', 'sendfile64')
), child AS (
  SELECT p.upid, p.pid, p.parent_upid, p.start_ts_ns
  FROM process AS p
  WHERE p.parent_upid IN (SELECT upid FROM waiting) AND p.end_ts_ns IS NULL AND p.upid <> p.parent_upid
), forker AS (
  -- Who creates a thread wakes it: its first state says who that was.
  SELECT c.upid, arg_min(s.waker_utid, s.ts_ns) AS utid
  FROM child AS c
  JOIN process AS p USING (upid)
  JOIN thread AS t ON t.upid = c.upid AND t.tid = p.pid
  JOIN followed_state AS s ON s.utid = t.utid
  GROUP BY c.upid
), known AS (
  -- What the parent calls its child: in its namespace of processes.
  SELECT c.upid, c.parent_upid, coalesce(s.ret, c.pid) AS pid
  FROM child AS c
  LEFT JOIN forker AS f USING (upid)
  LEFT JOIN syscall AS s ON s.utid = f.utid AND s.name IN ('fork', 'vfork', 'clone', 'clone3') AND s.ret > 0 AND c.start_ts_ns BETWEEN s.ts_ns AND s.exit_ts_ns
), link AS (
  SELECT w.utid, w.upid, w.name, w.waited_ns, k.upid AS child_upid
  FROM waiting AS w
  JOIN known AS k ON k.parent_upid = w.upid
  WHERE w.child_pid = k.pid OR w.child_pid IS NULL AND (SELECT count(*) FROM child AS c WHERE c.parent_upid = w.upid) = 1
), chain AS (
  SELECT utid, upid, name, waited_ns, child_upid AS first_upid, child_upid AS last_upid, [upid, child_upid] AS upids FROM link
  UNION ALL
  SELECT c.utid, c.upid, c.name, c.waited_ns, c.first_upid, k.child_upid, list_append(c.upids, k.child_upid)
  FROM chain AS c
  JOIN link AS k ON k.upid = c.last_upid
  CROSS JOIN threshold AS h
  WHERE len(c.upids) <= h.deepest AND NOT list_contains(c.upids, k.child_upid)
), pipe AS (
  SELECT descriptor_id, upid, inode FROM descriptor WHERE inode IN (SELECT inode FROM writing) AND kind = 'pipe'
), open_pipe AS (
  SELECT DISTINCT d.upid, d.inode FROM descriptor AS d JOIN pipe AS p USING (descriptor_id) WHERE d.end_ts_ns IS NULL
), read AS (
  SELECT p.inode, max(s.exit_ts_ns) AS ts_ns
  FROM syscall AS s
  JOIN pipe AS p USING (descriptor_id)
  WHERE s.name IN ('read', 'readv', 'splice', 'tee', 'vmsplice') AND s.ret > 0 AND p.upid NOT IN (SELECT upid FROM writing WHERE inode = p.inode)
  GROUP BY p.inode
), stuck AS (
  SELECT c.utid, c.upid, c.name, c.waited_ns, c.first_upid, arg_max({upid: w.upid, name: w.name, target: w.target}, (len(c.upids), w.ts_ns, w.utid)) AS last
  FROM chain AS c
  JOIN writing AS w ON w.upid = c.last_upid
  LEFT JOIN read AS r ON r.inode = w.inode
  WHERE coalesce(r.ts_ns < w.ts_ns, true) AND (c.upid, w.inode) IN (SELECT (upid, inode) FROM open_pipe)
    AND NOT EXISTS (FROM open_pipe AS o WHERE o.inode = w.inode AND NOT list_contains(c.upids, o.upid))
  GROUP BY ALL
), total AS (
  SELECT s.upid, p.name AS child, q.name AS writer, count(DISTINCT s.utid) AS thread_count, max(s.waited_ns) AS longest_ns, sum(s.waited_ns) AS waited_ns,
    arg_max({name: s.name, call: s.last.name, target: s.last.target, first_upid: s.first_upid, last_upid: s.last.upid}, (s.waited_ns, s.utid)) AS longest,
    bool_or(EXISTS (FROM request AS r WHERE r.utid = s.utid AND r.duration_ns IS NULL)) AS is_asked
  FROM stuck AS s
  JOIN process AS p ON p.upid = s.first_upid
  JOIN process AS q ON q.upid = s.last.upid
  GROUP BY s.upid, p.name, q.name
)
SELECT
  @severity(x.is_asked, true) AS severity,
  format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} until {} ends{} waits until there is room in a pipe ({} to {}) that {} has open and does not read: {:.2f} s{}, until the recording ended',
    CASE x.thread_count WHEN 1 THEN 'a thread waits in ' || x.longest.name ELSE format('{} threads wait in {}', x.thread_count, x.longest.name) END,
    coalesce(x.child, '?'), CASE WHEN x.longest.first_upid = x.longest.last_upid THEN ', which' ELSE format(', which waits for {}, which', coalesce(x.writer, '?')) END,
    x.longest.call, x.longest.target, coalesce(p.name, '?'), x.waited_ns / 1e9,
    CASE x.thread_count WHEN 1 THEN '' ELSE format(' in all, the longest {:.2f} s', x.longest_ns / 1e9) END) AS message,
  @whole(x.waited_ns) AS cost_ns,
  ['threads of process ' || x.upid, 'descriptors of process ' || x.upid] AS about
FROM total AS x
JOIN process AS p USING (upid)
