-- fd_history: what each descriptor of each process was, and from when to when
-- grain: a descriptor of a process while it was the same thing
-- source: syscall, thread, process, proc_fd, proc_socket
-- caveat: made of the snapshots of /proc/PID/fd and of the calls in the trace that make and close descriptors; a snapshot also tells of the time before it, back to the call that made the descriptor
-- caveat: pipe and socketpair leave their descriptors in memory, and SCM_RIGHTS brings some by message: these are known from a snapshot or by their use only
-- caveat: descriptors that execve closes, and all that a process's end closes, are not marked as closed
-- caveat: a path is known from a snapshot only: the trace has its address, not its text
-- column upid: the capture's own key of the process
-- column pid: process id, a label
-- column fd: the descriptor
-- column ts_ns [ns]: since when; NULL when it was there before the capture
-- column end_ts_ns [ns]: until when; NULL when nothing in the capture ended it
-- column kind: file, device, socket, pipe, memfd, eventfd, eventpoll, timerfd, signalfd, inotify, io_uring, …; NULL when not known
-- column target: what /proc says it is: a path, socket:[INODE], …; without a snapshot what the call that made it tells
-- column inode: of a socket or pipe
-- column local: a socket's own address and port, or its path
-- column peer: the other end's address and port, or its path; NULL when not known
-- column label: the same in one word, as strace -yy writes it behind the descriptor: a path, TCP:[LOCAL->PEER], UNIX-STREAM:[INODE->PEER], anon_inode:[eventfd]; NULL when not known
-- column opened_by: the call that made it; NULL when that is not in the capture
-- column known_from: snapshot, call (the one that made it), use (calls that only such descriptors allow); NULL when nothing is known
WITH call AS (
  SELECT t.upid, s.utid, s.name, s.args, s.fd, s.ret, s.errno, s.ts_ns, s.exit_ts_ns
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  WHERE t.upid IS NOT NULL
), made AS (
  SELECT upid, ret::INTEGER AS fd, exit_ts_ns AS ts_ns, FALSE AS is_close, name AS opened_by,
    CASE
      WHEN name IN ('open', 'openat', 'openat2', 'creat', 'open_by_handle_at') THEN 'file'
      WHEN name IN ('socket', 'accept', 'accept4') THEN 'socket'
      WHEN name LIKE 'epoll_create%' THEN 'eventpoll'
      WHEN name LIKE 'eventfd%' THEN 'eventfd'
      WHEN name LIKE 'signalfd%' THEN 'signalfd'
      WHEN name LIKE 'inotify_init%' THEN 'inotify'
      WHEN name = 'timerfd_create' THEN 'timerfd'
      WHEN name = 'memfd_create' THEN 'memfd'
      WHEN name = 'io_uring_setup' THEN 'io_uring'
      WHEN name = 'pidfd_open' THEN 'pidfd'
      WHEN name = 'perf_event_open' THEN 'perf_event'
    END AS kind,
    CASE WHEN name = 'socket' THEN
      CASE args[1] WHEN 1 THEN 'unix' WHEN 2 THEN 'inet' WHEN 10 THEN 'inet6' WHEN 16 THEN 'netlink' WHEN 17 THEN 'packet'
        ELSE 'family ' || args[1] END
      || CASE args[2] & 15 WHEN 1 THEN ' stream' WHEN 2 THEN ' dgram' WHEN 3 THEN ' raw' WHEN 5 THEN ' seqpacket' ELSE '' END
    END AS target,
    CASE WHEN name LIKE 'dup%' OR name LIKE 'fcntl%' THEN fd END AS from_fd
  FROM call
  WHERE ret >= 0 AND exit_ts_ns IS NOT NULL AND (
    name IN ('open', 'openat', 'openat2', 'creat', 'open_by_handle_at', 'socket', 'accept', 'accept4', 'epoll_create',
      'epoll_create1', 'eventfd', 'eventfd2', 'inotify_init', 'inotify_init1', 'timerfd_create', 'memfd_create',
      'io_uring_setup', 'pidfd_open', 'perf_event_open', 'dup', 'dup2', 'dup3')
    -- signalfd with a descriptor changes that one; F_DUPFD is 0, F_DUPFD_CLOEXEC 1030.
    OR (name IN ('signalfd', 'signalfd4') AND fd IS NULL)
    OR (name IN ('fcntl', 'fcntl64') AND args[2] IN (0, 1030)))
), closed AS (
  -- The call itself still had the descriptor.
  SELECT upid, fd, ts_ns + 1 AS ts_ns, TRUE, NULL, NULL, NULL, NULL
  FROM call
  WHERE name = 'close' AND fd IS NOT NULL AND errno IS DISTINCT FROM 9
), seen AS (
  SELECT DISTINCT upid, fd FROM call WHERE fd IS NOT NULL
  UNION SELECT DISTINCT upid, fd FROM proc_fd
  UNION SELECT DISTINCT upid, fd FROM made
), boundary AS (
  SELECT upid, fd, -4611686018427387904 AS ts_ns, FALSE AS is_close, NULL AS opened_by, NULL AS kind, NULL AS target,
    NULL AS from_fd
  FROM seen
  UNION ALL SELECT * FROM made
  UNION ALL SELECT * FROM closed
), epoch AS (
  SELECT *, lead(ts_ns) OVER (PARTITION BY upid, fd ORDER BY ts_ns, is_close DESC, opened_by, from_fd) AS end_ts_ns
  FROM boundary
), observed AS (
  SELECT o.upid, o.fd, o.ts_ns, o.kind, o.target, o.inode, e.ts_ns AS epoch_ts_ns, e.end_ts_ns AS epoch_end_ts_ns, e.opened_by,
    (o.kind, o.target) IS DISTINCT FROM
      lag((o.kind, o.target)) OVER (PARTITION BY o.upid, o.fd, e.ts_ns ORDER BY o.ts_ns, o.target) AS is_new
  FROM proc_fd AS o
  ASOF JOIN (SELECT * FROM epoch WHERE end_ts_ns IS DISTINCT FROM ts_ns) AS e
    ON e.upid = o.upid AND e.fd = o.fd AND o.ts_ns >= e.ts_ns
), run AS (
  SELECT upid, fd, epoch_ts_ns, opened_by, kind, target, inode,
    CASE WHEN row_number() OVER epochs = 1 THEN epoch_ts_ns ELSE ts_ns END AS ts_ns,
    coalesce(lead(ts_ns) OVER epochs, epoch_end_ts_ns) AS end_ts_ns
  FROM observed
  WHERE is_new
  WINDOW epochs AS (PARTITION BY upid, fd, epoch_ts_ns ORDER BY ts_ns, target)
), used AS (
  SELECT c.upid, c.fd, e.ts_ns, max(
    CASE
      WHEN c.name IN ('epoll_wait', 'epoll_pwait', 'epoll_pwait2', 'epoll_ctl') THEN 'eventpoll'
      WHEN c.name LIKE 'timerfd_%' THEN 'timerfd'
      WHEN c.name LIKE 'getdents%' THEN 'file'
      ELSE 'socket'
    END) AS kind
  FROM call AS c
  ASOF JOIN epoch AS e ON e.upid = c.upid AND e.fd = c.fd AND c.ts_ns >= e.ts_ns
  WHERE c.errno IS NULL AND c.ret IS NOT NULL AND c.name IN ('epoll_wait', 'epoll_pwait', 'epoll_pwait2', 'epoll_ctl',
    'timerfd_settime', 'timerfd_gettime', 'getdents', 'getdents64', 'bind', 'listen', 'accept', 'accept4', 'connect',
    'getsockname', 'getpeername', 'send', 'sendto', 'sendmsg', 'sendmmsg', 'recv', 'recvfrom', 'recvmsg', 'recvmmsg',
    'shutdown', 'setsockopt', 'getsockopt')
  GROUP BY c.upid, c.fd, e.ts_ns
), told AS (
  SELECT upid, fd, ts_ns, end_ts_ns, opened_by, kind, target, inode, 'snapshot' AS known_from,
    NULL AS origin_upid, NULL AS origin_fd, NULL AS origin_ts_ns
  FROM run
  UNION ALL
  -- What a descriptor was copied from, by dup or by fork, tells what it is.
  SELECT e.upid, e.fd, e.ts_ns, e.end_ts_ns, e.opened_by, e.kind, e.target, NULL,
    CASE WHEN e.kind IS NOT NULL THEN 'call' END,
    CASE WHEN e.from_fd IS NOT NULL THEN e.upid ELSE p.parent_upid END, coalesce(e.from_fd, e.fd),
    CASE WHEN e.from_fd IS NOT NULL THEN e.ts_ns - 1 ELSE p.start_ts_ns END
  FROM epoch AS e
  LEFT JOIN process AS p ON p.upid = e.upid AND e.ts_ns = -4611686018427387904
  WHERE NOT e.is_close AND e.end_ts_ns IS DISTINCT FROM e.ts_ns
    AND NOT EXISTS (SELECT 1 FROM run AS r WHERE r.upid = e.upid AND r.fd = e.fd AND r.epoch_ts_ns = e.ts_ns)
), copied AS (
  SELECT t.upid, t.fd, t.ts_ns, t.end_ts_ns, t.opened_by, coalesce(t.kind, o.kind) AS kind,
    coalesce(t.target, o.target) AS target, coalesce(t.inode, o.inode) AS inode, coalesce(t.known_from, o.known_from) AS known_from,
    o.origin_upid, o.origin_fd, o.origin_ts_ns
  FROM told AS t
  ASOF LEFT JOIN told AS o ON o.upid = t.origin_upid AND o.fd = t.origin_fd AND t.origin_ts_ns >= o.ts_ns
), copied_twice AS (
  SELECT t.* EXCLUDE (kind, target, inode, known_from), coalesce(t.kind, o.kind) AS kind, coalesce(t.target, o.target) AS target,
    coalesce(t.inode, o.inode) AS inode, coalesce(t.known_from, o.known_from) AS known_from
  FROM copied AS t
  ASOF LEFT JOIN copied AS o ON o.upid = t.origin_upid AND o.fd = t.origin_fd AND t.origin_ts_ns >= o.ts_ns
), endpoint AS (
  SELECT ts_ns, inode, peer_inode,
    CASE WHEN contains(local_address, ':') THEN '[' || local_address || ']' ELSE local_address END
      || coalesce(':' || local_port, '') AS local,
    CASE WHEN peer_port > 0
      THEN CASE WHEN contains(peer_address, ':') THEN '[' || peer_address || ']' ELSE peer_address END || ':' || peer_port END AS peer,
    CASE family WHEN 'unix' THEN 'UNIX-' || upper(protocol) WHEN 'inet6' THEN upper(protocol) || 'v6' ELSE upper(protocol) END AS label
  FROM proc_socket
  WHERE inode > 0
), socket_end AS (
  -- The last snapshot in which it was connected; else the last.
  SELECT inode, arg_max(struct_pack(local := local, peer := peer, peer_inode := peer_inode, label := label),
    (peer IS NOT NULL, ts_ns, coalesce(local, ''))) AS ends
  FROM endpoint
  GROUP BY inode
), described AS (
  SELECT
    c.upid, c.fd, c.ts_ns, c.end_ts_ns, coalesce(c.kind, u.kind) AS kind, c.target, c.inode, s.ends.local AS local,
    coalesce(s.ends.peer, other.ends.local) AS peer, s.ends.peer_inode AS peer_inode, s.ends.label AS label,
    c.opened_by, coalesce(c.known_from, CASE WHEN u.kind IS NOT NULL THEN 'use' END) AS known_from
  FROM copied_twice AS c
  LEFT JOIN used AS u ON u.upid = c.upid AND u.fd = c.fd AND u.ts_ns = c.ts_ns
  LEFT JOIN socket_end AS s ON s.inode = c.inode AND coalesce(c.kind, u.kind) = 'socket'
  LEFT JOIN socket_end AS other ON other.inode = s.ends.peer_inode
)
SELECT
  d.upid, p.pid, d.fd,
  CASE WHEN d.ts_ns = -4611686018427387904 THEN NULL ELSE d.ts_ns END AS ts_ns, d.end_ts_ns,
  d.kind, d.target, d.inode, d.local, d.peer,
  CASE
    WHEN d.label LIKE 'UNIX%' THEN d.label || ':[' || d.inode || coalesce('->' || d.peer_inode, '') || coalesce(',"' || d.local || '"', '') || ']'
    WHEN d.label IS NOT NULL AND d.local IS NOT NULL THEN d.label || ':[' || d.local || coalesce('->' || d.peer, '') || ']'
    WHEN d.target IS NOT NULL THEN d.target
    WHEN d.kind = 'inotify' THEN 'anon_inode:inotify'
    WHEN d.kind IN ('eventfd', 'eventpoll', 'timerfd', 'signalfd', 'io_uring', 'perf_event', 'pidfd') THEN 'anon_inode:[' || d.kind || ']'
    WHEN d.kind IN ('socket', 'pipe') THEN d.kind
  END AS label,
  d.opened_by, d.known_from
FROM described AS d
JOIN process AS p ON p.upid = d.upid
ORDER BY d.upid, d.fd, d.ts_ns
