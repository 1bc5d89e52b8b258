-- What the view peer_wait must hold, from descriptors and calls.
WITH poll AS (
  FROM (VALUES ('poll'), ('ppoll'), ('ppoll_time64'), ('select'), ('_newselect'), ('pselect6'), ('pselect6_time64'),
    ('epoll_wait'), ('epoll_pwait'), ('epoll_pwait2')) AS poll (name)
), polled AS (
  -- What a thread does next is asked only of threads that poll.
  SELECT utid, name_id, duration_ns, name, fd, ts_ns, ret, lead(ts_ns) OVER calls AS next_ts_ns, lead(name) OVER calls AS next_name,
    lead(fd) OVER calls AS next_fd
  FROM syscall
  WHERE pairing <> 'exit_only' AND utid IN (SELECT utid FROM syscall WHERE name IN (FROM poll))
  WINDOW calls AS (PARTITION BY utid ORDER BY ts_ns, exit_ts_ns)
  QUALIFY name IN (FROM poll)
), waiting AS (
  SELECT utid, name_id, duration_ns, name,
    CASE WHEN is_through THEN next_fd ELSE fd END AS fd,
    CASE WHEN is_through THEN next_ts_ns ELSE ts_ns END AS used_ts_ns,
    CASE WHEN is_through THEN 'next_call' WHEN fd IS NOT NULL THEN 'descriptor' ELSE 'none' END AS attributed_by
  FROM (
    SELECT *, ret > 0 AND next_fd IS NOT NULL
      AND next_name NOT IN ('close', 'epoll_ctl', 'epoll_wait', 'epoll_pwait', 'epoll_pwait2', 'fcntl', 'ioctl') AS is_through
    FROM polled
    WHERE duration_ns IS NOT NULL
  )
  UNION ALL
  SELECT utid, name_id, duration_ns, name, fd, ts_ns, CASE WHEN fd IS NOT NULL THEN 'descriptor' ELSE 'none' END
  FROM syscall
  WHERE duration_ns IS NOT NULL AND name IN (
    'read', 'readv', 'pread64', 'preadv', 'preadv2', 'recv', 'recvfrom', 'recvmsg', 'recvmmsg', 'accept', 'accept4',
    'connect', 'write', 'writev', 'pwrite64', 'pwritev', 'pwritev2', 'send', 'sendto', 'sendmsg', 'sendmmsg', 'sendfile',
    'sendfile64', 'splice', 'tee', 'vmsplice', 'copy_file_range', 'fsync', 'fdatasync', 'sync_file_range', 'syncfs',
    'fallocate', 'flock', 'getdents', 'getdents64', 'io_uring_enter')
), attributed AS (
  SELECT w.*, w.used_ts_ns < coalesce(h.end_ts_ns, 9223372036854775807) AS is_now,
    CASE WHEN is_now THEN h.kind END AS kind, CASE WHEN is_now THEN coalesce(h.peer, h.target, h.kind) END AS peer
  FROM (SELECT w.*, t.upid FROM waiting AS w JOIN thread AS t USING (utid)) AS w
  ASOF LEFT JOIN (SELECT *, coalesce(ts_ns, -4611686018427387904) AS from_ts_ns FROM descriptor) AS h
    ON h.upid = w.upid AND h.fd = w.fd AND w.used_ts_ns >= h.from_ts_ns
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
