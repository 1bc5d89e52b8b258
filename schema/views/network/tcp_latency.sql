-- tcp_latency: each TCP connection's round-trip time, retransmissions and queues, from snapshots of sockets and from tracepoints
-- grain: a connection (its two ends) in a network namespace
-- source: proc_socket, tcp_event, process_name
-- caveat: round-trip times are the kernel's smoothed ones (srtt), also of the last segments before a snapshot; rtt_min_ns is the smallest single one that the kernel remembers
-- caveat: without tcp_probe (perfcase record --with tcp) there is one reading per snapshot; a connection that lived between two snapshots is seen by tracepoints only, without its process and namespace
-- caveat: each end of a connection within the host has a row of its own
-- caveat: retransmissions by tracepoint are those of the capture; snapshots also know the total since the connection began
-- diff by: process, peer_address
-- diff sum: rtt_count, retransmit_count, sent_bytes, received_bytes
-- diff mean: rtt_avg_ns by rtt_count
-- diff max: rtt_max_ns
-- diff weight: 0.75
-- column netns_inode: network namespace; NULL where only tracepoints know the connection
-- column upid: the process that holds the socket; if several do, the first
-- keys: pid
-- column process: its name at the last snapshot that has the connection
-- as in tcp_event: local_address, local_port, peer_address, peer_port
-- column state: as ss prints it, at the last snapshot
-- column rtt_count [count]: readings of the round-trip time
-- column rtt_avg_ns [ns]: mean round-trip time
-- column rtt_p99_ns [ns]: 99th percentile: 99 of 100 readings were no longer
-- column rtt_max_ns [ns]: the longest round-trip time
-- column rtt_max_ts_ns [ns]: when the longest round-trip time was read
-- column rtt_min_ns [ns]: smallest round-trip time in the kernel's window, over all snapshots
-- column rttvar_max_ns [ns]: the largest mean deviation
-- column retransmit_count [count]: segments sent again in the capture; NULL if neither two snapshots nor tracepoints show it
-- column connection_retransmit_count [count]: segments sent again since the connection began
-- column lost_count [count]: most segments that counted as lost at a snapshot
-- column send_queue_max_bytes [bytes]: most bytes sent and not yet acknowledged at a snapshot
-- column recv_queue_max_bytes [bytes]: most bytes received and not yet read at a snapshot: the process is slow to read
-- column sent_bytes [bytes]: bytes sent between the first and the last snapshot
-- column received_bytes [bytes]: bytes received between the first and the last snapshot
-- column receiver_limited_ns [ns]: time between the first and the last snapshot in which the other end's window was the limit
WITH socket AS (
  -- A socket that several descriptors hold is one.
  SELECT netns_inode, local_address, local_port, peer_address, peer_port, source_id, snapshot,
    min(ts_ns) AS ts_ns, min(upid) AS upid, max(state) AS state, max(rtt_ns) AS rtt_ns, max(rtt_min_ns) AS rtt_min_ns,
    max(rttvar_ns) AS rttvar_ns, max(retransmit_count) AS retransmit_count, max(lost_count) AS lost_count,
    max(send_queue_bytes) AS send_queue_bytes, max(recv_queue_bytes) AS recv_queue_bytes, max(sent_bytes) AS sent_bytes,
    max(received_bytes) AS received_bytes, max(receiver_limited_ns) AS receiver_limited_ns
  FROM proc_socket
  WHERE protocol = 'tcp' AND peer_port > 0 AND state <> 'LISTEN'
  GROUP BY ALL
), known AS (
  SELECT local_address, local_port, peer_address, peer_port,
    CASE WHEN count(DISTINCT netns_inode) = 1 THEN max(netns_inode) END AS netns_inode
  FROM socket
  GROUP BY ALL
), reading AS (
  SELECT netns_inode, local_address, local_port, peer_address, peer_port, ts_ns, rtt_ns, 0 AS is_retransmission, 0 AS is_event
  FROM socket
  UNION ALL
  SELECT k.netns_inode, e.local_address, e.local_port, e.peer_address, e.peer_port, e.ts_ns, e.rtt_ns,
    CASE e.event WHEN 'retransmitted' THEN 1 ELSE 0 END, 1
  FROM tcp_event AS e
  LEFT JOIN known AS k ON k.local_address = e.local_address AND k.local_port = e.local_port
    AND k.peer_address = e.peer_address AND k.peer_port = e.peer_port
), told AS (
  SELECT count(*) FILTER (event = 'retransmitted') > 0 AS retransmissions FROM tcp_event
), over_time AS (
  SELECT netns_inode, local_address, local_port, peer_address, peer_port,
    count(rtt_ns) AS rtt_count, avg(rtt_ns) AS rtt_avg_ns, quantile_disc(rtt_ns, 0.99) AS rtt_p99_ns, max(rtt_ns) AS rtt_max_ns,
    arg_max(ts_ns, (rtt_ns, -ts_ns)) FILTER (rtt_ns IS NOT NULL) AS rtt_max_ts_ns, @total(is_retransmission) AS retransmissions
  FROM reading
  GROUP BY ALL
), state AS (
  SELECT netns_inode, local_address, local_port, peer_address, peer_port,
    arg_max(upid, ts_ns) AS upid, max(ts_ns) AS last_ts_ns, arg_max(state, ts_ns) AS state, min(rtt_min_ns) AS rtt_min_ns, max(rttvar_ns) AS rttvar_max_ns,
    max(retransmit_count) AS total, CASE WHEN count(*) > 1 THEN max(retransmit_count) - min(retransmit_count) END AS gained,
    max(lost_count) AS lost_count, max(send_queue_bytes) AS send_queue_max_bytes, max(recv_queue_bytes) AS recv_queue_max_bytes,
    CASE WHEN count(*) > 1 THEN max(sent_bytes) - min(sent_bytes) END AS sent_bytes,
    CASE WHEN count(*) > 1 THEN max(received_bytes) - min(received_bytes) END AS received_bytes,
    CASE WHEN count(*) > 1 THEN max(receiver_limited_ns) - min(receiver_limited_ns) END AS receiver_limited_ns
  FROM socket
  GROUP BY ALL
)
SELECT
  o.netns_inode, s.upid, p.pid, p.name AS process, o.local_address, o.local_port, o.peer_address, o.peer_port, s.state,
  o.rtt_count, o.rtt_avg_ns, o.rtt_p99_ns, o.rtt_max_ns, o.rtt_max_ts_ns, s.rtt_min_ns, s.rttvar_max_ns,
  greatest(CASE WHEN t.retransmissions THEN o.retransmissions END, s.gained)::BIGINT AS retransmit_count,
  s.total AS connection_retransmit_count,
  s.lost_count, s.send_queue_max_bytes, s.recv_queue_max_bytes, s.sent_bytes, s.received_bytes, s.receiver_limited_ns
FROM over_time AS o
CROSS JOIN told AS t
LEFT JOIN state AS s ON s.netns_inode IS NOT DISTINCT FROM o.netns_inode AND s.local_address = o.local_address
  AND s.local_port = o.local_port AND s.peer_address = o.peer_address AND s.peer_port = o.peer_port
ASOF LEFT JOIN process_name AS p ON p.upid = s.upid AND p.since_ts_ns <= s.last_ts_ns
ORDER BY o.rtt_max_ns DESC, o.local_address, o.local_port, o.peer_address, o.peer_port, o.netns_inode
