-- net_summary: what each network interface carried and lost over the whole capture, on the host and in each network namespace of recorded processes, as the averages of sar -n DEV,EDEV
-- grain: an interface that carried or lost a packet
-- source: net_utilization
-- caveat: what one namespace of the host sends to another is counted in both
-- caveat: a mean hides bursts: also look at the busiest interval; net_utilization has all intervals
-- diff no: net_utilization is compared, with the noise of its intervals
-- as in net_utilization: netns_inode, process, pid
-- column interface: its name
-- column duration_ns [ns]: the time between the snapshots that saw it
-- column rx_packet_count [count]: packets received
-- column tx_packet_count [count]: packets sent
-- column packet_count [count]: packets received and sent
-- as in net_utilization: rx_packet_per_s, tx_packet_per_s
-- column rx_bytes [bytes]: bytes received
-- column tx_bytes [bytes]: bytes sent
-- column link_bytes [bytes]: bytes received and sent
-- as in net_utilization: rx_bytes_per_s, tx_bytes_per_s
-- column util_ratio [ratio]: share of the link's speed in use (%ifutil), over the time in which the speed is known; NULL if it is never known
-- column util_max_ratio [ratio]: util_ratio of the busiest interval
-- column error_count [count]: packets that were received with an error or could not be sent
-- column error_max_count [count]: most packets with such an error in an interval
-- column drop_count [count]: packets that were dropped, both received ones and those to be sent
-- column drop_max_count [count]: most dropped packets in an interval
SELECT
  netns_inode, any_value(process) AS process, any_value(pid) AS pid, interface, @total(interval_ns) AS duration_ns,
  @total(rx_packet_count) AS rx_packet_count, @total(tx_packet_count) AS tx_packet_count, @total(rx_packet_count::HUGEINT + tx_packet_count) AS packet_count,
  @rate(rx_packet_count, interval_ns) AS rx_packet_per_s, @rate(tx_packet_count, interval_ns) AS tx_packet_per_s,
  @total(rx_bytes) AS rx_bytes, @total(tx_bytes) AS tx_bytes, @total(rx_bytes::HUGEINT + tx_bytes) AS link_bytes,
  @rate(rx_bytes, interval_ns) AS rx_bytes_per_s, @rate(tx_bytes, interval_ns) AS tx_bytes_per_s,
  @mean(util_ratio, interval_ns) AS util_ratio, max(util_ratio) AS util_max_ratio,
  @total(rx_error_count::HUGEINT + tx_error_count) AS error_count, try_cast(max(rx_error_count::HUGEINT + tx_error_count) AS BIGINT) AS error_max_count,
  @total(rx_drop_count::HUGEINT + tx_drop_count) AS drop_count, try_cast(max(rx_drop_count::HUGEINT + tx_drop_count) AS BIGINT) AS drop_max_count
FROM net_utilization
GROUP BY netns_inode, interface
HAVING sum(rx_packet_count::HUGEINT + tx_packet_count + rx_error_count + tx_error_count + rx_drop_count + tx_drop_count) > 0
ORDER BY link_bytes DESC NULLS LAST, netns_inode NULLS FIRST, interface
