-- What the table descriptor must hold, from raw events: the rules that the importer follows, as queries.
WITH call AS (
  SELECT t.upid, s.utid, s.name, s.args, s.fd, s.ret, s.errno, s.ts_ns, s.exit_ts_ns
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  WHERE t.upid IS NOT NULL
), named AS (
  -- What each call that returns a descriptor makes, and where its flags stand.
  FROM (VALUES
    ('open', 'file', 2), ('openat', 'file', 3), ('openat2', 'file', NULL), ('creat', 'file', 0), ('open_by_handle_at', 'file', 3),
    ('socket', 'socket', 2), ('accept', 'socket', 0), ('accept4', 'socket', 4), ('epoll_create', 'eventpoll', 0),
    ('epoll_create1', 'eventpoll', 1), ('eventfd', 'eventfd', 0), ('eventfd2', 'eventfd', 2), ('signalfd', 'signalfd', 0),
    ('signalfd4', 'signalfd', 4), ('inotify_init', 'inotify', 0), ('inotify_init1', 'inotify', 1), ('timerfd_create', 'timerfd', 2),
    ('memfd_create', 'memfd', 2), ('io_uring_setup', 'io_uring', -1), ('pidfd_open', 'pidfd', -1),
    ('perf_event_open', 'perf_event', 5), ('dup', NULL, 0), ('dup2', NULL, 0), ('dup3', NULL, 3), ('fcntl', NULL, NULL),
    ('fcntl64', NULL, NULL), ('pipe', 'pipe', 0), ('pipe2', 'pipe', 2), ('socketpair', 'socket', 2)
  ) AS maker (name, kind, flags_at)
), maker AS (
  SELECT c.*, m.kind,
    CASE
      WHEN c.name LIKE 'fcntl%' THEN c.args[2] = 1030
      WHEN m.flags_at = 0 THEN FALSE
      WHEN m.flags_at = -1 THEN TRUE
      -- O_CLOEXEC, and SOCK_, EFD_, … of the same value; MFD_CLOEXEC is 1, PERF_FLAG_FD_CLOEXEC 8.
      ELSE c.args[m.flags_at] & CASE c.name WHEN 'memfd_create' THEN 1 WHEN 'perf_event_open' THEN 8 ELSE 524288 END > 0
    END AS is_cloexec,
    CASE WHEN c.name IN ('socket', 'socketpair') THEN
      CASE c.args[1] WHEN 1 THEN 'unix' WHEN 2 THEN 'inet' WHEN 10 THEN 'inet6' WHEN 16 THEN 'netlink' WHEN 17 THEN 'packet'
        ELSE 'family ' || c.args[1] END
      || CASE c.args[2] & 15 WHEN 1 THEN ' stream' WHEN 2 THEN ' dgram' WHEN 3 THEN ' raw' WHEN 5 THEN ' seqpacket' ELSE '' END
    END AS target
  FROM call AS c
  JOIN named AS m USING (name)
  -- A number beyond those of descriptors is none.
  WHERE c.ret BETWEEN 0 AND 2147483647 AND c.exit_ts_ns IS NOT NULL
), made AS (
  SELECT upid, TRY_CAST(ret AS INTEGER) AS fd, exit_ts_ns AS ts_ns, NULL AS closed_by, name AS opened_by, kind, target,
    CASE WHEN name LIKE 'dup%' OR name LIKE 'fcntl%' THEN fd END AS from_fd, is_cloexec
  FROM maker
  WHERE name NOT IN ('pipe', 'pipe2', 'socketpair')
    -- signalfd with a descriptor changes that one; dup2 onto itself does nothing; F_DUPFD is 0, F_DUPFD_CLOEXEC 1030.
    AND NOT (name LIKE 'signalfd%' AND fd IS NOT NULL)
    AND NOT (name = 'dup2' AND fd = ret)
    AND NOT (name LIKE 'fcntl%' AND args[2] NOT IN (0, 1030))
), ranged AS (
  SELECT upid, exit_ts_ns AS ts_ns, args[1] AS low, args[2] AS high, args[3] & 4 > 0 AS is_cloexec
  FROM call
  WHERE name = 'close_range' AND ret = 0
), noticed AS (
  -- A number that is only said not to be open is no descriptor.
  SELECT DISTINCT upid, fd FROM call WHERE fd IS NOT NULL AND errno IS DISTINCT FROM 9
  UNION SELECT DISTINCT upid, fd FROM proc_fd
  UNION SELECT DISTINCT upid, fd FROM made
), closed AS (
  -- The call itself still had the descriptor.
  SELECT upid, fd, ts_ns + 1 AS ts_ns, 'close' AS closed_by, NULL AS opened_by, NULL AS kind, NULL AS target, NULL AS from_fd,
    NULL AS is_cloexec
  FROM call
  WHERE name = 'close' AND fd IS NOT NULL AND errno IS DISTINCT FROM 9
  UNION ALL
  SELECT r.upid, n.fd, r.ts_ns, 'close_range', NULL, NULL, NULL, NULL, NULL
  FROM ranged AS r
  JOIN noticed AS n ON n.upid = r.upid AND n.fd BETWEEN r.low AND r.high
  WHERE NOT r.is_cloexec
), pair AS (
  SELECT upid, exit_ts_ns AS ts_ns, name, kind, target, is_cloexec,
    row_number() OVER (PARTITION BY upid ORDER BY exit_ts_ns, utid) AS number
  FROM maker
  WHERE name IN ('pipe', 'pipe2', 'socketpair')
), before_pairs AS (
  -- When a descriptor of a process that makes pairs was made or closed by calls that tell its number.
  SELECT upid, fd, ts_ns, closed_by
  FROM (SELECT * FROM made UNION ALL SELECT * FROM closed)
  WHERE upid IN (SELECT upid FROM pair)
  UNION ALL
  SELECT upid, fd, -4611686018427387904, NULL FROM noticed WHERE upid IN (SELECT upid FROM pair)
), sign AS (
  -- A descriptor is seen to be open: used without being refused, or listed.
  SELECT upid, fd, ts_ns, NULL AS kind FROM call WHERE fd IS NOT NULL AND ret IS NOT NULL AND errno IS DISTINCT FROM 9
  UNION ALL SELECT upid, fd, ts_ns, kind FROM proc_fd
), first_sign AS (
  SELECT b.upid, b.fd, b.ts_ns AS since_ts_ns, b.closed_by, min(s.ts_ns) AS sign_ts_ns,
    coalesce(max(s.kind), '') AS kind
  FROM sign AS s
  ASOF JOIN before_pairs AS b ON b.upid = s.upid AND b.fd = s.fd AND s.ts_ns >= b.ts_ns
  GROUP BY b.upid, b.fd, b.ts_ns, b.closed_by
), absent AS (
  -- The latest snapshot of the process, before that sign, which does not list the descriptor.
  SELECT f.upid, f.fd, max(l.ts_ns) AS absent_ts_ns
  FROM first_sign AS f
  JOIN (SELECT upid, ts_ns, list(fd) AS fds FROM proc_fd GROUP BY upid, ts_ns) AS l
    ON l.upid = f.upid AND l.ts_ns < f.sign_ts_ns AND NOT list_contains(l.fds, f.fd)
  WHERE f.since_ts_ns = -4611686018427387904
  GROUP BY f.upid, f.fd
), unmade AS (
  -- Nothing that tells its number has made it.
  SELECT f.*, f.closed_by IS NOT NULL OR a.absent_ts_ns IS NOT NULL AS was_not_open,
    coalesce(a.absent_ts_ns, f.since_ts_ns - 1) AS after_ts_ns
  FROM first_sign AS f
  LEFT JOIN absent AS a ON a.upid = f.upid AND a.fd = f.fd AND f.since_ts_ns = -4611686018427387904
  WHERE f.closed_by IS NOT NULL OR f.since_ts_ns = -4611686018427387904
), candidate AS (
  -- It has come from a pair, if there was one meanwhile, and only one.
  SELECT f.upid, f.fd, f.kind, f.was_not_open, p.ts_ns, p.name, p.kind AS pair_kind, p.target, p.is_cloexec
  FROM unmade AS f
  ASOF JOIN pair AS p ON p.upid = f.upid AND f.sign_ts_ns > p.ts_ns
  ASOF LEFT JOIN pair AS before ON before.upid = f.upid AND f.after_ts_ns >= before.ts_ns
  WHERE p.number - coalesce(before.number, 0) = 1
), pair_fd AS (
  SELECT upid, fd, ts_ns, NULL AS closed_by, name AS opened_by, pair_kind AS kind, target, NULL AS from_fd, is_cloexec
  FROM (
    SELECT *, (max(fd) OVER both_ends)::BIGINT - min(fd) OVER both_ends AS distance, count(*) OVER both_ends AS end_count,
      bool_or(was_not_open) OVER both_ends AS is_certain
    FROM candidate
    WHERE kind IN ('', pair_kind)
    WINDOW both_ends AS (PARTITION BY upid, ts_ns)
  )
  -- The neighbour of a number never seen before tells that it was not open: the lowest that are free are taken.
  WHERE (end_count = 1 AND was_not_open) OR (end_count = 2 AND is_certain AND distance = 1)
), flag AS (
  -- Whether execve closes it, from when on; NULL: it is closed.
  SELECT upid, fd, ts_ns, is_cloexec FROM made
  UNION ALL SELECT upid, fd, ts_ns, is_cloexec FROM pair_fd
  UNION ALL SELECT upid, fd, ts_ns, NULL FROM closed
  UNION ALL SELECT upid, fd, exit_ts_ns, CASE WHEN name LIKE 'fcntl%' THEN args[3] & 1 > 0 ELSE args[2] = 21585 END
  FROM call
  WHERE ret = 0 AND ((name LIKE 'fcntl%' AND args[2] = 2) OR (name = 'ioctl' AND args[2] IN (21584, 21585)))
  UNION ALL
  SELECT r.upid, n.fd, r.ts_ns, TRUE
  FROM ranged AS r
  JOIN noticed AS n ON n.upid = r.upid AND n.fd BETWEEN r.low AND r.high
  WHERE r.is_cloexec
), program AS (
  SELECT upid, exit_ts_ns AS ts_ns FROM call WHERE name IN ('execve', 'execveat') AND ret = 0
), kept AS (
  SELECT upid, fd, ts_ns, is_cloexec FROM flag WHERE upid IN (SELECT upid FROM program)
  UNION ALL
  -- A child has what its parent had.
  SELECT c.upid, c.fd, c.ts_ns, f.is_cloexec
  FROM (
    SELECT p.upid, p.parent_upid, p.start_ts_ns AS ts_ns, k.fd
    FROM process AS p
    JOIN (SELECT DISTINCT upid, fd FROM flag) AS k ON k.upid = p.parent_upid
    WHERE p.upid IN (SELECT upid FROM program)
  ) AS c
  ASOF JOIN flag AS f ON f.upid = c.parent_upid AND f.fd = c.fd AND c.ts_ns > f.ts_ns
), at_exec AS (
  SELECT x.upid, f.fd, x.ts_ns, f.is_cloexec
  FROM (SELECT p.upid, p.ts_ns, k.fd FROM program AS p JOIN (SELECT DISTINCT upid, fd FROM kept) AS k USING (upid)) AS x
  ASOF JOIN kept AS f ON f.upid = x.upid AND f.fd = x.fd AND x.ts_ns >= f.ts_ns
), changed AS (
  SELECT * FROM made
  UNION ALL SELECT * FROM pair_fd
  UNION ALL SELECT * FROM closed
  UNION ALL SELECT upid, fd, ts_ns, 'exec', NULL, NULL, NULL, NULL, NULL FROM at_exec WHERE is_cloexec
), seen AS (
  SELECT upid, fd FROM noticed UNION SELECT upid, fd FROM changed
), boundary AS (
  SELECT upid, fd, -4611686018427387904 AS ts_ns, NULL AS closed_by, NULL AS opened_by, NULL AS kind, NULL AS target,
    NULL AS from_fd
  FROM seen
  UNION ALL SELECT * EXCLUDE (is_cloexec) FROM changed
), epoch AS (
  SELECT b.*, lead(b.ts_ns) OVER descriptor AS end_ts_ns,
    CASE
      WHEN lead(b.closed_by) OVER descriptor IS NOT NULL THEN lead(b.closed_by) OVER descriptor
      WHEN lead(b.opened_by) OVER descriptor IN ('dup2', 'dup3') THEN 'replaced'
      WHEN lead(b.ts_ns) OVER descriptor IS NOT NULL THEN 'made_again'
    END AS end_known_from
  FROM boundary AS b
  WINDOW descriptor AS (PARTITION BY b.upid, b.fd ORDER BY b.ts_ns, b.closed_by NULLS LAST, b.opened_by, b.from_fd)
), observed AS (
  SELECT o.upid, o.fd, o.ts_ns, o.kind, o.target, o.inode, e.ts_ns AS epoch_ts_ns, e.end_ts_ns AS epoch_end_ts_ns, e.end_known_from, e.opened_by,
    (o.kind, o.target) IS DISTINCT FROM
      lag((o.kind, o.target)) OVER (PARTITION BY o.upid, o.fd, e.ts_ns ORDER BY o.ts_ns, o.target) AS is_new
  FROM proc_fd AS o
  ASOF JOIN (SELECT * FROM epoch WHERE end_ts_ns IS DISTINCT FROM ts_ns) AS e
    ON e.upid = o.upid AND e.fd = o.fd AND o.ts_ns >= e.ts_ns
), run AS (
  SELECT upid, fd, epoch_ts_ns, opened_by, kind, target, inode,
    CASE WHEN row_number() OVER epochs = 1 THEN epoch_ts_ns ELSE ts_ns END AS ts_ns,
    coalesce(lead(ts_ns) OVER epochs, epoch_end_ts_ns) AS end_ts_ns,
    CASE WHEN lead(ts_ns) OVER epochs IS NOT NULL THEN 'snapshot' ELSE end_known_from END AS end_known_from
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
), told_alone AS (
  SELECT upid, fd, ts_ns, end_ts_ns, end_known_from, opened_by, kind, target, inode, 'snapshot' AS known_from,
    NULL AS origin_upid, NULL AS origin_fd, NULL AS origin_ts_ns
  FROM run
  UNION ALL
  -- What a descriptor was copied from, by dup or by fork, tells what it is.
  SELECT e.upid, e.fd, e.ts_ns, e.end_ts_ns, e.end_known_from, e.opened_by, e.kind, e.target, NULL,
    CASE WHEN e.opened_by IN ('pipe', 'pipe2', 'socketpair') THEN 'use' WHEN e.kind IS NOT NULL THEN 'call' END,
    CASE WHEN e.from_fd IS NOT NULL THEN e.upid ELSE p.parent_upid END, coalesce(e.from_fd, e.fd),
    CASE WHEN e.from_fd IS NOT NULL THEN e.ts_ns - 1 ELSE p.start_ts_ns END
  FROM epoch AS e
  LEFT JOIN process AS p ON p.upid = e.upid AND e.ts_ns = -4611686018427387904
  WHERE e.closed_by IS NULL AND e.end_ts_ns IS DISTINCT FROM e.ts_ns
    AND NOT EXISTS (SELECT 1 FROM run AS r WHERE r.upid = e.upid AND r.fd = e.fd AND r.epoch_ts_ns = e.ts_ns)
), marked AS (
  -- The last connection that began on it, or that ended if it was accepted.
  SELECT b.upid, b.fd, t.ts_ns, arg_max(struct_pack(family := b.family, local := b.local, peer := b.peer), b.ts_ns) AS began
  FROM @begun AS b
  ASOF JOIN told_alone AS t ON t.upid = b.upid AND t.fd = b.fd AND b.ts_ns >= t.ts_ns
  -- A connection's end tells something of an accepted one.
  WHERE coalesce(b.ts_ns < t.end_ts_ns, true) AND (NOT b.is_of_accepted OR coalesce(t.opened_by IN ('accept', 'accept4'), false))
  GROUP BY b.upid, b.fd, t.ts_ns
), told AS (
  SELECT * FROM told_alone LEFT JOIN marked USING (upid, fd, ts_ns)
), copied AS (
  SELECT t.upid, t.fd, t.ts_ns, t.end_ts_ns, t.end_known_from, t.opened_by, coalesce(t.kind, o.kind) AS kind,
    coalesce(t.target, o.target) AS target, coalesce(t.inode, o.inode) AS inode, coalesce(t.known_from, o.known_from) AS known_from,
    coalesce(t.began, o.began) AS began, o.origin_upid, o.origin_fd, o.origin_ts_ns
  FROM told AS t
  ASOF LEFT JOIN told AS o ON o.upid = t.origin_upid AND o.fd = t.origin_fd AND t.origin_ts_ns >= o.ts_ns
), copied_twice AS (
  SELECT t.* EXCLUDE (kind, target, inode, known_from, began), coalesce(t.began, o.began) AS began, coalesce(t.kind, o.kind) AS kind, coalesce(t.target, o.target) AS target,
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
    c.upid, c.fd, c.ts_ns, c.end_ts_ns, c.end_known_from, coalesce(c.kind, u.kind, CASE WHEN c.began IS NOT NULL THEN 'socket' END) AS kind,
    c.target, c.inode, s.ends.local AS local, coalesce(s.ends.peer, other.ends.local) AS peer, s.ends.peer_inode AS peer_inode,
    s.ends.label AS label, c.began, c.opened_by,
    coalesce(c.known_from, CASE WHEN u.kind IS NOT NULL OR c.began IS NOT NULL THEN 'use' END) AS known_from
  FROM copied_twice AS c
  LEFT JOIN used AS u ON u.upid = c.upid AND u.fd = c.fd AND u.ts_ns = c.ts_ns
  LEFT JOIN socket_end AS s ON s.inode = c.inode AND coalesce(c.kind, u.kind, CASE WHEN c.began IS NOT NULL THEN 'socket' END) = 'socket'
  LEFT JOIN socket_end AS other ON other.inode = s.ends.peer_inode
), connected AS (
  -- A snapshot that saw it connected knows its ends, also of a connection that the other end began.
  SELECT * REPLACE (CASE WHEN is_begun THEN began.local ELSE local END AS local, CASE WHEN is_begun THEN began.peer ELSE peer END AS peer,
    CASE WHEN is_begun THEN CASE began.family WHEN 10 THEN 'TCPv6' ELSE 'TCP' END ELSE label END AS label)
  FROM (SELECT *, kind = 'socket' AND peer IS NULL AND began IS NOT NULL AS is_begun FROM described)
)
SELECT
  d.upid, p.pid, d.fd,
  CASE WHEN d.ts_ns = -4611686018427387904 THEN NULL ELSE d.ts_ns END AS ts_ns,
  coalesce(d.end_ts_ns, p.end_ts_ns) AS end_ts_ns,
  d.kind, d.target, d.inode, d.local, d.peer,
  CASE
    WHEN d.label LIKE 'UNIX%' THEN d.label || ':[' || d.inode || coalesce('->' || d.peer_inode, '') || coalesce(',"' || d.local || '"', '') || ']'
    WHEN d.label IS NOT NULL AND d.local IS NOT NULL THEN d.label || ':[' || d.local || coalesce('->' || d.peer, '') || ']'
    WHEN d.target IS NOT NULL THEN d.target
    WHEN d.kind = 'inotify' THEN 'anon_inode:inotify'
    WHEN d.kind IN ('eventfd', 'eventpoll', 'timerfd', 'signalfd', 'io_uring', 'perf_event', 'pidfd') THEN 'anon_inode:[' || d.kind || ']'
    WHEN d.kind IN ('socket', 'pipe') THEN d.kind
  END AS label,
  d.opened_by, d.known_from,
  CASE WHEN d.end_ts_ns IS NOT NULL THEN d.end_known_from WHEN p.end_ts_ns IS NOT NULL THEN 'exit' END AS end_known_from
FROM connected AS d
JOIN process AS p ON p.upid = d.upid
ORDER BY d.upid, d.fd, d.ts_ns
