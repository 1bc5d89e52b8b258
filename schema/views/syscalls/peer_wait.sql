-- peer_wait: which other ends (a connection's peer, a pipe, a file) each thread waited for in its blocking calls, and how long
-- grain: another end, a thread that waited for it, a name that the thread had, a call, and how the call was attributed to the other end
-- source: descriptor, syscall, thread, thread_name, recorder_thread
-- caveat: poll, select and epoll_wait wait for many descriptors: if they returned one that is ready, their time counts for the descriptor that the thread uses in its next call (attributed_by is next_call); else it counts for the epoll descriptor, or for nothing known
-- caveat: the whole time of a call counts, not only its sleep: a read from the page cache counts, too
-- caveat: several descriptors with the same other end are one row; fds lists them
-- diff by: comm, name, kind, peer
-- diff sum: wait_ns, call_count
-- diff mean: wait_avg_ns by call_count
-- diff max: wait_max_ns
-- diff weight: 0.85
-- column peer: the other end: a socket's peer, else what the descriptor is (path, inode), else its kind; NULL when nothing is known
-- as in descriptor: kind
-- keys: utid, tid, pid, comm
-- as in syscall: name
-- column attributed_by: descriptor (that of the call itself), next_call (that of the thread's next call) or none
-- column call_count [count]: calls that returned
-- column wait_ns [ns]: time of these calls
-- column wait_avg_ns [ns]: mean time of a call
-- column wait_max_ns [ns]: the longest call
-- column fds: the descriptors with this other end
WITH poll AS (
  FROM (VALUES ('poll'), ('ppoll'), ('ppoll_time64'), ('select'), ('_newselect'), ('pselect6'), ('pselect6_time64'),
    ('epoll_wait'), ('epoll_pwait'), ('epoll_pwait2')) AS poll (name)
), polled AS (
  -- What a thread does next is asked only of threads whose polls found a descriptor ready, and with few columns: a thread may make millions of calls.
  SELECT utid, ts_ns, exit_ts_ns, lead(used_fd) OVER calls AS next_fd, lead(descriptor_id) OVER calls AS next_descriptor_id
  FROM (
    SELECT utid, ts_ns, exit_ts_ns, name IN (FROM poll) AND ret > 0 AS is_ready, descriptor_id,
      CASE WHEN name NOT IN ('close', 'epoll_ctl', 'epoll_wait', 'epoll_pwait', 'epoll_pwait2', 'fcntl', 'ioctl') THEN fd END AS used_fd
    FROM syscall
    WHERE pairing <> 'exit_only' AND utid IN (SELECT utid FROM syscall WHERE name IN (FROM poll) AND ret > 0)
  )
  WINDOW calls AS (PARTITION BY utid ORDER BY ts_ns, exit_ts_ns)
  QUALIFY is_ready
), waiting AS (
  SELECT s.utid, s.name_id, s.duration_ns, s.name,
    coalesce(p.next_fd, s.fd) AS fd,
    CASE WHEN p.next_fd IS NULL THEN s.descriptor_id ELSE p.next_descriptor_id END AS descriptor_id,
    CASE WHEN p.next_fd IS NOT NULL THEN 'next_call' WHEN s.fd IS NOT NULL THEN 'descriptor' ELSE 'none' END AS attributed_by
  FROM syscall AS s
  LEFT JOIN polled AS p ON p.utid = s.utid AND p.ts_ns = s.ts_ns AND p.exit_ts_ns = s.exit_ts_ns AND s.ret > 0
  WHERE s.name IN (FROM poll) AND s.pairing <> 'exit_only' AND s.duration_ns IS NOT NULL
  UNION ALL
  SELECT utid, name_id, duration_ns, name, fd, descriptor_id, CASE WHEN fd IS NOT NULL THEN 'descriptor' ELSE 'none' END
  FROM syscall
  WHERE duration_ns IS NOT NULL AND name IN (
    'read', 'readv', 'pread64', 'preadv', 'preadv2', 'recv', 'recvfrom', 'recvmsg', 'recvmmsg', 'accept', 'accept4',
    'connect', 'write', 'writev', 'pwrite64', 'pwritev', 'pwritev2', 'send', 'sendto', 'sendmsg', 'sendmmsg', 'sendfile',
    'sendfile64', 'splice', 'tee', 'vmsplice', 'copy_file_range', 'fsync', 'fdatasync', 'sync_file_range', 'syncfs',
    'fallocate', 'flock', 'getdents', 'getdents64', 'io_uring_enter')
), attributed AS (
  SELECT w.*, d.kind, coalesce(d.peer, d.target, d.kind) AS peer
  FROM waiting AS w
  LEFT JOIN descriptor AS d USING (descriptor_id)
)
SELECT
  a.peer, a.kind, a.utid, t.tid, t.pid, coalesce(n.comm, t.comm) AS comm, a.name, a.attributed_by,
  count(*) AS call_count,
  @total(a.duration_ns) AS wait_ns,
  avg(a.duration_ns) AS wait_avg_ns,
  max(a.duration_ns) AS wait_max_ns,
  list_sort(list(DISTINCT a.fd) FILTER (a.fd IS NOT NULL)) AS fds
FROM attributed AS a
JOIN thread AS t USING (utid)
LEFT JOIN thread_name AS n ON n.name_id = a.name_id
GROUP BY a.peer, a.kind, a.utid, t.tid, t.pid, coalesce(n.comm, t.comm), a.name, a.attributed_by
ORDER BY a.utid IN (SELECT utid FROM recorder_thread), wait_ns DESC, a.utid, comm, a.name, a.peer, a.kind, a.attributed_by
