-- standing_queue: Packets queue up on the way to a peer: the link is slower than what is sent
-- condition: at half or more of the snapshots in which a TCP connection had sent something since the one before, 3 or more, its smoothed
--   round-trip time was 20 ms or more, and five times, above the least that the kernel remembers. An acknowledgement that was held
--   back is no queue: if fewer than 3 segments were on their way (every second one is acknowledged at once: RFC 5681, 4.2), the
--   time must be 10 ms longer than the other end's delay of acknowledgements (its ato, 40 ms or more in Linux), or 200 ms longer
--   where the other end is not in the capture. RFC 8289 calls 5 ms in 100 ms a standing queue. A warning; critical if it took half
--   or more of the time that requests waited for their answers
-- means: each packet waits behind those before it, in a modem, a shaper, a virtual machine's or a container's limit, or a switch:
--   everything else on this way waits, too. A faster program or peer changes nothing
-- next: perfcase view socket: rtt_ns beside rtt_min_ns at each snapshot, and the bytes under way
-- next: perfcase view tcp_latency: whether other connections have it, too: the slow link is where their ways meet
-- next: tc -s qdisc on both hosts, the limits of the virtual machine or container; fewer bytes, or a queue that drops early (fq_codel)
-- about: the peer
-- taught by: -
-- source: process, service_address, socket, socket_answer, workload_thread
-- evidence: SELECT comm, pid, local, peer, ts_ns, rtt_ns, rtt_min_ns, unacknowledged_count, delivery_rate_bytes_per_s FROM socket
--   WHERE protocol = 'tcp' AND rtt_ns - rtt_min_ns >= 20000000 ORDER BY rtt_ns - rtt_min_ns DESC, ts_ns, pid, fd
-- judged when: SELECT count(DISTINCT snapshot) >= 4 FROM socket WHERE rtt_min_ns IS NOT NULL
-- not judged: round-trip times of connections at four snapshots or more; perfcase-record takes them on Linux 4.6 and later
WITH threshold AS (
  SELECT 3 AS snapshot_count, 0.5 AS often_ratio, 5 AS times_least, 20000000 AS queued_ns, 10000000 AS slack_ns, 200000000 AS held_back_ns,
    3 AS segment_count, 0.5 AS critical_ratio
), listed AS (
  -- A socket that several processes have open is of the first that answers there, or of the first.
  SELECT ts_ns, snapshot, netns_inode, inode, local, peer, min(upid) AS upid, max(rtt_ns) AS rtt_ns, max(rtt_min_ns) AS rtt_min_ns,
    max(ato_ns) AS ato_ns, max(unacknowledged_count) AS unacknowledged_count, max(segment_sent_count) AS segment_sent_count
  FROM socket
  WHERE protocol = 'tcp' AND state = 'ESTAB' AND upid IN (SELECT upid FROM workload_thread) AND rtt_ns > 0 AND rtt_min_ns > 0
  GROUP BY ts_ns, snapshot, netns_inode, inode, local, peer
), stepped AS (
  SELECT *, segment_sent_count > lag(segment_sent_count) OVER (PARTITION BY netns_inode, inode, local, peer ORDER BY ts_ns, snapshot) AS is_active
  FROM listed
), judged AS (
  SELECT s.upid, s.local, s.peer, s.inode, s.rtt_ns, s.rtt_min_ns,
    s.rtt_ns - s.rtt_min_ns >= h.times_least * s.rtt_min_ns AND s.rtt_ns - s.rtt_min_ns >= CASE
      WHEN s.unacknowledged_count >= h.segment_count THEN h.queued_ns
      WHEN o.ato_ns IS NOT NULL THEN h.slack_ns + o.ato_ns
      ELSE h.held_back_ns
    END AS is_queued
  FROM stepped AS s
  LEFT JOIN listed AS o ON o.snapshot = s.snapshot AND @plain_address(o.local) = @plain_address(s.peer) AND @plain_address(o.peer) = @plain_address(s.local)
  CROSS JOIN threshold AS h
  WHERE s.is_active
), queueing AS (
  SELECT upid, local, peer, avg(rtt_ns) FILTER (is_queued) AS rtt_ns, min(rtt_min_ns) AS rtt_min_ns
  FROM judged
  CROSS JOIN threshold AS h
  GROUP BY upid, local, peer, inode, h.snapshot_count, h.often_ratio
  HAVING count(*) >= h.snapshot_count AND count(*) FILTER (is_queued) >= h.often_ratio * count(*)
), sided AS (
  SELECT c.*, a.address IS NULL AS is_client FROM queueing AS c LEFT JOIN service_address AS a ON a.upid = c.upid AND a.address = @plain_address(c.local)
), slow AS (
  SELECT upid, is_client, CASE WHEN is_client THEN peer ELSE local END AS service, count(*) AS connection_count, avg(rtt_ns) AS rtt_ns, min(rtt_min_ns) AS rtt_min_ns
  FROM sided
  GROUP BY ALL
), waited AS (
  -- No answer waited longer for the way than it waited.
  SELECT s.upid, s.service, count(*) AS answer_count, sum(a.gap_ns) AS gap_ns, sum(least(a.gap_ns, s.rtt_ns - s.rtt_min_ns)) AS wait_ns
  FROM slow AS s
  JOIN socket_answer AS a ON a.is_client AND a.upid = s.upid AND a.peer = s.service
  WHERE s.is_client
  GROUP BY s.upid, s.service
), costly AS (
  SELECT s.*, w.answer_count, w.gap_ns, @whole(w.wait_ns) AS cost_ns
  FROM slow AS s
  LEFT JOIN waited AS w USING (upid, service)
  -- What the clients say is enough.
  WHERE s.is_client OR s.service NOT IN (SELECT service FROM slow WHERE is_client)
)
SELECT
  @severity(f.cost_ns >= h.critical_ratio * f.gap_ns, true) AS severity,
  format('{} ({}) {} {}', coalesce(p.name, '?'), p.pid, CASE WHEN f.is_client THEN 'to' ELSE 'at' END, f.service) AS subject,
  format('what it sends on {} is acknowledged after {:.1f} ms, by {:.2f} ms at best: packets queue up on the way{}',
    CASE f.connection_count WHEN 1 THEN 'the connection' ELSE f.connection_count || ' connections' END, f.rtt_ns / 1e6, f.rtt_min_ns / 1e6,
    CASE WHEN f.answer_count > 0 THEN format('; {} answer{} waited {:.2f} s for that', f.answer_count, CASE f.answer_count WHEN 1 THEN '' ELSE 's' END, f.cost_ns / 1e9) ELSE '' END) AS message,
  f.cost_ns, ['peer ' || f.service] AS about
FROM costly AS f
JOIN process AS p USING (upid)
CROSS JOIN threshold AS h
