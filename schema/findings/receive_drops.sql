-- receive_drops: Packets arrive and are dropped: the receive buffer of a socket is full
-- condition: a UDP socket of a recorded process dropped 10 datagrams or more between two snapshots, one in a thousand or more of those that it
--   received; or the counters of the host or of a network namespace of recorded processes say so of UDP (RcvbufErrors) or TCP (RcvPruned, OfoPruned, TCPBacklogDrop, TCPRcvQDrop) and
--   no such socket explains it. A warning from one in a hundred, critical from one in ten (as for listen_overflow), else a
--   note. A loss of one in a thousand is the most that ITU-T Y.1541 allows a network (classes 0 to 4). What a socket received are its reads: of a
--   socket that is never read the share is not known, and it is a note
-- means: the network delivered these packets; the program reads too slowly, or in bursts that the buffer cannot hold. A datagram is
--   lost for good: a question to a name server costs 5 s (resolv.conf(5)), a statistic or a log line is missing. TCP sends it again, later
-- next: perfcase view socket: drop_count, recv_queue_bytes and recv_buffer_bytes of each socket at each snapshot
-- next: perfcase view run_queue_latency_by_thread, off_cpu_by_thread: what prevents the reading thread from reading
-- next: raise SO_RCVBUF and net.core.rmem_max for bursts; read with recvmmsg, or in more threads with SO_REUSEPORT
-- taught by: -
-- source: descriptor, network_namespace, proc_net_counter, recorder_thread, socket, syscall, thread
-- evidence: SELECT comm, pid, protocol, local, ts_ns, recv_queue_bytes, recv_buffer_bytes, drop_count FROM socket WHERE drop_count > 0 ORDER BY pid, local, ts_ns, inode, fd
-- judged when: SELECT (SELECT count(DISTINCT snapshot) FROM proc_net_counter WHERE protocol = 'Udp') > 1 OR (SELECT count(DISTINCT snapshot) FROM socket) > 1
-- not judged: what was dropped. It needs two snapshots of /proc/net/snmp or of the sockets; perfcase-record takes them by default
WITH threshold AS (
  SELECT 10 AS drop_count, 0.001 AS note_ratio, 0.01 AS warning_ratio, 0.1 AS critical_ratio, 0.5 AS explained_ratio
), seen AS (
  SELECT netns_inode, inode, ts_ns, any_value(upid) AS upid, any_value(comm) AS comm, any_value(pid) AS pid, any_value(local) AS local, max(drop_count) AS drop_count
  FROM socket
  WHERE protocol = 'udp' AND inode > 0 AND drop_count IS NOT NULL
    AND upid NOT IN (SELECT t.upid FROM recorder_thread JOIN thread AS t USING (utid) WHERE t.upid IS NOT NULL)
  GROUP BY netns_inode, inode, ts_ns
), dropped AS (
  SELECT netns_inode, inode, any_value(upid) AS upid, arg_max(comm, ts_ns) AS comm, any_value(pid) AS pid, arg_max(local, ts_ns) AS local,
    min(ts_ns) AS first_ns, max(ts_ns) AS last_ns, arg_max(drop_count, ts_ns) - arg_min(drop_count, ts_ns) AS drop_count
  FROM seen
  GROUP BY netns_inode, inode
  HAVING arg_max(drop_count, ts_ns) - arg_min(drop_count, ts_ns) > 0
), received AS (
  -- recvmmsg says how many.
  SELECT d.netns_inode, d.inode, sum(CASE WHEN s.name LIKE 'recvmmsg%' THEN s.ret ELSE 1 END) AS received_count
  FROM dropped AS d
  JOIN descriptor AS f ON f.inode = d.inode AND f.kind = 'socket'
  JOIN syscall AS s ON s.descriptor_id = f.descriptor_id AND s.exit_ts_ns BETWEEN d.first_ns AND d.last_ns
  WHERE s.name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg', 'recvmmsg', 'recvmmsg_time64') AND s.ret >= 0
  GROUP BY d.netns_inode, d.inode
), by_address AS (
  -- A process may have hundreds of sockets with one address (SO_REUSEPORT, multicast). Those that are never read are apart.
  SELECT d.upid, max(d.comm) AS comm, max(d.pid) AS pid, d.local, count(*) AS socket_count, min(d.first_ns) AS first_ns, max(d.last_ns) AS last_ns,
    sum(d.drop_count) AS drop_count, sum(r.received_count) AS received_count,
    sum(d.drop_count) / (sum(d.drop_count) + sum(r.received_count)) AS drop_ratio
  FROM dropped AS d
  LEFT JOIN received AS r ON r.inode = d.inode AND r.netns_inode IS NOT DISTINCT FROM d.netns_inode
  GROUP BY d.netns_inode, d.upid, d.local, r.received_count IS NULL
), counter AS (
  SELECT netns_inode, protocol, name, ts_ns, @counter_step(value, lag(value) OVER (PARTITION BY source_id, netns_inode, protocol, name ORDER BY snapshot, ts_ns), 4294967296) AS n
  FROM proc_net_counter
  WHERE protocol = 'Udp' AND name IN ('InDatagrams', 'RcvbufErrors') OR protocol = 'Tcp' AND name = 'InSegs'
    OR protocol = 'TcpExt' AND name IN ('RcvPruned', 'OfoPruned', 'TCPBacklogDrop', 'TCPRcvQDrop')
), by_namespace AS (
  SELECT netns_inode, replace(protocol, 'Ext', '') AS protocol, @total_or_zero(n, name NOT IN ('InDatagrams', 'InSegs')) AS drop_count,
    @total_or_zero(n, name IN ('InDatagrams', 'InSegs')) AS received_count,
    arg_max(name, n) FILTER (name NOT IN ('InDatagrams', 'InSegs')) AS name, max(ts_ns) - min(ts_ns) AS span_ns
  FROM counter
  GROUP BY netns_inode, replace(protocol, 'Ext', '')
), explained AS (
  -- A namespace may have no counters of its own: its sockets are the host's.
  SELECT *, CASE WHEN netns_inode IN (SELECT netns_inode FROM by_namespace) THEN netns_inode END AS counted_inode FROM dropped
), found AS (
  SELECT format('{} ({})', coalesce(comm, '?'), coalesce(pid::VARCHAR, '?')) AS subject, drop_ratio, drop_count,
    format('its {} {} dropped {} datagrams in {:.0f} s{}', CASE socket_count WHEN 1 THEN 'UDP socket' ELSE socket_count || ' UDP sockets' END,
      local, @whole(drop_count), (last_ns - first_ns) / 1e9,
      CASE WHEN received_count IS NULL THEN format(': no read of {} was seen', CASE socket_count WHEN 1 THEN 'it' ELSE 'them' END) ELSE format(', {:.1f} % of all: {} were read', 100 * drop_ratio, @whole(received_count)) END) AS message
  FROM by_address
  UNION ALL
  -- InDatagrams and InSegs do not tell the same: only UDP's leaves out what was dropped.
  SELECT upper(u.protocol) || ' ' || @network_place(u.netns_inode, n.process, n.pid), u.drop_ratio, u.drop_count,
    format('{} {} were dropped because a receive buffer was full, {:.1f} % of all (most in {})', @whole(u.drop_count),
      CASE u.protocol WHEN 'Udp' THEN 'datagrams' ELSE 'segments' END, 100 * u.drop_ratio, u.name)
  FROM (
    SELECT *, CASE protocol WHEN 'Udp' THEN @ratio(drop_count, drop_count::HUGEINT + received_count) ELSE @ratio(drop_count, received_count) END AS drop_ratio
    FROM by_namespace
  ) AS u
  LEFT JOIN network_namespace AS n USING (netns_inode)
  CROSS JOIN threshold AS h
  -- The sockets are read at other moments than the counters: rates, not counts.
  WHERE u.protocol <> 'Udp'
    OR coalesce((SELECT sum(d.drop_count / nullif(d.last_ns - d.first_ns, 0)) FROM explained AS d
      WHERE d.counted_inode IS NOT DISTINCT FROM u.netns_inode), 0) < h.explained_ratio * u.drop_count / nullif(u.span_ns, 0)
)
SELECT
  @severity(f.drop_ratio >= h.critical_ratio, f.drop_ratio >= h.warning_ratio) AS severity, f.subject, f.message,
  CASE WHEN f.drop_ratio > 1 THEN 1 ELSE f.drop_ratio END::DOUBLE AS failed_ratio
FROM found AS f
CROSS JOIN threshold AS h
WHERE f.drop_count >= h.drop_count AND coalesce(f.drop_ratio >= h.note_ratio, true)
