-- delayed_ack: Answers are as late as a delayed acknowledgement (Nagle's algorithm waits for it)
-- condition: 10 turns or more on the TCP sockets of a client were write, write, read (at a server's end the next read waits for the
--   client's next request, at whatever pace); the last write was smaller than a full
--   segment (1448 bytes); and the answer came after 38 to 60 ms or after 190 to 260 ms (Linux delays acknowledgements by 40 to
--   200 ms, TCP_DELACK_MIN and TCP_DELACK_MAX). These are half or more of such turns on these sockets; requests that it wrote in one piece,
--   if there were 10 or more, were not as late by half. The middle half of them
--   is within 10 ms (the longest tick), as of a timer. Critical if these sockets waited like this for half of the recording
-- means: each of these exchanges takes 40 or 200 ms longer than its work. The sender holds the last small piece until the first
--   one is acknowledged, and the receiver waits for more data before it acknowledges. A service that always takes this long
--   looks the same
-- next: set TCP_NODELAY on the socket, or write the whole message in one call (writev, a buffer)
-- next: perfcase view tcp_stalls: each stall, with the writes before it
-- next: perfcase view socket_answer: the other turns on the same sockets
-- about: the peers of the sockets
-- taught by: A tale of ten bugs (7)
-- source: descriptor, recorded_span, socket_answer
-- evidence: SELECT pid, comm, fd, local, peer, looks_like, count(*) AS stall_count, avg(gap_ns) AS gap_ns_avg, max(gap_ns) AS gap_ns_max,
--   any_value(write_name) AS write_name FROM tcp_stalls WHERE is_write_write_read GROUP BY ALL ORDER BY stall_count DESC, pid, fd
WITH threshold AS (
  SELECT 10 AS stall_count, 0.5 AS turn_ratio, 10000000 AS spread_ns, 0.5 AS critical_ratio
), datagram AS (
  SELECT upid, fd, ts_ns AS since_ts_ns FROM descriptor WHERE kind = 'socket' AND (target LIKE '%dgram' OR label LIKE 'UDP%')
), turn AS (
  SELECT ts_ns, upid, pid, process, fd, since_ts_ns, peer, gap_ns, write_name,
    CASE WHEN gap_ns BETWEEN 38000000 AND 60000000 THEN 40 WHEN gap_ns BETWEEN 190000000 AND 260000000 THEN 200 END AS ms
  FROM socket_answer AS a
  WHERE write_count > 1 AND write_last_bytes < 1448 AND coalesce(family IN ('inet', 'inet6'), true)
    AND is_client IS NOT FALSE
    AND NOT EXISTS (FROM datagram AS d WHERE d.upid = a.upid AND d.fd = a.fd AND d.since_ts_ns IS NOT DISTINCT FROM a.since_ts_ns)
), stalled AS (
  SELECT upid, pid, arg_max(process, ts_ns) AS process, ms, count(*) AS stall_count, sum(gap_ns) AS stall_ns, avg(gap_ns) AS gap_ns_avg,
    quantile_disc(gap_ns, 0.75) - quantile_disc(gap_ns, 0.25) AS spread_ns, count(DISTINCT (fd, since_ts_ns)) AS socket_count,
    max(peer) AS peer, count(DISTINCT peer) AS peer_count, list(DISTINCT peer) AS peers, mode(write_name ORDER BY write_name) AS write_name
  FROM turn
  WHERE ms IS NOT NULL
  GROUP BY upid, pid, ms
), turns AS (
  SELECT s.upid, s.ms, count(*) AS turn_count
  FROM turn AS t
  JOIN (SELECT DISTINCT upid, fd, since_ts_ns, ms FROM turn WHERE ms IS NOT NULL) AS s
    ON s.upid = t.upid AND s.fd = t.fd AND s.since_ts_ns IS NOT DISTINCT FROM t.since_ts_ns
  GROUP BY s.upid, s.ms
), in_one_piece AS (
  -- What is written at once waits for no acknowledgement: where it is as late, the peer is slow.
  SELECT upid, m.ms, count(*) AS turn_count,
    count(*) FILTER (gap_ns BETWEEN m.least_ns AND m.most_ns) AS late_count
  FROM socket_answer
  CROSS JOIN (VALUES (40, 38000000, 60000000), (200, 190000000, 260000000)) AS m (ms, least_ns, most_ns)
  WHERE write_count = 1 AND coalesce(family IN ('inet', 'inet6'), true) AND is_client IS NOT FALSE
  GROUP BY upid, m.ms
), found AS (
  SELECT s.*, t.turn_count, least(1, s.stall_ns / (s.socket_count * c.duration_ns)) AS lost_ratio
  FROM stalled AS s
  JOIN turns AS t USING (upid, ms)
  LEFT JOIN in_one_piece AS o ON o.upid = s.upid AND o.ms = s.ms AND o.turn_count >= 10 AND o.late_count >= o.turn_count / 2
  JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
  WHERE o.upid IS NULL
)
SELECT
  @severity(f.lost_ratio >= h.critical_ratio, true) AS severity,
  format('{} ({})', coalesce(f.process, '?'), f.pid) AS subject,
  format('{} of {} exchanges that were written in several pieces waited {:.1f} ms on average for the answer, as long as an acknowledgement that is delayed by {} ms{}: {:.2f} s, {:.1f} % of the time of {} socket{}; the last piece went out by {}',
    f.stall_count, f.turn_count, f.gap_ns_avg / 1e6, f.ms, CASE f.ms WHEN 200 THEN ' (or a segment that was lost)' ELSE '' END,
    f.stall_ns / 1e9, 100 * f.lost_ratio, f.socket_count,
    CASE WHEN f.socket_count > 1 THEN 's' WHEN f.peer_count = 1 THEN ' to ' || f.peer ELSE '' END, f.write_name) AS message,
  @whole(f.stall_ns) AS cost_ns, list_transform(f.peers, lambda p: 'peer ' || p) AS about
FROM found AS f
CROSS JOIN threshold AS h
WHERE f.stall_count >= h.stall_count AND f.stall_count >= h.turn_ratio * f.turn_count AND f.spread_ns <= h.spread_ns
