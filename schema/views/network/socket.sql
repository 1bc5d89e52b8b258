-- socket: the sockets of the recorded processes with their queues, round-trip times and retransmissions, as ss -tuxipn prints them
-- grain: a snapshot × socket × descriptor that holds it
-- source: proc_socket, process_name
-- caveat: it has the sockets of every network namespace that a recorded process is in; unless the whole host was recorded, only sockets that a recorded process has open
-- caveat: for a listening socket, recv_queue_bytes is the number of connections that wait to be accepted, send_queue_bytes how many may wait
-- caveat: counts are totals since the connection began; retransmit_ratio is a share of the segments that it sent
-- diff by: comm, protocol, state
-- diff level: recv_queue_bytes, send_queue_bytes
-- diff mean: rtt_ns
-- as in proc_socket: ts_ns, snapshot, netns_inode, upid, pid
-- column comm: its name at the snapshot
-- as in proc_socket: fd, family, protocol, state
-- column local: address and port, or the name of a unix socket
-- column peer: address and port of the other end
-- as in proc_socket: inode
-- column recv_queue_bytes [bytes]: bytes received that the process has not read yet: many bytes mean that the process is slow
-- column send_queue_bytes [bytes]: bytes sent that are not acknowledged yet: many bytes mean that the network or the other end is slow
-- as in proc_socket: recv_buffer_bytes, send_buffer_bytes, drop_count, rtt_ns, rttvar_ns, rtt_min_ns, rto_ns, ato_ns, retransmit_count, segment_sent_count
-- column retransmit_ratio [ratio]: retransmit_count as a share of segment_sent_count
-- as in proc_socket: lost_count, unacknowledged_count, congestion_window_count, mss_bytes, sent_bytes, received_bytes, delivery_rate_bytes_per_s,
--   busy_ns
-- column receiver_limited_ratio [ratio]: the part of busy_ns in which the other end's window was the limit
-- column buffer_limited_ratio [ratio]: the part of busy_ns in which the send buffer was the limit
-- as in proc_socket: since_send_ns, since_receive_ns, timer, timer_ns, congestion_control
SELECT
  s.ts_ns, s.snapshot, s.netns_inode, s.upid, s.pid, p.name AS comm, s.fd, s.family, s.protocol, s.state,
  CASE s.family WHEN 'unix' THEN s.local_address WHEN 'inet6' THEN '[' || s.local_address || ']:' || s.local_port
    ELSE s.local_address || ':' || s.local_port END AS local,
  CASE s.family WHEN 'inet6' THEN '[' || s.peer_address || ']:' || s.peer_port
    ELSE s.peer_address || ':' || s.peer_port END AS peer,
  s.inode, s.recv_queue_bytes, s.send_queue_bytes, s.recv_buffer_bytes, s.send_buffer_bytes, s.drop_count,
  s.rtt_ns, s.rttvar_ns, s.rtt_min_ns, s.rto_ns, s.ato_ns, s.retransmit_count, s.segment_sent_count,
  @ratio(s.retransmit_count, s.segment_sent_count) AS retransmit_ratio,
  s.lost_count, s.unacknowledged_count, s.congestion_window_count, s.mss_bytes, s.sent_bytes, s.received_bytes,
  s.delivery_rate_bytes_per_s, s.busy_ns, @ratio(s.receiver_limited_ns, s.busy_ns) AS receiver_limited_ratio,
  @ratio(s.buffer_limited_ns, s.busy_ns) AS buffer_limited_ratio,
  s.since_send_ns, s.since_receive_ns, s.timer, s.timer_ns, s.congestion_control
FROM proc_socket AS s
ASOF LEFT JOIN process_name AS p ON p.upid = s.upid AND p.since_ts_ns <= s.ts_ns
ORDER BY s.source_id, s.snapshot, s.netns_inode, s.family, s.protocol, s.local_port, s.local_address, s.peer_port,
  s.peer_address, s.inode, s.pid, s.fd, s.state
