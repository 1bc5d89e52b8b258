-- gives_up: A process gives up before the answer comes: the other end works for nobody
-- condition: on 10 or more of the connections that a process made to one other end in the recording, and on a tenth of them or more, it wrote a question, read nothing afterwards and closed the connection
--   itself, 5 ms or more after the question (the last write) and after nearly the same time each: the middle eight of ten differ by a fifth of their median at most, so that a time limit ended them and no user did. Limits of half a second and longer are what calls_time_out speaks of. Closing at once is
--   how messages without an answer are sent (statistics, logs). It asks again if it connects to the same end within 10 ms. A warning; critical where half of its questions ended so.
--   "Site Reliability Engineering" (Google), chapter 22, "Missing deadlines" and "Retries": a deadline that is shorter than the work wastes all of it, and retries multiply the load
-- means: the answer comes to a closed connection, the work for it was in vain, and where the process asks again, the other end has to work once more, which makes it slower: the limit is shorter than an answer
--   takes, because it is set too short or because the other end has become slow
-- next: the time limit in the configuration of the process (timeout server of HAProxy, proxy_read_timeout of nginx, statement_timeout, --timeout), against what an answer takes
-- next: perfcase view request_summary: how long the other end takes for its answers
-- next: perfcase view fd_history: the connections, and when they were closed
-- about: the peer
-- follows from: service_asleep
-- taught by: -
-- source: descriptor, process, request, service_address, service_process, syscall, workload_thread
-- evidence: SELECT p.name, p.pid, d.peer, d.fd, d.ts_ns, d.end_ts_ns FROM descriptor AS d JOIN process AS p USING (upid) WHERE d.kind = 'socket' AND d.opened_by = 'socket' AND d.peer IS NOT NULL
--   AND d.end_ts_ns IS NOT NULL ORDER BY d.upid, d.ts_ns, d.fd
WITH threshold AS (
  SELECT 10 AS given_up_count, 0.1 AS given_up_ratio, 0.5 AS critical_ratio, 5000000 AS after_ns, 0.2 AS spread_ratio, 10000000 AS again_ns, 500000000 AS long_ns
), made AS (
  SELECT descriptor_id, upid, peer, ts_ns, end_ts_ns, coalesce(end_known_from, 'close') = 'close' AS is_closed
  FROM descriptor
  WHERE kind = 'socket' AND opened_by = 'socket' AND peer IS NOT NULL AND ts_ns IS NOT NULL AND upid IN (SELECT upid FROM workload_thread)
), said AS (
  SELECT s.descriptor_id,
    max(s.exit_ts_ns) FILTER (s.ret > 0 AND s.name IN ('write', 'writev', 'send', 'sendto', 'sendmsg', 'sendmmsg', 'sendfile', 'sendfile64', 'splice')) AS asked_ns,
    -- The end of the file is an answer, too: the other end closed it.
    max(s.exit_ts_ns) FILTER ((s.ret >= 0 OR s.errno_name = 'ECONNRESET') AND s.name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg', 'recvmmsg')) AS heard_ns
  FROM syscall AS s
  WHERE s.descriptor_id IN (SELECT descriptor_id FROM made)
  GROUP BY s.descriptor_id
), asked AS (
  SELECT m.*, s.asked_ns, m.is_closed AND coalesce(s.heard_ns < s.asked_ns, true) AND m.end_ts_ns - s.asked_ns >= h.after_ns AS is_given_up, m.end_ts_ns - s.asked_ns AS after_ns
  FROM made AS m
  JOIN said AS s USING (descriptor_id)
  CROSS JOIN threshold AS h
  WHERE s.asked_ns IS NOT NULL
), again AS (
  SELECT g.descriptor_id
  FROM asked AS g
  CROSS JOIN threshold AS h
  ASOF JOIN (SELECT upid, peer, ts_ns FROM made) AS n ON n.upid = g.upid AND n.peer = g.peer AND n.ts_ns >= g.end_ts_ns
  WHERE g.is_given_up AND n.ts_ns <= g.end_ts_ns + h.again_ns
), total AS (
  SELECT upid, peer, count(*) FILTER (is_given_up) AS given_up_count, count(*) FILTER (is_given_up OR end_ts_ns IS NOT NULL) AS asked_count, median(after_ns) FILTER (is_given_up) AS after_ns,
    quantile_cont(after_ns, 0.1) FILTER (is_given_up) AS least_ns, quantile_cont(after_ns, 0.9) FILTER (is_given_up) AS most_ns,
    count(*) FILTER (descriptor_id IN (SELECT descriptor_id FROM again)) AS again_count, sum(after_ns::HUGEINT) FILTER (is_given_up) AS wait_ns
  FROM asked
  GROUP BY upid, peer
), server AS (
  SELECT t.upid, t.peer, any_value(p.name) AS name, any_value(p.pid) AS pid, avg(r.duration_ns) AS answer_ns, count(r.duration_ns) AS answer_count
  FROM total AS t
  JOIN service_address AS a ON a.address = @plain_address(t.peer)
  JOIN service_process AS f ON f.upid = a.upid
  JOIN process AS p ON p.upid = f.service_upid
  JOIN service_process AS g ON g.service_upid = f.service_upid
  LEFT JOIN request AS r ON r.upid = g.upid
  GROUP BY t.upid, t.peer
)
SELECT
  @severity(t.given_up_count >= h.critical_ratio * t.asked_count, true) AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('it gave up {} of its {} questions to {} without an answer, {:.1f} ms after each (a time limit){}{}', @whole(t.given_up_count), @whole(t.asked_count), t.peer, t.after_ns / 1e6,
    CASE WHEN t.again_count > 0 THEN format(', and asks again at once {} time{}', @whole(t.again_count), CASE t.again_count WHEN 1 THEN '' ELSE 's' END) ELSE '' END,
    CASE WHEN s.answer_count > 0 THEN format('; {} ({}) takes {:.1f} ms for an answer on average', s.name, s.pid, s.answer_ns / 1e6) ELSE '' END) AS message,
  @whole(t.wait_ns) AS cost_ns, (t.given_up_count / t.asked_count)::DOUBLE AS failed_ratio, ['peer ' || t.peer] AS about
FROM total AS t
JOIN process AS p USING (upid)
LEFT JOIN server AS s ON s.upid = t.upid AND s.peer = t.peer
CROSS JOIN threshold AS h
WHERE t.given_up_count >= h.given_up_count AND t.given_up_count >= h.given_up_ratio * t.asked_count AND t.most_ns - t.least_ns <= h.spread_ratio * t.after_ns
  AND t.after_ns < h.long_ns
