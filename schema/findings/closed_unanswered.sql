-- closed_unanswered: Connections are closed by the other end without any answer
-- condition: on 5 connections or more of a process to one peer, a tenth or more of those on which it wrote something, the other end closed (a read returned 0, the
--   end of the file: recv(2)) or reset it (ECONNRESET, which is also what a close makes of a question that was not read: RFC 2525, 2.17) and had not sent a byte, or none since the last question, if that
--   is as long as the shortest one that was answered (TLS says a word before it ends, RFC 8446, 6.1). Where the process itself had said before that it sends no more (shutdown(2)), the end is its answer. Critical from half. Where the process at the other end is in the
--   recording too, the message has how many of its processes ended with a request under way, and whether a signal was sent just before (kill(2)), or
--   that one of them closed half as many connections or more without reading from them: it turns them away
-- means: the question was read or not, nobody knows, and it was not answered: the server died in the middle (a crash, a watchdog such as gunicorn's --timeout,
--   PHP-FPM's request_terminate_timeout), turned the connection away (a limit of its connections: worker_connections of nginx, maxclients of Redis), or closes idle connections that the client uses again
-- next: perfcase view fd_history: the connections, and what closed them
-- next: perfcase sql: the evidence: what was written, and when the end came
-- next: the log of the server at that time
-- about: the peer
-- follows from: crashes, fd_leak
-- taught by: -
-- source: descriptor, process, request, service_address, service_process, syscall, thread, workload_thread
-- evidence: SELECT p.name, p.pid, d.peer, d.fd, d.ts_ns, s.ts_ns AS end_of_file_ts_ns FROM syscall AS s JOIN descriptor AS d USING (descriptor_id) JOIN process AS p USING (upid)
--   WHERE s.ret = 0 AND s.name IN ('read', 'recv', 'recvfrom', 'recvmsg') AND d.kind = 'socket' AND d.opened_by = 'socket' ORDER BY s.ts_ns, d.upid, d.fd
WITH threshold AS (
  SELECT 5 AS closed_count, 0.1 AS closed_ratio, 0.5 AS critical_ratio, 200000000 AS just_ns, 0.1 AS died_ratio, 0.5 AS turned_ratio
), ended AS (
  SELECT DISTINCT s.descriptor_id
  FROM syscall AS s
  WHERE (s.ret = 0 OR s.errno_name = 'ECONNRESET') AND s.name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg')
), client AS (
  SELECT descriptor_id, upid, peer
  FROM descriptor
  WHERE kind = 'socket' AND opened_by = 'socket' AND peer IS NOT NULL AND upid IN (SELECT upid FROM workload_thread)
    AND (upid, peer) IN (SELECT (d.upid, d.peer) FROM descriptor AS d JOIN ended USING (descriptor_id) WHERE d.opened_by = 'socket')
), moved AS (
  SELECT s.descriptor_id, coalesce(bool_or(s.ret = 0 AND s.name = 'shutdown'), false) AS has_parted, bool_or(s.ret > 0 AND s.name IN ('write', 'writev', 'send', 'sendto', 'sendmsg', 'sendmmsg', 'sendfile', 'sendfile64')) AS has_asked,
    bool_or(s.ret > 0 AND s.name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg', 'recvmmsg')) AS is_answered,
    max(s.exit_ts_ns) FILTER ((s.ret = 0 OR s.errno_name = 'ECONNRESET') AND s.name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg')) AS end_ns,
    coalesce(bool_or(s.errno_name = 'ECONNRESET' AND s.name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg')), false) AS is_reset
  FROM syscall AS s
  WHERE s.descriptor_id IN (SELECT descriptor_id FROM client)
  GROUP BY s.descriptor_id
), spoken AS (
  -- What was said and heard on each connection, in its order.
  SELECT s.descriptor_id, s.ts_ns, s.exit_ts_ns, s.ret, starts_with(s.name, 'w') OR starts_with(s.name, 'send') AS is_question, lag(s.exit_ts_ns) OVER w AS before_ns,
    lag(is_question) OVER w IS NOT DISTINCT FROM false AS is_next, lead(is_question) OVER w AS more
  FROM syscall AS s
  WHERE s.ret > 0 AND s.descriptor_id IN (SELECT descriptor_id FROM client) AND s.name IN ('write', 'writev', 'send', 'sendto', 'sendmsg', 'sendmmsg',
    'sendfile', 'sendfile64', 'read', 'readv', 'recv', 'recvfrom', 'recvmsg', 'recvmmsg')
  WINDOW w AS (PARTITION BY s.descriptor_id ORDER BY s.ts_ns)
), usual AS (
  SELECT c.upid, c.peer, min(s.ret) AS least_bytes, avg(s.ts_ns - s.before_ns) FILTER (s.is_next) AS idle_ns
  FROM spoken AS s
  JOIN client AS c USING (descriptor_id)
  WHERE s.is_question AND s.more = false
  GROUP BY c.upid, c.peer
), last_said AS (
  -- A question after an answer, of which nothing was heard.
  SELECT descriptor_id, ret AS bytes, exit_ts_ns AS said_ns, ts_ns - before_ns AS idle_ns FROM spoken WHERE is_question AND is_next AND more IS NULL
), asked AS (
  -- Who has said that it sends no more waits for the end, not for an answer (a shipper of logs or metrics).
  SELECT m.*, c.upid, c.peer, l.idle_ns, m.end_ns IS NOT NULL AND (NOT m.is_answered OR l.bytes >= u.least_bytes AND l.said_ns < m.end_ns) IS TRUE AS is_closed,
    u.idle_ns AS usual_idle_ns
  FROM moved AS m
  JOIN client AS c USING (descriptor_id)
  LEFT JOIN last_said AS l USING (descriptor_id)
  LEFT JOIN usual AS u USING (upid, peer)
  WHERE m.has_asked AND NOT m.has_parted
), total AS (
  SELECT upid, peer, count(*) AS asked_count, count(*) FILTER (is_closed) AS closed_count, count(*) FILTER (is_closed AND is_reset) AS reset_count,
    list(end_ns) FILTER (is_closed) AS ends, count(*) FILTER (is_closed AND is_answered) AS used_count, avg(idle_ns) FILTER (is_closed AND is_answered) AS idle_ns,
    any_value(usual_idle_ns) AS usual_idle_ns
  FROM asked
  GROUP BY upid, peer
), found AS (
  SELECT t.*, t.closed_count / t.asked_count AS closed_ratio FROM total AS t CROSS JOIN threshold AS h
  WHERE t.closed_count >= h.closed_count AND t.closed_count >= h.closed_ratio * t.asked_count
), died AS (
  -- Processes that ended with a request under way, just before a connection did.
  SELECT f.upid, f.peer, g.service_upid, count(DISTINCT p.upid) AS died_count, list(DISTINCT p.end_ts_ns) AS ends
  FROM found AS f
  JOIN service_address AS a ON a.address = @plain_address(f.peer)
  JOIN service_process AS g ON g.upid = a.upid
  JOIN service_process AS o ON o.service_upid = g.service_upid
  CROSS JOIN threshold AS h
  JOIN process AS p ON p.upid = o.upid AND len(list_filter(f.ends, lambda e: abs(e - p.end_ts_ns) <= h.just_ns)) > 0
  JOIN request AS r ON r.upid = p.upid AND r.end_ts_ns IS NULL AND r.ts_ns <= p.end_ts_ns
  GROUP BY f.upid, f.peer, g.service_upid, f.closed_count, h.died_ratio
  HAVING count(DISTINCT p.upid) >= h.died_ratio * f.closed_count
), sent AS (
  SELECT d.upid, d.peer, s.args[2] AS signal, t.comm, t.pid, count(*) AS signal_count
  FROM died AS d
  CROSS JOIN threshold AS h
  JOIN syscall AS s ON s.name = 'kill' AND s.ret = 0 AND s.args[2] > 0 AND len(list_filter(d.ends, lambda e: e - s.ts_ns BETWEEN 0 AND h.just_ns)) > 0
  JOIN thread AS t USING (utid)
  GROUP BY ALL
), door AS (
  -- What a process takes through its only port is of this port, also where it was closed before anyone read its address.
  SELECT t.upid, any_value(regexp_extract(d.local, ':([0-9]+)$', 1)) AS port
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  JOIN descriptor AS d USING (descriptor_id)
  WHERE s.name IN ('accept', 'accept4') AND t.upid IN (SELECT a.upid FROM service_address AS a JOIN found AS f ON a.address = @plain_address(f.peer)) AND d.local IS NOT NULL
  GROUP BY t.upid
  HAVING min(regexp_extract(d.local, ':([0-9]+)$', 1)) = max(regexp_extract(d.local, ':([0-9]+)$', 1))
), taken AS (
  SELECT f.upid, f.peer, d.descriptor_id, d.upid AS server_upid, d.end_ts_ns - d.ts_ns AS life_ns
  FROM found AS f
  JOIN service_address AS a ON a.address = @plain_address(f.peer)
  JOIN descriptor AS d ON d.upid = a.upid AND d.opened_by IN ('accept', 'accept4') AND d.end_ts_ns IS NOT NULL
  LEFT JOIN door AS o ON o.upid = d.upid AND o.port = regexp_extract(f.peer, ':([0-9]+)$', 1)
  WHERE @plain_address(d.local) = a.address OR d.local IS NULL AND o.upid IS NOT NULL
), heard AS (
  SELECT DISTINCT descriptor_id
  FROM syscall
  WHERE descriptor_id IN (SELECT descriptor_id FROM taken) AND ret > 0 AND name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg', 'recvmmsg')
), unread AS (
  SELECT upid, peer, server_upid, count(*) AS unread_count, avg(life_ns) AS life_ns_avg
  FROM taken
  WHERE descriptor_id NOT IN (SELECT descriptor_id FROM heard WHERE descriptor_id IS NOT NULL)
  GROUP BY upid, peer, server_upid
), turned AS (
  SELECT u.upid, u.peer, arg_max(format('; {} ({}) closed {} connections without reading from them, {:.2f} ms after it had taken each on average: it turns them away', coalesce(p.name, '?'), p.pid, @whole(u.unread_count),
      u.life_ns_avg / 1e6), (u.unread_count, p.pid)) AS text
  FROM unread AS u
  JOIN process AS p ON p.upid = u.server_upid
  JOIN found AS f ON f.upid = u.upid AND f.peer = u.peer
  CROSS JOIN threshold AS h
  WHERE u.unread_count >= h.turned_ratio * f.closed_count
  GROUP BY u.upid, u.peer
), killed AS (
  SELECT upid, peer, arg_max(format('; signal {} was sent by {} ({}) just before {} times', signal, comm, pid, signal_count), (signal_count, signal, pid)) AS text FROM sent GROUP BY upid, peer
)
SELECT
  @severity(f.closed_ratio >= h.critical_ratio, true) AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} of its {} connections to {} on which it asked something were closed without an answer ({:.1f} %){}, the first at {:.2f} s{}{}{}{}', f.closed_count, f.asked_count, f.peer,
    100 * f.closed_ratio, CASE WHEN f.reset_count > 0 THEN format(', {} of them by a reset', f.reset_count) ELSE '' END, list_min(f.ends) / 1e9,
    CASE WHEN f.used_count > 0 THEN format('; {} of them had answered before, and were idle for {:.1f} ms on average before the question{}', @whole(f.used_count), f.idle_ns / 1e6,
      coalesce(format(', those with an answer for {:.1f} ms', f.usual_idle_ns / 1e6), '')) ELSE '' END,
    coalesce((SELECT format('; {} of the processes of {} ({}) ended with a request under way', @whole(sum(d.died_count)), any_value(q.name), min(q.pid)) FROM died AS d JOIN process AS q ON q.upid = d.service_upid
      WHERE d.upid = f.upid AND d.peer = f.peer HAVING count(*) > 0), ''),
    coalesce(k.text, ''), coalesce(z.text, '')) AS message,
  f.closed_ratio::DOUBLE AS failed_ratio, ['peer ' || f.peer] AS about
FROM found AS f
JOIN process AS p USING (upid)
LEFT JOIN killed AS k ON k.upid = f.upid AND k.peer = f.peer
LEFT JOIN turned AS z ON z.upid = f.upid AND z.peer = f.peer
CROSS JOIN threshold AS h
