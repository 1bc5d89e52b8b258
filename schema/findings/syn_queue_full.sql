-- syn_queue_full: New connections find the queue of half-open ones full
-- condition: on the host or in a network namespace of recorded processes the kernel counted that a connection request found the queue of a listening socket full, before it was
--   answered: it dropped the request (TcpExt TCPReqQFullDrop) or answered it with a cookie in place of a place in the queue (TCPReqQFullDoCookies), together once a second or more
--   and 10 times or more (the alerts 1m_tcp_syn_queue_drops and 1m_tcp_syn_queue_cookies of netdata). Requests that were dropped are a warning, critical where they are one in ten of the
--   incoming connections (as for listen_overflow); cookies alone are a note
-- means: more clients begin connections than finish them: many at once, a network that loses the answers, or somebody who sends requests only (a SYN flood). A request that
--   is dropped comes again after one second, then after three
-- next: perfcase view tcp_activity: when, and how many connections were accepted
-- next: perfcase view socket: listening sockets and their backlog (send_queue_bytes), and connections in SYN-RECV
-- next: net.ipv4.tcp_syncookies, net.ipv4.tcp_max_syn_backlog, net.core.somaxconn and the backlog of listen() on the host
-- taught by: -
-- source: network_namespace, proc_net_counter
-- evidence: SELECT netns_inode, ts_ns, name, value FROM proc_net_counter WHERE protocol = 'TcpExt' AND name IN ('TCPReqQFullDrop', 'TCPReqQFullDoCookies') ORDER BY netns_inode NULLS FIRST, name, ts_ns
-- judged when: SELECT count(DISTINCT snapshot) > 1 FROM proc_net_counter WHERE protocol = 'TcpExt' AND name = 'TCPReqQFullDrop'
-- not judged: what TCP counted. It needs two snapshots of /proc/net/netstat; perfcase-record takes them by default
WITH threshold AS (
  SELECT 10 AS event_count, 1 AS event_per_s, 0.1 AS critical_ratio
), counter AS (
  SELECT netns_inode, name, ts_ns, @counter_step(value, lag(value) OVER (PARTITION BY source_id, netns_inode, protocol, name ORDER BY snapshot, ts_ns), 4294967296) AS n
  FROM proc_net_counter
  WHERE protocol = 'TcpExt' AND name IN ('TCPReqQFullDrop', 'TCPReqQFullDoCookies') OR protocol = 'Tcp' AND name = 'PassiveOpens'
), counted AS (
  SELECT netns_inode, @total_or_zero(n, name = 'TCPReqQFullDrop') AS drop_count, @total_or_zero(n, name = 'TCPReqQFullDoCookies') AS cookie_count,
    @total_or_zero(n, name = 'PassiveOpens') AS accepted_count, (max(ts_ns) - min(ts_ns)) / 1e9 AS duration_s
  FROM counter
  GROUP BY netns_inode
), found AS (
  SELECT *, drop_count + cookie_count AS event_count, @ratio(drop_count, drop_count + accepted_count) AS drop_ratio
  FROM counted
)
SELECT
  @severity(f.drop_ratio >= h.critical_ratio, f.drop_count > 0) AS severity,
  'listening sockets ' || @network_place(f.netns_inode, n.process, n.pid) AS subject,
  format('{} connection requests found the queue full and were dropped, {} were answered with a cookie, in {:.0f} s; {} connections were accepted', @whole(f.drop_count),
    @whole(f.cookie_count), f.duration_s, @whole(f.accepted_count)) AS message,
  nullif(f.drop_ratio, 0)::DOUBLE AS failed_ratio
FROM found AS f
LEFT JOIN network_namespace AS n USING (netns_inode)
CROSS JOIN threshold AS h
WHERE f.event_count >= h.event_count AND f.event_count >= h.event_per_s * f.duration_s
