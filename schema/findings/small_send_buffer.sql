-- small_send_buffer: Answers are sent in small pieces: the send buffer of the socket is small
-- condition: on TCP connections of a process to one other end, whose send buffer (SO_SNDBUF) had less than 64 KiB in each snapshot, the kernel counted that this buffer was the limit
--   (tcpi_sndbuf_limited) for a tenth or more of the time that data were under way from the first snapshot to the last, the other end's window for less; and threads slept in writes to
--   this end for a tenth of the recording or more. Linux lets the buffer grow with the congestion window unless the program sets its size (tcp(7), tcp_wmem). Critical from half of the recording
-- means: on a way that takes a round trip R no more than the buffer goes out in R, however wide the way is: the product of bandwidth and delay (RFC 7323, 1.1). The thread sleeps in its write until the
--   other end has acknowledged what went before
-- next: do not set SO_SNDBUF (sndbuf of nginx, tune.sndbuf of HAProxy), or set it to the bandwidth times the round trip or more
-- next: perfcase view socket: send_buffer_bytes, rtt_ns and buffer_limited_ratio
-- next: sysctl net.ipv4.tcp_wmem, net.ipv4.tcp_mem, if the program does not set it
-- about: the peer, and the requests at the address of this end
-- taught by: -
-- source: descriptor, process, recorded_span, socket, syscall, workload_thread
-- evidence: SELECT comm, pid, local, peer, max(send_buffer_bytes) AS send_buffer_bytes, max(rtt_ns) AS rtt_ns, max(buffer_limited_ratio) AS buffer_limited_ratio
--   FROM socket WHERE protocol = 'tcp' AND state = 'ESTAB' GROUP BY ALL ORDER BY send_buffer_bytes, comm, pid, local, peer
-- judged when: SELECT count(DISTINCT snapshot) > 1 FROM socket WHERE busy_ns IS NOT NULL
-- not judged: how long the send buffer was the limit, at two snapshots; perfcase-record takes them on Linux 4.9 and later
WITH threshold AS (
  SELECT 65536 AS buffer_bytes, 0.1 AS limited_ratio, 0.1 AS recording_ratio, 0.5 AS critical_ratio
), listed AS (
  SELECT upid, netns_inode, inode, @plain_address(local) AS local, @plain_address(peer) AS peer, snapshot, max(send_buffer_bytes) AS buffer_bytes, max(busy_ns) AS busy_ns,
    max(CASE WHEN busy_ns > 0 THEN busy_ns * buffer_limited_ratio ELSE 0 END) AS limited_ns,
    max(CASE WHEN busy_ns > 0 THEN busy_ns * receiver_limited_ratio ELSE 0 END) AS window_ns, max(rtt_ns) AS rtt_ns
  FROM socket
  WHERE protocol = 'tcp' AND state = 'ESTAB' AND upid IN (SELECT upid FROM workload_thread)
  GROUP BY upid, netns_inode, inode, local, peer, snapshot
), small AS (
  SELECT upid, local, peer, max(buffer_bytes) AS buffer_bytes, max(busy_ns) - min(busy_ns) AS busy_ns, max(limited_ns) - min(limited_ns) AS limited_ns, median(rtt_ns) AS rtt_ns
  FROM listed
  GROUP BY upid, netns_inode, inode, local, peer
  HAVING max(buffer_bytes) < (SELECT buffer_bytes FROM threshold) AND max(limited_ns) - min(limited_ns) >= (SELECT limited_ratio FROM threshold) * (max(busy_ns) - min(busy_ns))
    AND max(limited_ns) - min(limited_ns) > max(window_ns) - min(window_ns)
), called AS (
  SELECT upid, sum(call_count) AS call_count, sum(write_ns) AS write_ns
  FROM (
    SELECT d.upid, d.descriptor_id, count(*) AS call_count, sum(s.duration_ns) AS write_ns
    FROM descriptor AS d
    JOIN syscall AS s USING (descriptor_id)
    WHERE d.upid IN (SELECT upid FROM small) AND s.name IN ('write', 'writev', 'send', 'sendto', 'sendmsg', 'sendmmsg', 'sendfile', 'sendfile64', 'splice')
      AND EXISTS (FROM small AS k WHERE k.upid = d.upid AND k.peer = @plain_address(d.peer) AND k.local = coalesce(@plain_address(d.local), k.local))
    GROUP BY d.upid, d.descriptor_id
  )
  GROUP BY upid
), total AS (
  SELECT upid, count(*) AS socket_count, max(buffer_bytes) AS buffer_bytes, sum(limited_ns) / sum(busy_ns) AS limited_ratio, median(rtt_ns) AS rtt_ns,
    arg_max(peer, (limited_ns, peer)) AS peer, list_sort(list(DISTINCT 'peer ' || local) || list(DISTINCT 'requests of ' || local)) AS about
  FROM small
  GROUP BY upid
)
SELECT
  @severity(w.write_ns >= h.critical_ratio * c.duration_ns, true) AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{:,} writes to {}{} took {:.2f} s, {:.1f} ms on average: the send buffer of {} has {}, and was the limit for {:.1f} % of the time that data were under way{}', @whole(w.call_count), t.peer,
    CASE t.socket_count WHEN 1 THEN '' ELSE format(' and {} more', t.socket_count - 1) END, w.write_ns / 1e9, w.write_ns / w.call_count / 1e6,
    CASE t.socket_count WHEN 1 THEN 'its socket' ELSE format('its {} sockets', t.socket_count) END, @size(t.buffer_bytes), 100 * t.limited_ratio,
    coalesce(format('; there and back takes {:.1f} ms', t.rtt_ns / 1e6), '')) AS message,
  @whole(w.write_ns) AS cost_ns, t.about
FROM total AS t
JOIN called AS w USING (upid)
JOIN process AS p USING (upid)
CROSS JOIN threshold AS h
JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
WHERE w.write_ns >= h.recording_ratio * c.duration_ns
