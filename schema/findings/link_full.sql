-- link_full: A network link carries as much as it can
-- condition: a link carried 90 % or more of its speed (the alerts 1m_received_traffic_overflow and 1m_sent_traffic_overflow of netdata) in intervals that are a tenth of
--   the recording or longer, 5 s or more in all. A warning if it did so for half of the recording, else a note. Only links of a device are judged: what a
--   bridge, a tunnel or a veth says of its speed limits nothing
-- means: what comes on top waits in a queue or is dropped, also what is small and urgent. A copy or a backup that takes the whole link is no fault, but others wait for it
-- next: perfcase view net_utilization: util_ratio over time, in which direction
-- next: perfcase view socket: the connections with the most to send. perfcase findings: whether packets queue up (standing_queue) or are lost (tcp_retransmits, interface_drops)
-- taught by: -
-- source: net_utilization, proc_net_link
-- evidence: SELECT interface, ts_ns, interval_ns, rx_bytes_per_s, tx_bytes_per_s, speed_bits_per_s, util_ratio FROM net_utilization WHERE util_ratio > 0 ORDER BY interface, ts_ns
-- judged when: SELECT count(*) > 0 FROM net_utilization WHERE interface IN (SELECT interface FROM proc_net_link WHERE driver IS NOT NULL AND speed_bits_per_s IS NOT NULL)
-- not judged: the speed of a link. Virtual machines often know none; recordings before the rule do not tell which links are devices
WITH threshold AS (
  SELECT 0.9 AS full_ratio, 0.1 AS time_ratio, 5000000000 AS full_ns, 0.5 AS warning_ratio
), device AS (
  SELECT DISTINCT interface FROM proc_net_link WHERE driver IS NOT NULL
), busy AS (
  SELECT u.interface, sum(u.interval_ns) AS duration_ns, sum(u.interval_ns) FILTER (u.util_ratio >= h.full_ratio) AS full_ns,
    max(u.util_ratio) AS most_ratio, arg_max(u.speed_bits_per_s, u.ts_ns) AS speed_bits_per_s,
    sum(u.rx_bytes) FILTER (u.util_ratio >= h.full_ratio) AS rx_bytes, sum(u.tx_bytes) FILTER (u.util_ratio >= h.full_ratio) AS tx_bytes
  FROM net_utilization AS u
  JOIN device AS d USING (interface)
  CROSS JOIN threshold AS h
  WHERE u.netns_inode IS NULL AND u.util_ratio IS NOT NULL
  GROUP BY u.interface
)
SELECT
  @severity(false, b.full_ns >= h.warning_ratio * b.duration_ns) AS severity, 'interface ' || b.interface AS subject,
  format('its link of {} was full for {:.1f} s, {:.1f} % of the time: {} were {} in these; {:.1f} % at most',
    CASE WHEN b.speed_bits_per_s < 1e9 THEN format('{:.0f} Mbit/s', b.speed_bits_per_s / 1e6) ELSE format('{:.1f} Gbit/s', b.speed_bits_per_s / 1e9) END,
    b.full_ns / 1e9, 100 * b.full_ns / b.duration_ns, @size(greatest(b.rx_bytes, b.tx_bytes)), CASE WHEN b.rx_bytes > b.tx_bytes THEN 'received' ELSE 'sent' END,
    100 * b.most_ratio) AS message
FROM busy AS b
CROSS JOIN threshold AS h
WHERE b.full_ns >= h.full_ns AND b.full_ns >= h.time_ratio * b.duration_ns
