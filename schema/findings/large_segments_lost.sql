-- large_segments_lost: Long answers never arrive on a way on which short ones do: a path MTU black hole
-- condition: on 3 connections or more from one process to one other host, TCP had more than a full segment under way and had sent it again twice or more (ss shows both), and less than a segment
--   had been acknowledged before; 10 questions or more between the same two ends were answered meanwhile, and no connection between them that had more than a segment to send was seen to get on. RFC 2923, 2.1: a router drops packets that are too large for
--   the next link, and its ICMP message is filtered, so that the sender never learns it: "the connection hangs" with the first full segment. RFC 4821 is the remedy that needs no message. Critical from half of the connections that were seen with something to send
-- means: the size decides, not the load: the handshake and short answers work, and each long one waits until somebody's time is over. Typical after a tunnel, a VPN or an overlay network came into the way, whose
--   headers take room, while both ends still believe in 1500 bytes
-- next: on the host: ping -M do -s 1472 ADDRESS, with less until it is answered; ip route get ADDRESS says what MTU the kernel believes in
-- next: perfcase view tcp_latency: retransmissions by connection; perfcase view socket: mss_bytes beside send_queue_bytes
-- next: a smaller MTU on the interface or route, MSS clamping in the tunnel, net.ipv4.tcp_mtu_probing = 1
-- about: the peer
-- taught by: -
-- source: process, service_address, socket, socket_answer, workload_thread
-- evidence: SELECT comm, pid, local, peer, ts_ns, mss_bytes, send_queue_bytes, unacknowledged_count, retransmit_count, sent_bytes FROM socket
--   WHERE protocol = 'tcp' AND state = 'ESTAB' AND retransmit_count >= 2 AND send_queue_bytes > mss_bytes ORDER BY local, peer, ts_ns, pid, fd
WITH threshold AS (
  SELECT 3 AS connection_count, 2 AS again_count, 10 AS answer_count, 0.5 AS critical_ratio
), listed AS (
  -- What was acknowledged: all that was sent but what is under way and what was sent again.
  SELECT upid, netns_inode, inode, local, peer, regexp_replace(peer, ':[0-9]+$', '') AS host, ts_ns, max(mss_bytes) AS mss_bytes, max(send_queue_bytes) AS queue_bytes, max(retransmit_count) AS retransmit_count,
    max(unacknowledged_count) AS unacknowledged_count, max(sent_bytes - send_queue_bytes - coalesce(retransmit_count, 0) * mss_bytes) AS done_bytes
  FROM socket
  WHERE protocol = 'tcp' AND state = 'ESTAB' AND mss_bytes > 0 AND sent_bytes IS NOT NULL AND peer IS NOT NULL AND upid IN (SELECT upid FROM workload_thread)
  GROUP BY ALL
), stepped AS (
  SELECT *, done_bytes - lag(done_bytes) OVER w AS step_bytes, lag(queue_bytes) OVER w AS before_bytes
  FROM listed
  WINDOW w AS (PARTITION BY upid, netns_inode, inode, local, peer ORDER BY ts_ns)
), link AS (
  SELECT upid, local, peer, host, max(mss_bytes) AS mss_bytes, bool_or(queue_bytes > 0) AS has_queued,
    bool_or(queue_bytes > mss_bytes AND retransmit_count >= h.again_count AND unacknowledged_count > 0) AND max(done_bytes) < max(mss_bytes) AS is_stuck,
    coalesce(bool_or(before_bytes > mss_bytes AND step_bytes >= mss_bytes), false) AS has_moved, max(retransmit_count) AS retransmit_count
  FROM stepped
  CROSS JOIN threshold AS h
  GROUP BY upid, netns_inode, inode, local, peer, host
), way AS (
  SELECT c.upid, c.host, CASE WHEN a.address IS NOT NULL THEN c.local END AS service, max(c.mss_bytes) FILTER (c.is_stuck) AS mss_bytes, count(*) FILTER (c.is_stuck) AS stuck_count, count(*) FILTER (c.has_queued) AS queued_count,
    max(c.retransmit_count) FILTER (c.is_stuck) AS retransmit_count, bool_or(c.has_moved) AS has_moved, min(c.peer) FILTER (c.is_stuck) AS peer, min(c.local) FILTER (c.is_stuck) AS local
  FROM link AS c
  LEFT JOIN service_address AS a ON a.upid = c.upid AND a.address = @plain_address(c.local)
  GROUP BY c.upid, c.host, CASE WHEN a.address IS NOT NULL THEN c.local END
), answered AS (
  SELECT w.upid, w.host, w.service, count(*) AS answer_count
  FROM way AS w
  JOIN socket_answer AS a ON CASE WHEN w.service IS NULL THEN a.upid = w.upid AND regexp_replace(a.peer, ':[0-9]+$', '') = w.host ELSE @plain_address(a.peer) = @plain_address(w.service) OR @plain_address(a.local) = @plain_address(w.service) END
  GROUP BY w.upid, w.host, w.service
)
SELECT
  @severity(w.stuck_count >= h.critical_ratio * w.queued_count, true) AS severity, format('{} ({}) {} to {}', coalesce(p.name, '?'), p.pid, coalesce('at ' || w.service, 'from ' || w.local), w.host) AS subject,
  format('{} connections sent full segments ({} bytes) again up to {} times, and none arrived; {} questions that fit into less were answered on the same way: packets above some size are dropped (path MTU)',
    w.stuck_count, w.mss_bytes, w.retransmit_count, @whole(a.answer_count)) AS message,
  (w.stuck_count / w.queued_count)::DOUBLE AS failed_ratio, ['peer ' || coalesce(w.service, w.peer)] AS about
FROM way AS w
JOIN process AS p USING (upid)
JOIN answered AS a ON a.upid = w.upid AND a.host = w.host AND a.service IS NOT DISTINCT FROM w.service
CROSS JOIN threshold AS h
WHERE w.stuck_count >= h.connection_count AND NOT w.has_moved AND a.answer_count >= h.answer_count
