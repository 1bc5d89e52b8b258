-- interface_drops: A network interface loses packets
-- condition: of the packets that an interface received, or of those that it was to send, 2 % or more were dropped, had an error or overran its queue:
--   the alerts inbound_packets_dropped_ratio and outbound_packets_dropped_ratio of netdata, which ask for 1,000 packets or more that were sent; here in
--   both directions, and 20 lost ones or more, two in a second or more: what a switch sends to hosts that have no receiver for it (a packet of the spanning
--   tree in 2 s) stays below that. From 10 % of a wireless interface (wl…). Critical from one in ten (as for listen_overflow). Where a driver counts
--   overruns among the errors, too, the larger of both counts
-- means: TCP sends the lost packets again and sends less (tcp_retransmits); a datagram is lost for good. Dropped packets that were received had
--   no room in a queue, or no receiver; errors come from a cable, a plug or the other end. The backup link of a bond drops what it gets: that is no loss
-- next: perfcase view net_utilization: when, and which kind
-- next: perfcase view tcp_latency: which connections lost segments. perfcase findings: whether the queue of a CPU was full (softnet_drops)
-- next: ethtool -S INTERFACE on the host: what the driver counts; ethtool -g: the size of its ring. tc -s qdisc: what a queue drops
-- about: the packets that arrive, where the queues of the CPUs dropped half as many or more
-- follows from: softnet_drops
-- taught by: -
-- source: net_utilization, softnet_activity
-- evidence: SELECT process, pid, interface, ts_ns, interval_ns, rx_packet_count, rx_drop_count, rx_error_count, rx_fifo_error_count, tx_packet_count, tx_drop_count,
--   tx_error_count, tx_fifo_error_count FROM net_utilization WHERE rx_drop_count + rx_error_count + rx_fifo_error_count + tx_drop_count + tx_error_count + tx_fifo_error_count > 0
--   ORDER BY netns_inode NULLS FIRST, interface, ts_ns
-- judged when: SELECT count(*) > 0 FROM net_utilization
-- not judged: what the interfaces carried. It needs two snapshots of /proc/net/dev; perfcase-record takes them by default
WITH threshold AS (
  SELECT 1000 AS packet_count, 20 AS lost_count, 2 AS lost_per_s, 0.02 AS lost_ratio, 0.1 AS wireless_ratio, 0.1 AS critical_ratio, 0.5 AS explained_ratio
), queue AS (
  SELECT coalesce(sum(drop_count), 0) AS drop_count FROM softnet_activity
), counted AS (
  SELECT netns_inode, any_value(process) AS process, any_value(pid) AS pid, interface, 'received' AS direction, sum(interval_ns) AS duration_ns,
    sum(rx_packet_count) AS packet_count, sum(rx_drop_count) AS drop_count, sum(rx_error_count) AS error_count, sum(rx_fifo_error_count) AS overrun_count
  FROM net_utilization
  GROUP BY netns_inode, interface
  UNION ALL
  SELECT netns_inode, any_value(process), any_value(pid), interface, 'to be sent', sum(interval_ns),
    sum(tx_packet_count), sum(tx_drop_count), sum(tx_error_count), sum(tx_fifo_error_count)
  FROM net_utilization
  GROUP BY netns_inode, interface
), lost AS (
  SELECT *, drop_count + greatest(error_count, overrun_count) AS lost_count, @ratio(lost_count, packet_count + lost_count) AS lost_ratio
  FROM counted
)
SELECT
  @severity(l.lost_ratio >= h.critical_ratio AND NOT starts_with(l.interface, 'wl'), true) AS severity,
  format('interface {} {}', l.interface, @network_place(l.netns_inode, l.process, l.pid)) AS subject,
  format('{} packets {} were lost, {:.1f} % of all: {} were dropped, {} had an error, {} overran a queue', @whole(l.lost_count), l.direction, 100 * l.lost_ratio,
    @whole(l.drop_count), @whole(l.error_count), @whole(l.overrun_count)) AS message,
  l.lost_ratio::DOUBLE AS failed_ratio,
  CASE WHEN l.direction = 'received' AND l.drop_count > 0 AND q.drop_count >= h.explained_ratio * l.drop_count THEN ['packets that arrive'] ELSE [] END AS about
FROM lost AS l
CROSS JOIN queue AS q
CROSS JOIN threshold AS h
WHERE l.packet_count + l.lost_count >= h.packet_count AND l.lost_count >= h.lost_count AND 1e9 * l.lost_count >= h.lost_per_s * l.duration_ns
  AND l.lost_ratio >= CASE WHEN starts_with(l.interface, 'wl') THEN h.wireless_ratio ELSE h.lost_ratio END
