-- send_drops: Datagrams are dropped before they leave the host: a queue on their way is full
-- condition: on the host or in a network namespace of recorded processes, 10 datagrams or more of UDP, one in a thousand or more of those that were to be sent, found the buffer of their
--   socket or the queue of their interface full (SndbufErrors; the alert 1m_ipv4_udp_send_buffer_errors of netdata, from 10 a second). A warning from one in a hundred, critical from one in ten, else
--   a note, as for receive_drops. IPv4 only
-- means: the program hears of it only if it does not wait for its socket's buffer (EAGAIN); of a full queue (of a link, or of a limit that tc sets) it hears nothing, and no interface counts the packet. A datagram is lost for good
-- next: perfcase view net_utilization: what the interfaces carry meanwhile. perfcase findings: whether a link is full (link_full)
-- next: tc -s qdisc on the host, in the namespace: which queue dropped them
-- next: send less at once, or raise SO_SNDBUF and net.core.wmem_max, or the queue's limit, for bursts
-- taught by: -
-- source: network_namespace, proc_net_counter
-- evidence: SELECT netns_inode, ts_ns, name, value FROM proc_net_counter WHERE protocol = 'Udp' AND name IN ('OutDatagrams', 'SndbufErrors') ORDER BY netns_inode NULLS FIRST, name, ts_ns
-- judged when: SELECT count(DISTINCT snapshot) > 1 FROM proc_net_counter WHERE protocol = 'Udp'
-- not judged: what UDP counted. It needs two snapshots of /proc/net/snmp; perfcase-record takes them by default
WITH threshold AS (
  SELECT 10 AS drop_count, 0.001 AS note_ratio, 0.01 AS warning_ratio, 0.1 AS critical_ratio
), counter AS (
  SELECT netns_inode, name, @counter_step(value, lag(value) OVER (PARTITION BY source_id, netns_inode, name ORDER BY snapshot, ts_ns), 4294967296) AS n
  FROM proc_net_counter
  WHERE protocol = 'Udp' AND name IN ('OutDatagrams', 'SndbufErrors')
), counted AS (
  SELECT netns_inode, @total_or_zero(n, name = 'SndbufErrors') AS drop_count, @total_or_zero(n, name = 'OutDatagrams') AS sent_count
  FROM counter
  GROUP BY netns_inode
), found AS (
  -- OutDatagrams leaves out what was dropped.
  SELECT *, @ratio(drop_count, drop_count::HUGEINT + sent_count) AS drop_ratio
  FROM counted
)
SELECT @severity(f.drop_ratio >= h.critical_ratio, f.drop_ratio >= h.warning_ratio) AS severity, 'UDP ' || @network_place(f.netns_inode, n.process, n.pid) AS subject,
  format('{} datagrams found a queue on their way out full, {:.1f} % of all; {} were sent', @whole(f.drop_count), 100 * f.drop_ratio, @whole(f.sent_count)) AS message,
  f.drop_ratio::DOUBLE AS failed_ratio
FROM found AS f
LEFT JOIN network_namespace AS n USING (netns_inode)
CROSS JOIN threshold AS h
WHERE f.drop_count >= h.drop_count AND f.drop_ratio >= h.note_ratio
