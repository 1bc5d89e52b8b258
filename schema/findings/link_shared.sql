-- link_shared: Answers wait on the way behind what another process sends to the same host
-- condition: at four snapshots or more, and at half or more of those that there are, the smoothed round-trip time of a process's connections to another host (not loopback) was twice the least that any
--   connection to that host had, and 5 ms or more above it (RFC 8289 calls that a standing queue); meanwhile another process kept 3 segments or more under way to the same host at half or more of its snapshots and sent ten times as
--   many bytes to it; the process asked 20 questions or more there, and a third or more of what it waited for their answers was this time above the least. Gettys and Nichols, "Bufferbloat: Dark Buffers in the
--   Internet" (ACM Queue, 2011): one transfer at full speed fills the buffer in front of the slowest link, and all others on this way wait in it. A warning
-- means: the link is full, not the service slow: each question waits until what the other process has queued before it is sent
-- next: perfcase view socket: rtt_ns beside rtt_min_ns, and sent_bytes, of all connections to that host
-- next: a limit for the transfer (rsync --bwlimit, trickle, tc), a lower priority for it (DSCP), a queue that keeps flows apart (fq_codel)
-- about: the peer
-- taught by: -
-- source: process, socket, socket_answer, workload_thread
-- evidence: SELECT comm, pid, local, peer, ts_ns, rtt_ns, rtt_min_ns, unacknowledged_count, sent_bytes FROM socket WHERE protocol = 'tcp' AND state = 'ESTAB' ORDER BY peer, ts_ns, local, pid, fd
-- judged when: SELECT count(DISTINCT snapshot) >= 4 FROM socket WHERE rtt_min_ns IS NOT NULL
-- not judged: round-trip times of connections at four snapshots or more; perfcase-record takes them on Linux 4.6 and later
WITH threshold AS (
  SELECT 4 AS snapshot_count, 0.5 AS often_ratio, 2 AS times_least, 5000000 AS queued_ns, 3 AS segment_count, 10 AS times_bytes, 20 AS answer_count, 0.33 AS share_ratio
), listed AS (
  SELECT upid, netns_inode, inode, local, peer, regexp_replace(peer, ':[0-9]+$', '') AS host, ts_ns, snapshot, max(rtt_ns) AS rtt_ns, max(rtt_min_ns) AS rtt_min_ns, max(unacknowledged_count) AS unacknowledged_count,
    max(sent_bytes) AS sent_bytes
  FROM socket
  WHERE protocol = 'tcp' AND state = 'ESTAB' AND rtt_ns > 0 AND rtt_min_ns > 0 AND peer IS NOT NULL AND NOT starts_with(@plain_address(peer), '127.') AND NOT starts_with(peer, '[::1]')
    AND upid IN (SELECT upid FROM workload_thread)
  GROUP BY ALL
), least AS (
  SELECT netns_inode, host, min(rtt_min_ns) AS rtt_min_ns FROM listed GROUP BY netns_inode, host
), sent AS (
  SELECT upid, netns_inode, host, sum(bytes) AS bytes
  FROM (SELECT upid, netns_inode, host, inode, local, peer, max(sent_bytes) - min(sent_bytes) AS bytes FROM listed GROUP BY ALL)
  GROUP BY upid, netns_inode, host
), seen AS (
  SELECT l.upid, l.netns_inode, l.host, l.peer, l.snapshot, avg(l.rtt_ns) AS rtt_ns, any_value(m.rtt_min_ns) AS least_ns, max(l.unacknowledged_count) AS unacknowledged_count
  FROM listed AS l
  JOIN least AS m ON m.netns_inode IS NOT DISTINCT FROM l.netns_inode AND m.host = l.host
  GROUP BY l.upid, l.netns_inode, l.host, l.peer, l.snapshot
), late AS (
  SELECT s.upid, s.netns_inode, s.host, s.peer, avg(s.rtt_ns) AS rtt_ns, min(s.least_ns) AS least_ns
  FROM seen AS s
  CROSS JOIN threshold AS h
  GROUP BY s.upid, s.netns_inode, s.host, s.peer, h.snapshot_count, h.often_ratio, h.times_least, h.queued_ns
  HAVING count(*) >= h.snapshot_count AND count(*) FILTER (s.rtt_ns >= h.times_least * s.least_ns AND s.rtt_ns - s.least_ns >= h.queued_ns) >= h.often_ratio * count(*)
), bulk AS (
  SELECT s.upid, s.netns_inode, s.host, any_value(s.peer) AS peer
  FROM seen AS s
  CROSS JOIN threshold AS h
  GROUP BY s.upid, s.netns_inode, s.host, h.snapshot_count, h.often_ratio, h.segment_count
  HAVING count(*) >= h.snapshot_count AND count(*) FILTER (s.unacknowledged_count >= h.segment_count) >= h.often_ratio * count(*)
), waited AS (
  SELECT l.upid, l.netns_inode, l.host, l.peer, l.rtt_ns, l.least_ns, count(*) AS answer_count, sum(a.gap_ns) AS gap_ns, sum(least(a.gap_ns, l.rtt_ns - l.least_ns)) AS wait_ns
  FROM late AS l
  JOIN socket_answer AS a ON a.is_client AND a.upid = l.upid AND a.peer = l.peer
  GROUP BY ALL
), found AS (
  SELECT w.*, b.upid AS other_upid, b.peer AS other_peer, o.bytes
  FROM waited AS w
  CROSS JOIN threshold AS h
  JOIN bulk AS b ON b.netns_inode IS NOT DISTINCT FROM w.netns_inode AND b.host = w.host AND b.upid <> w.upid
  JOIN sent AS o ON o.upid = b.upid AND o.netns_inode IS NOT DISTINCT FROM b.netns_inode AND o.host = b.host
  JOIN sent AS q ON q.upid = w.upid AND q.netns_inode IS NOT DISTINCT FROM w.netns_inode AND q.host = w.host
  WHERE w.answer_count >= h.answer_count AND w.wait_ns >= h.share_ratio * w.gap_ns AND o.bytes >= h.times_bytes * q.bytes
  QUALIFY row_number() OVER (PARTITION BY w.upid, w.peer ORDER BY o.bytes DESC, b.upid) = 1
)
SELECT
  'warning' AS severity, format('{} ({}) to {}', coalesce(p.name, '?'), p.pid, f.peer) AS subject,
  format('a round trip takes {:.1f} ms, by {:.1f} ms at best on this way, while {} ({}) sends {} to {}: {} answers waited {:.2f} s for that, {:.1f} % of the time that they took', f.rtt_ns / 1e6, f.least_ns / 1e6,
    coalesce(o.name, '?'), o.pid, @size(f.bytes), f.other_peer, @whole(f.answer_count), f.wait_ns / 1e9, 100 * f.wait_ns / f.gap_ns) AS message,
  @whole(f.wait_ns) AS cost_ns, ['peer ' || f.peer] AS about
FROM found AS f
JOIN process AS p USING (upid)
JOIN process AS o ON o.upid = f.other_upid
