-- connections_not_kept: A process connects again for each question or two: the handshakes take the time of round trips
-- condition: of the TCP connections that a process began to one other end, 20 or more were made, in a millisecond or more on average (the kernel of the
--   other end answers at once: that is the distance), and it asked two questions or fewer on each. At any moment a tenth of such a connection or more was being made, and
--   that was 30 % or more of the time that connections and answers took. Not where one took a second or longer: its SYN was lost or dropped and sent again (RFC 6298),
--   which is another thing. RFC 9293, 3.5: a connection is made in a round trip; RFC 9112, 9.3: connections that are kept save it. A warning
-- means: each question costs a round trip more than it must, and two with TLS. The other end begins slowly on each (RFC 6928), and has to accept
--   it, or even to start a process for it
-- next: keep connections and use them again: a pool, keep-alive, a pooler such as PgBouncer
-- next: perfcase view connection: how many were made to which end, and how long the handshakes took
-- next: perfcase view socket_answer: the questions on them
-- about: the peer
-- taught by: -
-- source: connection, process, recorded_span, socket_turn, workload_thread
-- evidence: SELECT process, pid, peer_address, peer_port, connected_count, handshake_avg_ns, handshake_max_ns FROM connection ORDER BY connected_count DESC, process, pid, peer_address, peer_port
WITH threshold AS (
  SELECT 20 AS connection_count, 1000000 AS handshake_ns, 2 AS question_count, 0.1 AS making, 0.3 AS share_ratio, 1000000000 AS again_ns
), made AS (
  SELECT upid, format(CASE WHEN contains(peer_address, ':') THEN '[{}]:{}' ELSE '{}:{}' END, peer_address, peer_port) AS peer, connected_count, handshake_avg_ns,
    connected_count * handshake_avg_ns AS handshake_ns
  FROM connection
  CROSS JOIN threshold AS h
  WHERE connected_count >= h.connection_count AND handshake_avg_ns >= h.handshake_ns AND handshake_max_ns < h.again_ns AND upid IN (SELECT upid FROM workload_thread)
), asked AS (
  SELECT upid, peer, count(*) AS question_count, sum(gap_ns) AS answer_ns
  FROM socket_turn
  WHERE is_client AND upid IN (SELECT upid FROM made)
  GROUP BY upid, peer
)
SELECT
  'warning' AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} connections to {}, with {:.1f} questions on each: the handshake took {:.2f} ms on average, an answer {:.2f} ms; {:.1f} % of this time went by until there was a connection', @whole(m.connected_count), m.peer,
    a.question_count / m.connected_count, m.handshake_avg_ns / 1e6, a.answer_ns / a.question_count / 1e6, 100 * m.handshake_ns / (m.handshake_ns + a.answer_ns)) AS message,
  @whole(m.handshake_ns) AS cost_ns, ['peer ' || m.peer] AS about
FROM made AS m
JOIN asked AS a USING (upid, peer)
JOIN process AS p USING (upid)
CROSS JOIN threshold AS h
JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
WHERE a.question_count <= h.question_count * m.connected_count AND m.handshake_ns >= h.making * c.duration_ns
  AND m.handshake_ns >= h.share_ratio * (m.handshake_ns + a.answer_ns)
