-- tcp_retransmits: TCP retransmits segments: packets are lost or dropped
-- condition: 1 % or more of the segments that the host, or a network namespace of recorded processes, sent were retransmitted, 20 or more in all. A warning from 3 %, else a
--   note. At 1 % loss a connection carries at most about 12 segments per round trip (1.22 / √p: Mathis, Semke, Mahdavi and Ott,
--   1997), at 3 % about 7
-- means: each lost segment delays what follows it: by a round trip at best, by 200 ms or more if a timer has to notice it, and
--   by whole seconds if it opens the connection
-- next: perfcase view tcp_latency: which connections, and their round-trip times
-- next: perfcase view net_utilization: drops and errors of the interfaces. perfcase findings: whether an accept queue is full
-- taught by: -
-- source: tcp_latency, tcp_summary
-- evidence: SELECT process, pid, ts_ns, interval_ns, out_segment_count, retransmit_count, retransmit_ratio, timeout_per_s, attempt_fail_per_s
--   FROM tcp_activity ORDER BY netns_inode NULLS FIRST, ts_ns
-- judged when: SELECT count(*) > 0 FROM tcp_activity
-- not judged: what TCP counted. It needs two snapshots of /proc/net/snmp; perfcase-record takes them by default
WITH threshold AS (
  SELECT 0.01 AS retransmit_ratio, 20 AS retransmit_count, 0.03 AS warning_ratio
), sent AS (
  SELECT netns_inode, process, pid, coalesce(retransmit_count, 0) AS retransmit_count, coalesce(out_segment_count, 0) AS out_count, coalesce(timeout_count, 0) AS timeout_count
  FROM tcp_summary
), worst AS (
  -- Only tracepoints know some connections, and a namespace may have no counters of its own: those are the host's.
  SELECT CASE WHEN netns_inode IN (SELECT netns_inode FROM sent) THEN netns_inode END AS netns_inode,
    format('{}:{} to {}:{}', local_address, local_port, peer_address, peer_port) AS connection, process, retransmit_count
  FROM tcp_latency
  WHERE retransmit_count > 0
  QUALIFY row_number() OVER (
    PARTITION BY CASE WHEN netns_inode IN (SELECT netns_inode FROM sent) THEN netns_inode END
    ORDER BY retransmit_count DESC, local_address, local_port, peer_address, peer_port, process) = 1
), found AS (
  -- OutSegs does not count what is sent again.
  SELECT h.*, @ratio(h.retransmit_count, h.out_count::HUGEINT + h.retransmit_count) AS retransmit_ratio, w.connection, w.process AS holder, w.retransmit_count AS most_count
  FROM sent AS h
  LEFT JOIN worst AS w ON w.netns_inode IS NOT DISTINCT FROM h.netns_inode
)
SELECT
  @severity(false, f.retransmit_ratio >= h.warning_ratio) AS severity,
  'TCP ' || @network_place(f.netns_inode, f.process, f.pid) AS subject,
  format('{} segments were retransmitted, {} for the first time: {:.1f} % of all; retransmission timers expired {} times{}', f.retransmit_count, f.out_count,
    100 * f.retransmit_ratio, f.timeout_count,
    CASE WHEN f.connection IS NULL THEN '' ELSE format('; most on {}{}: {}', f.connection, coalesce(' (' || f.holder || ')', ''), f.most_count) END) AS message,
  least(1, f.retransmit_ratio)::DOUBLE AS failed_ratio
FROM found AS f
CROSS JOIN threshold AS h
WHERE f.retransmit_count >= h.retransmit_count AND f.retransmit_ratio >= h.retransmit_ratio
