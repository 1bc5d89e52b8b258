-- small_receive_buffer: Answers come in small pieces: the receive buffer of the socket is small
-- condition: on TCP connections of a process to one other end, whose receive buffer (SO_RCVBUF) had less than 64 KiB in each snapshot, 20 answers or more had four times as
--   many bytes as the buffer on average, and were read in four pieces or more each; from the first piece of each to the last passed a tenth of the recording or more, all together.
--   Not where a quarter of the buffer or more was full at half of the snapshots: then the process reads slowly. Linux begins with net.ipv4.tcp_rmem's second number (128 KiB), and lets
--   the buffer grow unless the program sets its size (tcp(7)); 64 KiB are what a window without scaling can have (RFC 7323). Critical from half of the recording
-- means: the other end may send as much as there is room for, and then waits until it hears that there is room again: each piece costs a round trip and a wake-up on both sides,
--   and the segments get small (RFC 9293, 3.8.6.2.2: half of the buffer at most)
-- next: do not set SO_RCVBUF, or set it to the bandwidth times the round trip or more; it must be set before connect
-- next: perfcase view socket: recv_buffer_bytes, and mss_bytes at the other end
-- next: sysctl net.ipv4.tcp_rmem, net.ipv4.tcp_mem, if the program does not set it
-- about: the peer
-- taught by: -
-- source: descriptor, process, recorded_span, socket, syscall, workload_thread
-- evidence: SELECT comm, pid, local, peer, max(recv_buffer_bytes) AS recv_buffer_bytes, max(recv_queue_bytes) AS recv_queue_bytes, max(received_bytes) AS received_bytes
--   FROM socket WHERE protocol = 'tcp' AND state = 'ESTAB' GROUP BY ALL ORDER BY recv_buffer_bytes, comm, pid, local, peer
-- judged when: SELECT count(recv_buffer_bytes) > 0 FROM socket WHERE protocol = 'tcp'
-- not judged: the sizes of receive buffers. It needs a snapshot of the sockets; perfcase-record takes them by default
WITH threshold AS (
  SELECT 65536 AS buffer_bytes, 4 AS times_buffer, 4 AS piece_count, 20 AS answer_count, 0.25 AS queue_ratio, 0.1 AS recording_ratio, 0.5 AS critical_ratio
), small AS (
  SELECT s.upid, @plain_address(s.local) AS local, @plain_address(s.peer) AS peer, max(s.recv_buffer_bytes) AS buffer_bytes
  FROM socket AS s
  CROSS JOIN threshold AS h
  WHERE s.protocol = 'tcp' AND s.state = 'ESTAB' AND s.upid IN (SELECT upid FROM workload_thread)
  GROUP BY ALL
  HAVING max(s.recv_buffer_bytes) < any_value(h.buffer_bytes) AND median(s.recv_queue_bytes) < any_value(h.queue_ratio) * max(s.recv_buffer_bytes)
), said AS (
  SELECT k.upid, k.peer, k.buffer_bytes, s.descriptor_id, s.exit_ts_ns, s.ret, starts_with(s.name, 'r') AS is_read,
    -- How many questions came before it.
    sum(CASE WHEN starts_with(s.name, 'r') THEN 0 ELSE 1 END) OVER (PARTITION BY s.descriptor_id ORDER BY s.ts_ns, s.utid) AS turn
  FROM small AS k
  JOIN descriptor AS d ON d.upid = k.upid AND @plain_address(d.local) = k.local AND @plain_address(d.peer) = k.peer
  JOIN syscall AS s ON s.descriptor_id = d.descriptor_id
  WHERE s.ret > 0 AND s.name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg', 'write', 'writev', 'send', 'sendto', 'sendmsg', 'sendmmsg', 'sendfile', 'sendfile64')
), answer AS (
  SELECT upid, peer, descriptor_id, buffer_bytes, sum(ret) AS bytes, count(*) AS piece_count, max(exit_ts_ns) - min(exit_ts_ns) AS took_ns
  FROM said
  WHERE is_read
  GROUP BY upid, peer, descriptor_id, buffer_bytes, turn
), total AS (
  SELECT upid, peer, max(buffer_bytes) AS buffer_bytes, count(DISTINCT descriptor_id) AS socket_count, count(*) AS answer_count, avg(bytes) AS bytes, avg(piece_count) AS piece_count,
    avg(took_ns) AS took_avg_ns, sum(took_ns) AS took_ns
  FROM answer
  GROUP BY upid, peer
)
SELECT
  @severity(t.took_ns >= h.critical_ratio * c.duration_ns, true) AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} answers of {} had {} on average and came in {:.1f} pieces each, {:.2f} ms from the first to the last: the receive buffer of {} has {}', @whole(t.answer_count),
    t.peer, @size(t.bytes), t.piece_count, t.took_avg_ns / 1e6, CASE t.socket_count WHEN 1 THEN 'its socket' ELSE format('its {} sockets', @whole(t.socket_count)) END, @size(t.buffer_bytes)) AS message,
  @whole(t.took_ns) AS cost_ns, ['peer ' || t.peer] AS about
FROM total AS t
JOIN process AS p USING (upid)
CROSS JOIN threshold AS h
JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
WHERE t.answer_count >= h.answer_count AND t.bytes >= h.times_buffer * t.buffer_bytes AND t.piece_count >= h.piece_count AND t.took_ns >= h.recording_ratio * c.duration_ns
