-- tcp_stalls: answers on a socket that came as late as a delayed acknowledgement: Nagle's algorithm, or a lost segment
-- grain: a wait for an answer of 38 to 60 ms, or of 190 to 260 ms: from the last write on a socket to the first bytes read after it
-- source: fd_call, thread
-- caveat: a peer that takes this long to answer looks the same; what tells them apart is that many stalls are of one length, and is_write_write_read: two writes in a row without reading are what Nagle's algorithm holds back
-- caveat: only descriptors known to be sockets (fd_history), unix and netlink sockets left out where that is known
-- diff by: comm, looks_like, peer
-- diff sum: gap_ns, write_count
-- diff weight: 0.8
-- column ts_ns [ns]: when the last write returned
-- column gap_ns [ns]: from then until the answer was read
-- column looks_like: delayed_ack_40ms (Linux's least delay) or delayed_ack_200ms (its longest, other systems' usual one, and Linux's least retransmission timeout)
-- column is_write_write_read: several writes went before the answer, the last one below a full segment
-- column utid: the thread that read the answer
-- column tid: its thread id, a label
-- column pid: its process id, a label
-- column comm: its last name
-- column fd: the socket
-- column local: its own address; NULL when not known
-- column peer: the other end's address; NULL when not known
-- column write_count [count]: writes in a row before the answer
-- column write_bytes [bytes]: bytes of these writes
-- column last_write_bytes [bytes]: bytes of the last of them
-- column write_name: the call of the last write
-- column read_name: the call that read the answer
WITH moved AS (
  SELECT upid, utid, fd, since_ts_ns, local, peer, name, ts_ns, exit_ts_ns, ret,
    name IN ('write', 'writev', 'send', 'sendto', 'sendmsg', 'sendmmsg', 'sendfile', 'sendfile64') AS is_write
  FROM fd_call
  WHERE kind = 'socket' AND ret > 0 AND exit_ts_ns IS NOT NULL
    AND (target IS NULL OR NOT (target LIKE 'unix%' OR target LIKE 'netlink%' OR target LIKE 'packet%'))
    AND name IN ('write', 'writev', 'send', 'sendto', 'sendmsg', 'sendmmsg', 'sendfile', 'sendfile64',
      'read', 'readv', 'recv', 'recvfrom', 'recvmsg', 'recvmmsg')
), turn AS (
  SELECT *, count(*) FILTER (NOT is_write) OVER (
    PARTITION BY upid, fd, since_ts_ns ORDER BY exit_ts_ns, ts_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS turn
  FROM moved
), answer AS (
  SELECT upid, fd, since_ts_ns, turn,
    arg_max(struct_pack(exit_ts_ns := exit_ts_ns, name := name, bytes := ret), (exit_ts_ns, ts_ns)) FILTER (is_write) AS written,
    count(*) FILTER (is_write) AS write_count,
    sum(ret) FILTER (is_write) AS write_bytes,
    max(struct_pack(exit_ts_ns := exit_ts_ns, name := name, utid := utid, local := local, peer := peer))
      FILTER (NOT is_write) AS got
  FROM turn
  GROUP BY upid, fd, since_ts_ns, turn
), gap AS (
  SELECT *, got.exit_ts_ns - written.exit_ts_ns AS gap_ns FROM answer WHERE write_count > 0 AND got IS NOT NULL
)
SELECT
  g.written.exit_ts_ns AS ts_ns, g.gap_ns,
  CASE WHEN g.gap_ns < 100000000 THEN 'delayed_ack_40ms' ELSE 'delayed_ack_200ms' END AS looks_like,
  g.write_count > 1 AND g.written.bytes < 1448 AS is_write_write_read,
  t.utid, t.tid, t.pid, t.comm, g.fd, g.got.local AS local, g.got.peer AS peer,
  g.write_count, g.write_bytes::BIGINT AS write_bytes, g.written.bytes AS last_write_bytes,
  g.written.name AS write_name, g.got.name AS read_name
FROM gap AS g
JOIN thread AS t ON t.utid = g.got.utid
WHERE g.gap_ns BETWEEN 38000000 AND 60000000 OR g.gap_ns BETWEEN 190000000 AND 260000000
ORDER BY g.gap_ns DESC, ts_ns, t.utid, g.fd
