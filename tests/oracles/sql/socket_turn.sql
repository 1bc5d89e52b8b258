-- What the table socket_turn must hold, from raw events: the rules that the importer follows, as queries.
WITH call AS (
  SELECT t.upid, s.utid, s.name_id, s.name, s.fd, s.ret, s.ts_ns, s.exit_ts_ns,
    s.name IN ('write', 'writev', 'send', 'sendto', 'sendmsg', 'sendmmsg', 'sendfile', 'sendfile64') AS is_write,
    s.name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg', 'recvmmsg') AS is_read
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  WHERE t.upid IS NOT NULL AND s.exit_ts_ns IS NOT NULL
), event AS (
  -- The calls that tell what a descriptor is.
  SELECT t.upid, s.name, s.fd, s.ret, s.args, s.ts_ns, s.exit_ts_ns
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  WHERE t.upid IS NOT NULL AND s.exit_ts_ns IS NOT NULL
), born AS (
  SELECT upid, TRY_CAST(ret AS INTEGER) AS fd, exit_ts_ns AS since_ts_ns,
    CASE name WHEN 'socket' THEN
      CASE args[1] WHEN 1 THEN 'unix' WHEN 2 THEN 'inet' WHEN 10 THEN 'inet6' WHEN 16 THEN 'netlink' WHEN 17 THEN 'packet'
        ELSE 'family ' || args[1] END
    END AS family,
    CASE WHEN name IN ('accept', 'accept4') THEN false END AS is_client,
    name IN ('socket', 'accept', 'accept4') AS is_socket
  FROM event
  WHERE ret >= 0 AND (name IN ('socket', 'accept', 'accept4', 'open', 'openat', 'openat2', 'creat', 'epoll_create', 'epoll_create1',
    'eventfd', 'eventfd2', 'signalfd', 'signalfd4', 'timerfd_create', 'memfd_create', 'inotify_init', 'inotify_init1', 'dup', 'dup2', 'dup3')
    OR (name IN ('fcntl', 'fcntl64') AND args[2] IN (0, 1030)))
  UNION ALL
  -- The number is free before close returns: another thread may have got it by then.
  SELECT upid, fd, ts_ns + 1, NULL, NULL, false FROM event WHERE name = 'close' AND ret = 0 AND fd IS NOT NULL
  UNION ALL
  -- What was there before anything that the capture has of it.
  SELECT DISTINCT upid, fd, -4611686018427387904, NULL, NULL, false FROM (
    SELECT upid, fd FROM event WHERE fd IS NOT NULL UNION ALL SELECT upid, fd FROM proc_fd
  )
), sign AS (
  -- What tells of a descriptor later: a snapshot, and a connect.
  SELECT upid, fd, ts_ns, inode, kind = 'socket' AS is_socket, false AS is_connect, NULL AS began, false AS is_of_accepted FROM proc_fd
  UNION ALL
  SELECT upid, fd, ts_ns, NULL, true, true, NULL, false FROM event WHERE name = 'connect' AND fd IS NOT NULL
  UNION ALL
  SELECT upid, fd, ts_ns, NULL, false, false, struct_pack(family := family, local := local, peer := peer), is_of_accepted FROM @begun
), told AS (
  SELECT s.upid, s.fd, b.since_ts_ns, arg_max(s.inode, s.ts_ns) FILTER (s.is_socket) AS inode, bool_or(s.is_socket) AS is_socket,
    bool_or(s.is_connect) AS is_connect, arg_max(s.began, s.ts_ns) FILTER (s.began IS NOT NULL AND (NOT s.is_of_accepted OR b.is_client IS NOT DISTINCT FROM false)) AS began
  FROM sign AS s
  ASOF JOIN born AS b ON b.upid = s.upid AND b.fd = s.fd AND s.ts_ns >= b.since_ts_ns
  GROUP BY s.upid, s.fd, b.since_ts_ns
), address AS (
  -- The last snapshot in which it was connected; else the last.
  SELECT inode, arg_max(struct_pack(family := family, local_address := local_address, local_port := local_port,
    peer_address := peer_address, peer_port := peer_port, peer_inode := peer_inode), (coalesce(peer_port > 0 OR peer_inode > 0, false), ts_ns, coalesce(fd, -1))) AS ends
  FROM proc_socket
  WHERE inode > 0
  GROUP BY inode
), listener AS (
  SELECT DISTINCT local_port FROM proc_socket WHERE state = 'LISTEN' AND local_port > 0
), socket_end AS (
  SELECT b.upid, b.fd, b.since_ts_ns,
    t.began IS NOT NULL AND a.ends.family IS DISTINCT FROM 'unix' AND coalesce(a.ends.peer_port, 0) = 0 AS is_begun,
    CASE WHEN is_begun THEN CASE t.began.family WHEN 10 THEN 'inet6' ELSE 'inet' END ELSE coalesce(a.ends.family, b.family) END AS family,
    CASE WHEN is_begun THEN t.began.local
      WHEN a.ends.family = 'unix' THEN nullif(a.ends.local_address, '')
      WHEN contains(a.ends.local_address, ':') THEN '[' || a.ends.local_address || ']:' || a.ends.local_port
      ELSE a.ends.local_address || ':' || a.ends.local_port END AS local,
    CASE WHEN is_begun THEN t.began.peer
      WHEN a.ends.family = 'unix' THEN nullif(other.ends.local_address, '')
      WHEN coalesce(a.ends.peer_port, 0) = 0 THEN NULL
      WHEN contains(a.ends.peer_address, ':') THEN '[' || a.ends.peer_address || ']:' || a.ends.peer_port
      ELSE a.ends.peer_address || ':' || a.ends.peer_port END AS peer,
    CASE
      WHEN NOT b.is_client THEN false
      WHEN t.is_connect THEN true
      WHEN mine.local_port IS NOT NULL THEN false
      WHEN coalesce(a.ends.peer_port, 0) = 0 THEN NULL
      WHEN theirs.local_port IS NOT NULL THEN true
      WHEN (a.ends.local_port < 32768) <> (a.ends.peer_port < 32768) THEN a.ends.peer_port < 32768
    END AS is_client
  FROM born AS b
  LEFT JOIN told AS t ON t.upid = b.upid AND t.fd = b.fd AND t.since_ts_ns = b.since_ts_ns
  LEFT JOIN address AS a ON a.inode = t.inode
  LEFT JOIN address AS other ON other.inode = a.ends.peer_inode
  LEFT JOIN listener AS mine ON mine.local_port = a.ends.local_port
  LEFT JOIN listener AS theirs ON theirs.local_port = a.ends.peer_port
  WHERE b.is_socket OR t.is_socket
), moved AS (
  -- Most calls are on other descriptors: these go before anything is sorted.
  SELECT c.upid, c.utid, c.name_id, c.fd, c.name, c.ret, c.ts_ns, c.exit_ts_ns, c.is_write, b.since_ts_ns
  FROM (FROM call SEMI JOIN socket_end USING (upid, fd) WHERE (is_write OR is_read) AND ret > 0) AS c
  ASOF JOIN born AS b ON b.upid = c.upid AND b.fd = c.fd AND c.ts_ns >= b.since_ts_ns
), turn AS (
  SELECT *, count(CASE WHEN NOT is_write THEN 1 END) OVER (
    PARTITION BY upid, fd, since_ts_ns ORDER BY exit_ts_ns, ts_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS turn
  FROM moved
), answer AS (
  SELECT upid, fd, since_ts_ns, turn,
    arg_max(struct_pack(exit_ts_ns := exit_ts_ns, utid := utid, name := name, bytes := ret), (exit_ts_ns, ts_ns))
      FILTER (is_write) AS written,
    count(*) FILTER (is_write) AS write_count,
    @total_where(ret, is_write) AS write_bytes,
    max(struct_pack(exit_ts_ns := exit_ts_ns, name := name, utid := utid, name_id := name_id)) FILTER (NOT is_write) AS got
  FROM turn
  GROUP BY upid, fd, since_ts_ns, turn
), named AS (
  -- The first name of a process also holds for the time before it; names at one time are the last of them.
  SELECT t.upid, n.name_id, CASE WHEN row_number() OVER names = 1 THEN -4611686018427387904 ELSE n.ts_ns END AS since_ts_ns
  FROM process AS p
  JOIN thread AS t ON t.upid = p.upid AND t.tid = p.pid
  JOIN thread_name AS n USING (utid)
  WINDOW names AS (PARTITION BY t.upid ORDER BY n.ts_ns, n.name_id)
  QUALIFY row_number() OVER names = 1 OR lead(n.ts_ns) OVER names IS DISTINCT FROM n.ts_ns
)
SELECT
  a.written.exit_ts_ns AS ts_ns, a.got.exit_ts_ns AS answer_ts_ns, a.got.exit_ts_ns - a.written.exit_ts_ns AS gap_ns,
  a.upid, a.got.utid AS utid, a.got.name_id AS name_id, m.name_id AS process_name_id, a.written.utid AS writer_utid, a.fd,
  nullif(a.since_ts_ns, -4611686018427387904) AS since_ts_ns, s.family, s.local, s.peer, s.is_client,
  a.write_count, a.write_bytes, a.written.bytes AS write_last_bytes, a.written.name AS write_name, a.got.name AS read_name
FROM answer AS a
JOIN socket_end AS s ON s.upid = a.upid AND s.fd = a.fd AND s.since_ts_ns = a.since_ts_ns
ASOF LEFT JOIN named AS m ON m.upid = a.upid AND a.got.exit_ts_ns >= m.since_ts_ns
WHERE a.write_count > 0 AND a.got IS NOT NULL
ORDER BY ts_ns, a.upid, a.fd
