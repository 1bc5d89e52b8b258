-- local_ports: The local ports for connections to one peer are nearly used up
-- condition: at a snapshot, 80 % or more of the ports in net.ipv4.ip_local_port_range (28,232 by default) were in use for connections from one address
--   to one peer, those in TIME-WAIT included (they are listed where the whole host is recorded). Where the kernel may use a port in TIME-WAIT again after
--   a second (net.ipv4.tcp_tw_reuse: 1, or 2 and the peer is a loopback address) only the others count. Or three connects of a
--   process or more failed with EADDRNOTAVAIL while the TCP sockets of its network namespace, those in TIME-WAIT included, were 80 % of the range or more. Critical if half of its
--   connects failed. ip-sysctl.rst of the kernel describes the settings; TIME-WAIT lasts 60 s (TCP_TIMEWAIT_LEN)
-- means: when no port is left, connect fails at once with EADDRNOTAVAIL, and the kernel needs longer and longer to find a free one
--   before that. The end that closes first keeps the port for a minute
-- next: perfcase view syscall_error: connects that failed, and when the first did
-- next: perfcase view socket: connections by state and peer
-- next: keep connections open and use them again (a pool, keep-alive), or use more local or peer addresses; a wider ip_local_port_range only helps for a while
-- taught by: -
-- source: machine_fact, proc_command, proc_socket, proc_sockstat, process, syscall, workload_thread
-- evidence: SELECT netns_inode, ts_ns, protocol, name, value FROM proc_sockstat WHERE protocol = 'TCP' AND name IN ('inuse', 'orphan', 'tw', 'alloc')
--   ORDER BY netns_inode NULLS FIRST, ts_ns, name
-- judged when: SELECT EXISTS (FROM proc_sockstat WHERE name = 'tw') OR EXISTS (FROM proc_socket WHERE protocol = 'tcp')
-- not judged: the sockets. It needs a snapshot of /proc/net/sockstat or of the sockets; perfcase-record takes them by default
WITH threshold AS (
  SELECT 0.8 AS port_ratio, 3 AS failed_count, 0.5 AS critical_ratio
), told AS (
  SELECT max(value) FILTER (key = 'sysctl.net.ipv4.ip_local_port_range') AS ports, TRY_CAST(max(value) FILTER (key = 'sysctl.net.ipv4.tcp_tw_reuse') AS BIGINT) AS reuse
  FROM machine_fact
), setting AS (
  SELECT least_port, most_port, most_port - least_port + 1 AS port_count, reuse
  FROM (
    SELECT coalesce(TRY_CAST(regexp_extract(ports, '^([0-9]+)', 1) AS BIGINT), 32768) AS least_port,
      coalesce(TRY_CAST(regexp_extract(ports, '([0-9]+)$', 1) AS BIGINT), 60999) AS most_port, coalesce(reuse, 2) AS reuse
    FROM told
  )
  WHERE least_port BETWEEN 1 AND most_port AND most_port < 65536
), place AS (
  SELECT p.source_id, p.snapshot, p.netns_inode, p.local_address, p.local_port, p.state, p.peer_address,
    CASE p.family WHEN 'inet6' THEN '[' || p.peer_address || ']:' || p.peer_port ELSE p.peer_address || ':' || p.peer_port END AS peer,
    s.reuse = 1 OR s.reuse = 2 AND regexp_matches(p.peer_address, '^(127\.|::1$|::ffff:127\.)') AS is_reused
  FROM proc_socket AS p
  CROSS JOIN setting AS s
  WHERE p.protocol = 'tcp' AND p.state <> 'LISTEN' AND p.local_port BETWEEN s.least_port AND s.most_port
), taken AS (
  SELECT peer, max(used_count) AS used_count, arg_max(waiting_count, used_count) AS waiting_count
  FROM (
    SELECT peer, snapshot, count(DISTINCT local_port) FILTER (state <> 'TIME-WAIT' OR NOT is_reused) AS used_count,
      count(DISTINCT local_port) FILTER (state = 'TIME-WAIT') AS waiting_count
    FROM place
    GROUP BY source_id, snapshot, netns_inode, local_address, peer
  )
  GROUP BY peer
), failed AS (
  SELECT t.upid, count(*) AS connect_count, count(*) FILTER (s.errno_name = 'EADDRNOTAVAIL') AS failed_count
  FROM syscall AS s
  JOIN workload_thread AS t USING (utid)
  WHERE s.name = 'connect' AND s.ret IS NOT NULL
  GROUP BY t.upid
  HAVING count(*) FILTER (s.errno_name = 'EADDRNOTAVAIL') >= (SELECT failed_count FROM threshold)
), counted AS (
  SELECT netns_inode, max(used_count) AS used_count, arg_max(waiting_count, used_count) AS waiting_count
  FROM (
    SELECT netns_inode, sum(value) AS used_count, max(value) FILTER (name = 'tw') AS waiting_count
    FROM proc_sockstat
    WHERE protocol = 'TCP' AND name IN ('inuse', 'tw')
    GROUP BY source_id, snapshot, netns_inode
  )
  GROUP BY netns_inode
), member AS (
  SELECT upid, arg_max(netns_inode, ts_ns) AS netns_inode
  FROM proc_command
  WHERE netns_inode IN (SELECT netns_inode FROM counted)
  GROUP BY upid
), found AS (
  SELECT false AS is_critical, 'connections to ' || t.peer AS subject, NULL::DOUBLE AS failed_ratio,
    format('{} of the {} local ports were in use for this peer at once{}', t.used_count, s.port_count,
      CASE WHEN t.waiting_count > 0 THEN format(', {} of them in TIME-WAIT', t.waiting_count) ELSE '' END) AS message
  FROM taken AS t
  CROSS JOIN setting AS s
  CROSS JOIN threshold AS h
  WHERE t.used_count >= h.port_ratio * s.port_count
  UNION ALL
  SELECT f.failed_count >= h.critical_ratio * f.connect_count, format('{} ({})', coalesce(p.name, '?'), coalesce(p.pid::VARCHAR, '?')), f.failed_count / f.connect_count,
    format('{} of its {} connects failed because no local port was left; {} had {} TCP sockets, {} of them in TIME-WAIT, and has {} local ports for connections to a peer',
      f.failed_count, f.connect_count, CASE WHEN c.netns_inode IS NULL THEN 'the host' ELSE 'its network namespace' END, @whole(c.used_count), @whole(c.waiting_count), s.port_count)
  FROM failed AS f
  LEFT JOIN process AS p USING (upid)
  LEFT JOIN member AS m USING (upid)
  JOIN counted AS c ON c.netns_inode IS NOT DISTINCT FROM m.netns_inode
  CROSS JOIN setting AS s
  CROSS JOIN threshold AS h
  WHERE c.used_count >= h.port_ratio * s.port_count
)
SELECT @severity(f.is_critical, true) AS severity, f.subject, f.message, f.failed_ratio::DOUBLE AS failed_ratio
FROM found AS f
