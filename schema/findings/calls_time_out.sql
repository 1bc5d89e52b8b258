-- calls_time_out: Calls wait for an answer until their time is over, and no answer comes
-- condition: a thread asked something on a socket as a client (it wrote there, or a connect was under way), nothing was read there,
--   and its wait of 0.5 s or longer ended because its time was over. A blocking read that ends with EAGAIN (SO_RCVTIMEO) says so
--   itself, and so does a connect that ends with ETIMEDOUT or EINPROGRESS (SO_SNDTIMEO). A poll, select or epoll_wait that returns 0
--   counts if it took a round time (0.5, 1, 2, 2.5, 3, 5, 10, 15, 20, 30 or 60 s within 1 %: somebody chose it), and if the thread,
--   before it waited again, closed the socket, connected another one, or asked again a peer that answers at other times. Two
--   questions that went out in one sendmmsg need two answers. The ticks of an event loop, keep-alive timers of idle connections
--   and of a server do not count, nor do messages that nobody answers (statistics, logs): a peer other than a name server that never answers
--   counts on a socket that was made in the recording and on which it was asked three times at most. A warning from 1 s
--   together, critical from a tenth of the recording. Where the peer is not known, the message has that of waits of the same program in the
--   same call that were as long, if all of these had one. Where it is known of three such questions or more how long their connections were idle before, and this was longer than before any of ten or more questions of this process to this peer
--   that had an answer, it says so: this comes by chance once in 286 (Mann, Whitney, 1947). A firewall or NAT that forgets idle connections drops what comes on them (RFC 5382, REQ-5)
-- means: the question or its answer was lost, or the peer does not work. The user waits for the whole time, however fast everything
--   else is. A name server that does not answer costs 5 s with the default of resolv.conf(5), before the next one is asked. Where
--   the addresses of IPv4 and IPv6 are asked for at once, one lost answer is enough
-- next: perfcase view syscall_log: the question, the wait, and what the program did then
-- next: perfcase view socket_answer: whether, and how fast, this peer answers other questions
-- next: perfcase view tcp_activity: whether segments were lost; and look at the peer
-- next: where connections were idle before: keep-alive probes (tcp(7), TCP_KEEPIDLE), or a pool that closes a connection before the way forgets it
-- about: what the process waited for in vain: the peer
-- follows from: event_loop_computes, failing_calls, fd_leak, large_segments_lost, listen_overflow, service_asleep, slow_reader, standing_queue
-- taught by: -
-- source: descriptor, process, recorded_span, socket_turn, syscall, thread, workload_thread
-- evidence: SELECT t.comm, t.tid, s.name, d.peer, s.ts_ns, s.duration_ns, s.ret, s.errno_name FROM syscall AS s JOIN thread AS t USING (utid)
--   LEFT JOIN descriptor AS d USING (descriptor_id) WHERE s.duration_ns >= 495000000 AND (s.ret = 0 OR s.errno_name IN ('EAGAIN', 'ETIMEDOUT', 'EINPROGRESS'))
--   AND s.name NOT LIKE 'futex%' AND s.name NOT LIKE '%nanosleep%' ORDER BY s.duration_ns DESC, s.ts_ns, t.tid
WITH threshold AS (
  SELECT [500000000, 1000000000, 2000000000, 2500000000, 3000000000, 5000000000, 10000000000, 15000000000, 20000000000, 30000000000, 60000000000] AS round_ns,
    0.01 AS round_ratio, 495000000 AS wait_ns, 1000000 AS look_ns, 3 AS question_count, 3 AS idle_count, 10 AS answer_count, 1000000000 AS warning_ns, 0.1 AS critical_ratio
), over AS (
  -- Few of many calls: all that follows is asked of these.
  SELECT s.utid, s.name, s.ts_ns, s.exit_ts_ns, s.duration_ns, s.descriptor_id, s.errno_name,
    CASE WHEN s.name = 'connect' THEN 'connect' WHEN s.ret = 0 THEN 'poll' ELSE 'read' END AS kind
  FROM syscall AS s
  CROSS JOIN threshold AS h
  WHERE s.duration_ns >= h.wait_ns AND s.utid IN (SELECT utid FROM workload_thread)
    AND (s.name IN ('poll', 'ppoll', 'ppoll_time64', 'select', '_newselect', 'pselect6', 'pselect6_time64', 'epoll_wait', 'epoll_pwait', 'epoll_pwait2')
        AND s.ret = 0
      OR s.name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg', 'recvmmsg') AND s.errno_name = 'EAGAIN'
      OR s.name = 'connect' AND s.errno_name IN ('ETIMEDOUT', 'EINPROGRESS'))
    AND (s.errno_name IS NOT NULL OR len(list_filter(h.round_ns, lambda r: abs(s.duration_ns - r) <= h.round_ratio * r)) > 0)
), place AS (
  SELECT d.descriptor_id, d.upid, d.fd, d.ts_ns, d.end_ts_ns, d.peer, regexp_extract(d.peer, ':([0-9]+)$', 1) AS peer_port,
    regexp_extract(d.local, ':([0-9]+)$', 1) AS local_port
  FROM descriptor AS d
  WHERE d.kind = 'socket' AND coalesce(d.opened_by, '') NOT IN ('accept', 'accept4', 'socketpair')
    AND d.upid IN (SELECT t.upid FROM thread AS t WHERE t.utid IN (SELECT utid FROM over))
), used AS (
  SELECT s.descriptor_id, s.utid, s.ts_ns, s.exit_ts_ns,
    CASE WHEN s.name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg', 'recvmmsg') THEN 'answer' ELSE 'question' END AS deed,
    CASE WHEN s.name = 'sendmmsg' THEN s.ret ELSE 1 END AS question_count, s.name = 'connect' AS is_connect
  FROM syscall AS s
  WHERE s.descriptor_id IN (SELECT descriptor_id FROM place)
    AND (s.name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg', 'recvmmsg') AND s.ret >= 0
      OR s.name IN ('write', 'writev', 'send', 'sendto', 'sendmsg', 'sendmmsg', 'sendfile', 'sendfile64') AND s.ret > 0
      OR s.name = 'connect' AND (s.ret = 0 OR s.errno_name = 'EINPROGRESS'))
), answer AS (
  SELECT descriptor_id, exit_ts_ns, row_number() OVER (PARTITION BY descriptor_id ORDER BY exit_ts_ns) AS number FROM used WHERE deed = 'answer'
), question AS (
  SELECT descriptor_id, utid, ts_ns, exit_ts_ns, question_count, NOT is_connect AS is_written FROM used WHERE deed = 'question'
), one_way AS (
  SELECT q.descriptor_id
  FROM question AS q
  CROSS JOIN threshold AS h
  GROUP BY q.descriptor_id
  HAVING count(*) FILTER (q.is_written) > any_value(h.question_count)
), answering AS (
  SELECT DISTINCT upid, peer FROM socket_turn WHERE is_client AND peer IS NOT NULL
), client AS (
  SELECT p.*, p.peer_port = '53' OR (p.upid, p.peer) IN (FROM answering) AS is_answering
  FROM place AS p
  WHERE (p.peer_port = '53' OR (p.upid, p.peer) IN (FROM answering) OR p.ts_ns IS NOT NULL AND p.descriptor_id NOT IN (SELECT descriptor_id FROM one_way))
    AND (p.descriptor_id IN (SELECT descriptor_id FROM used WHERE is_connect)
      OR (p.upid, p.peer) IN (FROM answering)
      OR TRY_CAST(p.peer_port AS INTEGER) < 32768 AND coalesce(TRY_CAST(p.local_port AS INTEGER), 65535) >= 32768)
), pair AS (
  -- Each wait with each socket that its thread asked something on and that was open all the while; of a read only its own.
  SELECT o.utid, o.name, o.kind, o.ts_ns, o.exit_ts_ns, o.duration_ns, c.descriptor_id, c.end_ts_ns, c.is_answering
  FROM over AS o
  JOIN (SELECT DISTINCT utid, descriptor_id FROM question) AS q USING (utid)
  JOIN client AS c ON c.descriptor_id = q.descriptor_id AND coalesce(c.ts_ns, o.ts_ns) <= o.ts_ns AND coalesce(c.end_ts_ns, o.exit_ts_ns) >= o.exit_ts_ns
  WHERE o.kind = 'poll' OR o.kind = 'read' AND o.descriptor_id = c.descriptor_id
), asked AS (
  SELECT p.*, q.exit_ts_ns AS question_ts_ns, q.question_count
  FROM pair AS p
  ASOF JOIN question AS q ON q.utid = p.utid AND q.descriptor_id = p.descriptor_id AND q.exit_ts_ns <= p.ts_ns
), unanswered AS (
  SELECT a.*
  FROM asked AS a
  ASOF LEFT JOIN answer AS b ON b.descriptor_id = a.descriptor_id AND b.exit_ts_ns <= a.question_ts_ns
  ASOF LEFT JOIN answer AS e ON e.descriptor_id = a.descriptor_id AND e.exit_ts_ns <= a.exit_ts_ns
  WHERE coalesce(e.number, 0) - coalesce(b.number, 0) < a.question_count
), waiting AS (
  SELECT s.utid, s.ts_ns
  FROM syscall AS s
  CROSS JOIN threshold AS h
  WHERE s.utid IN (SELECT utid FROM unanswered)
    AND s.name IN ('poll', 'ppoll', 'ppoll_time64', 'select', '_newselect', 'pselect6', 'pselect6_time64', 'epoll_wait', 'epoll_pwait', 'epoll_pwait2')
    AND (s.duration_ns >= h.look_ns OR s.duration_ns IS NULL)
), connecting AS (
  SELECT s.utid, s.ts_ns FROM syscall AS s WHERE s.name = 'connect' AND s.utid IN (SELECT utid FROM unanswered)
), following AS (
  SELECT u.*, coalesce(w.ts_ns, 9223372036854775807) AS next_ts_ns
  FROM unanswered AS u
  ASOF LEFT JOIN waiting AS w ON w.utid = u.utid AND w.ts_ns >= u.exit_ts_ns
), given_up AS (
  SELECT f.*
  FROM following AS f
  ASOF LEFT JOIN question AS q ON q.utid = f.utid AND q.descriptor_id = f.descriptor_id AND q.ts_ns >= f.exit_ts_ns
  ASOF LEFT JOIN connecting AS c ON c.utid = f.utid AND c.ts_ns >= f.exit_ts_ns
  WHERE f.kind = 'read' OR f.end_ts_ns <= f.next_ts_ns OR f.is_answering AND q.ts_ns < f.next_ts_ns OR c.ts_ns < f.next_ts_ns
), lost AS (
  -- A wait counts once: for the socket that was asked last.
  SELECT utid, name, ts_ns, duration_ns, arg_max(descriptor_id, (question_ts_ns, descriptor_id)) AS descriptor_id, max(question_ts_ns) AS question_ts_ns
  FROM given_up
  GROUP BY utid, name, ts_ns, duration_ns
  UNION ALL
  SELECT utid, name, ts_ns, duration_ns, descriptor_id, NULL FROM over WHERE kind = 'connect'
), asking AS (
  -- Each question, for how long its connection was idle before, and whether an answer came next; of the first one in the recording that is not known.
  SELECT u.descriptor_id, u.exit_ts_ns, max(u.idle_ns) AS idle_ns, bool_or(u.next_deed = 'answer') AS is_answered
  FROM (
    SELECT descriptor_id, exit_ts_ns, deed, is_connect, ts_ns - lag(exit_ts_ns) OVER use AS idle_ns, lead(deed) OVER use AS next_deed
    FROM used
    WINDOW use AS (PARTITION BY descriptor_id ORDER BY ts_ns, exit_ts_ns)
  ) AS u
  WHERE u.deed = 'question' AND NOT u.is_connect AND u.idle_ns IS NOT NULL
  GROUP BY u.descriptor_id, u.exit_ts_ns
), sooner AS (
  SELECT p.upid, p.peer, count(*) AS answer_count, max(a.idle_ns) AS idle_ns
  FROM asking AS a
  JOIN place AS p USING (descriptor_id)
  WHERE a.is_answered
  GROUP BY p.upid, p.peer
), named AS (
  SELECT l.utid, t.upid, t.pid, coalesce(p.name, t.comm) AS process, l.name, l.ts_ns, l.duration_ns, d.peer, a.idle_ns
  FROM lost AS l
  JOIN thread AS t USING (utid)
  LEFT JOIN process AS p USING (upid)
  LEFT JOIN descriptor AS d USING (descriptor_id)
  LEFT JOIN asking AS a ON a.descriptor_id = l.descriptor_id AND a.exit_ts_ns = l.question_ts_ns
), alike AS (
  -- A socket that was open between two readings of the descriptors has no name: waits of its program in this call of the same length have.
  SELECT process, name, any_value(peer) AS peer, count(*) AS wait_count, min(duration_ns) AS shortest_ns, max(duration_ns) AS longest_ns
  FROM named
  WHERE peer IS NOT NULL
  GROUP BY process, name
  HAVING min(peer) = max(peer)
), total AS (
  SELECT upid, pid, process, peer, name, count(*) AS wait_count, count(DISTINCT utid) AS thread_count, sum(duration_ns) AS wait_ns,
    max(duration_ns) AS longest_ns, min(duration_ns) AS shortest_ns, count(idle_ns) AS idle_count, min(idle_ns) AS idle_ns
  FROM named
  GROUP BY upid, pid, process, peer, name
)
SELECT
  @severity(x.wait_ns / c.duration_ns / x.thread_count >= h.critical_ratio, x.wait_ns >= h.warning_ns) AS severity,
  format('{} ({})', coalesce(x.process, '?'), coalesce(x.pid::VARCHAR, '?')) AS subject,
  format('{} of {} ended without {} {}{} when the time was over: {:.2f} s in all, the longest {:.2f} s{}{}',
    CASE x.wait_count WHEN 1 THEN 'a wait' ELSE x.wait_count || ' waits' END, x.name,
    CASE x.name WHEN 'connect' THEN 'a connection to' ELSE 'an answer of' END,
    CASE WHEN regexp_matches(x.peer, ':53$') THEN 'a name server (DNS), ' ELSE '' END, coalesce(x.peer, 'a peer that the capture does not name'),
    x.wait_ns / 1e9, x.longest_ns / 1e9,
    CASE WHEN x.idle_count >= h.idle_count AND s.answer_count >= h.answer_count AND s.idle_ns < x.idle_ns THEN
      format('; {} of these questions went out on connections that were idle for {:.2f} s or longer before, while {} after {:.2f} s or less had an answer', x.idle_count, x.idle_ns / 1e9, s.answer_count, s.idle_ns / 1e9) ELSE '' END,
    coalesce(format('; {} of {}, as long and with a known peer, {} for {}{}', CASE l.wait_count WHEN 1 THEN 'a wait' ELSE l.wait_count || ' waits' END, x.process,
      CASE l.wait_count WHEN 1 THEN 'was' ELSE 'were' END, CASE WHEN regexp_matches(l.peer, ':53$') THEN 'a name server (DNS), ' ELSE '' END, l.peer), '')) AS message,
  @whole(x.wait_ns) AS cost_ns, ['timeouts of process ' || x.upid, 'peer ' || coalesce(x.peer, l.peer)] AS about
FROM total AS x
CROSS JOIN threshold AS h
LEFT JOIN alike AS l ON x.peer IS NULL AND l.process = x.process AND l.name = x.name
  AND x.longest_ns <= (1 + h.round_ratio) * l.longest_ns AND x.shortest_ns >= (1 - h.round_ratio) * l.shortest_ns
LEFT JOIN sooner AS s ON s.upid = x.upid AND s.peer = x.peer
JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
