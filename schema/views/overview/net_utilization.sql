-- net_utilization: what each network interface carried, on the host and in each network namespace of recorded processes, as sar -n DEV,EDEV prints it
-- grain: a network namespace × interval between two snapshots × interface
-- source: proc_net_dev, proc_net_link, network_namespace
-- caveat: what one namespace of the host sends to another is counted in both
-- caveat: what a namespace counted before the first snapshot that saw it is not known
-- caveat: the speed of a link is known on the host only
-- caveat: an interface that appears, or whose counters start again, counts from 0; 32-bit counters wrap at 2^32 and go on correctly from there
-- caveat: util_ratio is for the busier direction if the link is full duplex; if it is half duplex, or if that is unknown, it is for both directions together
-- diff by: process, interface
-- diff sum: rx_packet_count, tx_packet_count, rx_bytes, tx_bytes, rx_error_count, tx_error_count, rx_drop_count, tx_drop_count
-- diff mean: util_ratio
-- diff weight: 0.7
-- plot: intervals util_ratio, rx_packet_per_s, tx_packet_per_s, rx_bytes_per_s, tx_bytes_per_s, rx_error_per_s, tx_error_per_s, rx_drop_per_s, tx_drop_per_s by process, pid, interface
-- chart timeline 5: Network: rx_bytes_per_s as in, tx_bytes_per_s as out by interface where netns_inode IS NULL
-- keys: ts_ns, interval_ns
-- as in proc_net_dev: netns_inode
-- as in network_namespace: process, pid
-- as in proc_net_dev: interface
-- column rx_packet_per_s [1/s]: packets received (rxpck/s)
-- column tx_packet_per_s [1/s]: packets sent (txpck/s)
-- column rx_bytes_per_s [bytes/s]: received (rxkB/s in bytes)
-- column tx_bytes_per_s [bytes/s]: sent (txkB/s in bytes)
-- column rx_compressed_per_s [1/s]: compressed packets received (rxcmp/s)
-- column tx_compressed_per_s [1/s]: compressed packets sent (txcmp/s)
-- column rx_multicast_per_s [1/s]: multicast packets received (rxmcst/s)
-- column rx_error_per_s [1/s]: packets received with an error (rxerr/s)
-- column tx_error_per_s [1/s]: packets that could not be sent (txerr/s)
-- column collision_per_s [1/s]: collisions (coll/s)
-- column rx_drop_per_s [1/s]: packets received and dropped (rxdrop/s)
-- column tx_drop_per_s [1/s]: packets dropped before they were sent (txdrop/s)
-- column tx_carrier_error_per_s [1/s]: losses of carrier (txcarr/s)
-- column rx_frame_error_per_s [1/s]: framing errors (rxfram/s)
-- column rx_fifo_error_per_s [1/s]: overruns of the receive queue (rxfifo/s)
-- column tx_fifo_error_per_s [1/s]: overruns of the send queue (txfifo/s)
-- column util_ratio [ratio]: share of the link's speed in use (%ifutil); NULL where the speed is unknown
-- column speed_bits_per_s [bits/s]: the link's speed: util_ratio is a share of it
-- column rx_packet_count [count]: packets received in the interval
-- column tx_packet_count [count]: packets sent in the interval
-- column rx_bytes [bytes]: received in the interval
-- column tx_bytes [bytes]: sent in the interval
-- column rx_error_count [count]: packets received with an error, in the interval
-- column tx_error_count [count]: packets that could not be sent, in the interval
-- column rx_drop_count [count]: packets received and dropped, in the interval
-- column tx_drop_count [count]: packets dropped before they were sent, in the interval
-- column rx_fifo_error_count [count]: overruns of the receive queue in the interval
-- column tx_fifo_error_count [count]: overruns of the send queue in the interval
WITH snapshot_before AS (
  SELECT source_id, snapshot, netns_inode, ts_ns, lag(snapshot) OVER w AS before, ts_ns - lag(ts_ns) OVER w AS interval_ns
  FROM (SELECT source_id, snapshot, netns_inode, max(ts_ns) AS ts_ns FROM proc_net_dev GROUP BY source_id, snapshot, netns_inode)
  WINDOW w AS (PARTITION BY source_id, netns_inode ORDER BY snapshot)
), counter AS (
  FROM proc_net_dev UNPIVOT (
    value FOR field IN (
      rx_bytes, rx_packet_count, rx_error_count, rx_drop_count, rx_fifo_error_count, rx_frame_error_count, rx_compressed_count, rx_multicast_count, tx_bytes,
      tx_packet_count, tx_error_count, tx_drop_count, tx_fifo_error_count, tx_collision_count, tx_carrier_error_count, tx_compressed_count
    )
  )
), pair AS (
  SELECT c.source_id, c.snapshot, c.netns_inode, c.interface, c.field, c.value, b.value AS before,
    @counter_step(c.value, b.value, 4294967296) AS step
  FROM counter AS c
  JOIN snapshot_before AS s ON s.source_id = c.source_id AND s.snapshot = c.snapshot AND s.netns_inode IS NOT DISTINCT FROM c.netns_inode
  LEFT JOIN counter AS b ON b.source_id = c.source_id AND b.snapshot = s.before AND b.netns_inode IS NOT DISTINCT FROM c.netns_inode
    AND b.interface = c.interface AND b.field = c.field
  WHERE s.interval_ns > 0
), step AS (
  SELECT source_id, snapshot, netns_inode, interface, field,
    -- An interface that is new, or of which one counter began again, counts from 0.
    CASE WHEN before IS NULL OR bool_or(before IS NOT NULL AND step IS NULL) OVER (PARTITION BY source_id, snapshot, netns_inode, interface)
      THEN value ELSE step END AS n
  FROM pair
), grown AS (
  SELECT source_id, snapshot, netns_inode, interface, CASE WHEN netns_inode IS NULL THEN interface END AS link,
    max(n) FILTER (field = 'rx_packet_count') AS rx_packet_count, max(n) FILTER (field = 'tx_packet_count') AS tx_packet_count,
    max(n) FILTER (field = 'rx_bytes') AS rx_bytes, max(n) FILTER (field = 'tx_bytes') AS tx_bytes,
    max(n) FILTER (field = 'rx_compressed_count') AS rx_compressed_count, max(n) FILTER (field = 'tx_compressed_count') AS tx_compressed_count,
    max(n) FILTER (field = 'rx_multicast_count') AS rx_multicast_count,
    max(n) FILTER (field = 'rx_error_count') AS rx_error_count, max(n) FILTER (field = 'tx_error_count') AS tx_error_count,
    max(n) FILTER (field = 'tx_collision_count') AS collisions,
    max(n) FILTER (field = 'rx_drop_count') AS rx_drop_count, max(n) FILTER (field = 'tx_drop_count') AS tx_drop_count,
    max(n) FILTER (field = 'tx_carrier_error_count') AS tx_carrier_error_count,
    max(n) FILTER (field = 'rx_frame_error_count') AS rx_frame_error_count,
    max(n) FILTER (field = 'rx_fifo_error_count') AS rx_fifo_error_count, max(n) FILTER (field = 'tx_fifo_error_count') AS tx_fifo_error_count
  FROM step
  GROUP BY source_id, snapshot, netns_inode, interface
)
SELECT
  s.ts_ns - s.interval_ns AS ts_ns, s.interval_ns, g.netns_inode, m.process, m.pid, g.interface,
  @per_second(g.rx_packet_count, s.interval_ns) AS rx_packet_per_s,
  @per_second(g.tx_packet_count, s.interval_ns) AS tx_packet_per_s,
  @per_second(g.rx_bytes, s.interval_ns) AS rx_bytes_per_s,
  @per_second(g.tx_bytes, s.interval_ns) AS tx_bytes_per_s,
  @per_second(g.rx_compressed_count, s.interval_ns) AS rx_compressed_per_s,
  @per_second(g.tx_compressed_count, s.interval_ns) AS tx_compressed_per_s,
  @per_second(g.rx_multicast_count, s.interval_ns) AS rx_multicast_per_s,
  @per_second(g.rx_error_count, s.interval_ns) AS rx_error_per_s,
  @per_second(g.tx_error_count, s.interval_ns) AS tx_error_per_s,
  @per_second(g.collisions, s.interval_ns) AS collision_per_s,
  @per_second(g.rx_drop_count, s.interval_ns) AS rx_drop_per_s,
  @per_second(g.tx_drop_count, s.interval_ns) AS tx_drop_per_s,
  @per_second(g.tx_carrier_error_count, s.interval_ns) AS tx_carrier_error_per_s,
  @per_second(g.rx_frame_error_count, s.interval_ns) AS rx_frame_error_per_s,
  @per_second(g.rx_fifo_error_count, s.interval_ns) AS rx_fifo_error_per_s,
  @per_second(g.tx_fifo_error_count, s.interval_ns) AS tx_fifo_error_per_s,
  8e9 * CASE WHEN l.is_full_duplex THEN greatest(g.rx_bytes, g.tx_bytes) ELSE g.rx_bytes + g.tx_bytes END
    / s.interval_ns / l.speed_bits_per_s AS util_ratio,
  l.speed_bits_per_s,
  g.rx_packet_count, g.tx_packet_count, g.rx_bytes, g.tx_bytes, g.rx_error_count, g.tx_error_count, g.rx_drop_count, g.tx_drop_count,
  g.rx_fifo_error_count, g.tx_fifo_error_count
FROM grown AS g
JOIN snapshot_before AS s ON s.source_id = g.source_id AND s.snapshot = g.snapshot AND s.netns_inode IS NOT DISTINCT FROM g.netns_inode
ASOF LEFT JOIN proc_net_link AS l
  ON l.source_id = g.source_id AND l.interface = g.link AND l.snapshot <= g.snapshot
LEFT JOIN network_namespace AS m ON m.netns_inode = g.netns_inode
ORDER BY s.ts_ns, g.source_id, g.netns_inode, g.interface
