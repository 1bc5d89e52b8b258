-- socket: the sockets of the recorded processes with their queues, round-trip times and retransmissions, as ss -tuxipn prints them
-- grain: a snapshot × socket × descriptor that holds it
-- source: proc_socket, process_name
-- caveat: it has the sockets of every network namespace that a recorded process is in; unless the whole host was recorded, only sockets that a recorded process has open
-- caveat: recv_queue_bytes of a listening socket is the number of connections that wait to be accepted, send_queue_bytes how many may
-- caveat: counts are totals since the connection began; retransmit_ratio is a share of the segments that it sent
-- diff by: comm, protocol, state
-- diff level: recv_queue_bytes, send_queue_bytes
-- diff mean: rtt_ns
-- column ts_ns [ns]: when the namespace's sockets were listed
-- column snapshot: number of the snapshot, within its source
-- column netns_inode: the network namespace; NULL: not known, from ss's text or copies of /proc/net
-- column upid: the process that holds it; NULL when no recorded one does
-- column pid: its process id
-- column comm: its name then
-- column fd: its descriptor
-- column family: inet, inet6 or unix
-- column protocol: tcp, udp; stream, dgram, seqpacket for unix sockets
-- column state: ESTAB, LISTEN, UNCONN, … as ss prints it
-- column local: address and port, or the name of a unix socket
-- column peer: address and port of the other end
-- column inode: the socket's inode
-- column recv_queue_bytes [bytes]: received and not yet read by the process: the process is slow
-- column send_queue_bytes [bytes]: sent and not yet acknowledged: the network or the other end is slow
-- column recv_buffer_bytes [bytes]: limit of the receive buffer
-- column send_buffer_bytes [bytes]: limit of the send buffer
-- column drop_count [count]: packets dropped as the receive buffer was full
-- column rtt_ns [ns]: smoothed round-trip time
-- column rttvar_ns [ns]: its mean deviation
-- column rtt_min_ns [ns]: the least in the kernel's window
-- column rto_ns [ns]: retransmission timeout
-- column retransmit_count [count]: segments sent again
-- column segment_sent_count [count]: segments sent
-- column retransmit_ratio [ratio]: retransmit_count as a share of segment_sent_count
-- column lost_count [count]: segments in flight that are taken for lost
-- column unacknowledged_count [count]: segments in flight
-- column congestion_window_count [count]: congestion window, in segments
-- column mss_bytes [bytes]: segment size
-- column sent_bytes [bytes]: bytes sent
-- column received_bytes [bytes]: bytes received
-- column delivery_rate_bytes_per_s [bytes/s]: most recent estimate of the rate at which data reached the other end
-- column busy_ns [ns]: time with data to send
-- column receiver_limited_ratio [ratio]: the part of busy_ns in which the other end's window was the limit
-- column buffer_limited_ratio [ratio]: the part of busy_ns in which the send buffer was the limit
-- column since_send_ns [ns]: since data were sent last
-- column since_receive_ns [ns]: since data were received last
-- column timer: the timer that runs: on (retransmission), keepalive, timewait, persist
-- column timer_ns [ns]: when it fires
-- column congestion_control: the algorithm
SELECT
  s.ts_ns, s.snapshot, s.netns_inode, s.upid, s.pid, p.name AS comm, s.fd, s.family, s.protocol, s.state,
  CASE s.family WHEN 'unix' THEN s.local_address WHEN 'inet6' THEN '[' || s.local_address || ']:' || s.local_port
    ELSE s.local_address || ':' || s.local_port END AS local,
  CASE s.family WHEN 'inet6' THEN '[' || s.peer_address || ']:' || s.peer_port
    ELSE s.peer_address || ':' || s.peer_port END AS peer,
  s.inode, s.recv_queue_bytes, s.send_queue_bytes, s.recv_buffer_bytes, s.send_buffer_bytes, s.drop_count,
  s.rtt_ns, s.rttvar_ns, s.rtt_min_ns, s.rto_ns, s.retransmit_count, s.segment_sent_count,
  s.retransmit_count / nullif(s.segment_sent_count, 0) AS retransmit_ratio,
  s.lost_count, s.unacknowledged_count, s.congestion_window_count, s.mss_bytes, s.sent_bytes, s.received_bytes,
  s.delivery_rate_bytes_per_s, s.busy_ns, s.receiver_limited_ns / nullif(s.busy_ns, 0) AS receiver_limited_ratio,
  s.buffer_limited_ns / nullif(s.busy_ns, 0) AS buffer_limited_ratio,
  s.since_send_ns, s.since_receive_ns, s.timer, s.timer_ns, s.congestion_control
FROM proc_socket AS s
ASOF LEFT JOIN process_name AS p ON p.upid = s.upid AND p.since_ts_ns <= s.ts_ns
ORDER BY s.source_id, s.snapshot, s.netns_inode, s.family, s.protocol, s.local_port, s.local_address, s.peer_port,
  s.peer_address, s.inode, s.pid, s.fd, s.state
