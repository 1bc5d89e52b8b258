-- event_loop_computes: A single-threaded server computes for long: the requests of its other clients wait
-- condition: one thread reads all requests of a process, or is the only one that waits on its epoll descriptor. From one look at
--   its sockets (poll, select, epoll_wait, accept, a read there) to the next it took 100 ms or longer and ran half of this time or
--   more. Within 1 ms, and without a sleep, it then read a request from another connection, so this one had been waiting. That
--   is so after half of these stretches or more, of three requests or more, and the stretches take 5 % or more of the recording.
--   Critical from half. asyncio's debug mode logs a callback from 100 ms (slow_callback_duration). A client that asks again on
--   the connection that was just answered proves nothing: it did not wait. The function that half of its samples then share is named, or the object
--   of as many where no function has a name
-- means: the loop serves nothing while it computes. One expensive request (a large answer, a regular expression, KEYS over all keys of a
--   Redis) delays all that came in the meantime, however cheap they are
-- next: perfcase view request_summary, request_time: which requests are slow
-- next: perfcase flamegraph: what the thread computes
-- next: split the work into short steps, move it to a worker thread or process, or run more processes that share the port
-- about: those who wait for its answers: the addresses at which it answers
-- taught by: -
-- source: descriptor, followed_state, frame_label, perf_event, recorded_span, recorder_thread, request, sample,
--   service_address, stack, stack_entry, syscall, thread
-- evidence: SELECT t.comm, t.tid, s.ts_ns, s.duration_ns FROM followed_state AS s JOIN thread AS t USING (utid) WHERE s.state = 'running'
--   AND s.duration_ns >= 10000000 AND s.utid IN (SELECT utid FROM request) ORDER BY s.duration_ns DESC, s.ts_ns, t.tid
WITH threshold AS (
  SELECT 100000000 AS work_ns, 0.5 AS running_ratio, 1000000 AS at_once_ns, 3 AS request_count, 0.5 AS waited_ratio, 0.05 AS blocked_ratio,
    0.5 AS critical_ratio, 0.5 AS sample_ratio
), looker AS (
  SELECT t.upid, s.fd, min(s.utid) AS utid
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  WHERE s.name IN ('epoll_wait', 'epoll_pwait', 'epoll_pwait2') AND s.fd IS NOT NULL AND t.upid IN (SELECT upid FROM request)
  GROUP BY t.upid, s.fd
  HAVING min(s.utid) = max(s.utid)
), server AS (
  SELECT utid
  FROM (
    SELECT min(utid) AS utid FROM request GROUP BY upid HAVING min(utid) = max(utid)
    UNION
    SELECT utid FROM looker
  )
  WHERE utid IN (SELECT utid FROM request) AND utid NOT IN (SELECT utid FROM recorder_thread)
), look AS (
  SELECT s.utid, s.exit_ts_ns AS ts_ns, lead(s.ts_ns) OVER (PARTITION BY s.utid ORDER BY s.ts_ns, s.exit_ts_ns) AS end_ns
  FROM syscall AS s
  WHERE s.utid IN (SELECT utid FROM server)
    AND (s.name IN ('epoll_wait', 'epoll_pwait', 'epoll_pwait2', 'poll', 'ppoll', 'ppoll_time64', 'select', '_newselect', 'pselect6', 'pselect6_time64',
        'accept', 'accept4')
      OR s.name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg', 'recvmmsg')
        AND s.descriptor_id IN (SELECT descriptor_id FROM descriptor WHERE kind = 'socket'))
), long AS (
  SELECT l.utid, l.ts_ns, l.end_ns
  FROM look AS l
  CROSS JOIN threshold AS h
  WHERE l.end_ns - l.ts_ns >= h.work_ns
), work AS (
  SELECT l.utid, l.ts_ns, l.end_ns
  FROM long AS l
  JOIN followed_state AS s ON s.utid = l.utid AND s.ts_ns < l.end_ns AND s.ts_ns + s.duration_ns > l.ts_ns AND s.state = 'running'
  CROSS JOIN threshold AS h
  GROUP BY l.utid, l.ts_ns, l.end_ns, h.running_ratio
  HAVING sum(least(s.ts_ns + s.duration_ns, l.end_ns) - greatest(s.ts_ns, l.ts_ns)) >= h.running_ratio * (l.end_ns - l.ts_ns)
), slept AS (
  SELECT utid, ts_ns FROM followed_state WHERE state IN ('sleeping', 'disk_sleep') AND utid IN (SELECT utid FROM work)
), free AS (
  SELECT w.utid, w.ts_ns, w.end_ns, least(w.end_ns + h.at_once_ns, coalesce(s.ts_ns, w.end_ns + h.at_once_ns)) AS until_ns
  FROM work AS w
  CROSS JOIN threshold AS h
  ASOF LEFT JOIN slept AS s ON s.utid = w.utid AND s.ts_ns >= w.end_ns
), asked AS (
  SELECT utid, ts_ns, lag(end_ts_ns) OVER (PARTITION BY upid, fd, since_ts_ns ORDER BY ts_ns) AS answered_ns
  FROM request
  WHERE utid IN (SELECT utid FROM work)
), waited AS (
  SELECT f.utid, f.ts_ns, f.end_ns, count(a.ts_ns) AS request_count
  FROM free AS f
  LEFT JOIN asked AS a ON a.utid = f.utid AND a.ts_ns >= f.end_ns AND a.ts_ns <= f.until_ns AND coalesce(a.answered_ns NOT BETWEEN f.ts_ns AND f.end_ns, true)
  GROUP BY f.utid, f.ts_ns, f.end_ns
), total AS (
  SELECT utid, count(*) FILTER (request_count > 0) AS waited_count, count(*) AS work_count, sum(request_count) AS request_count,
    sum(end_ns - ts_ns) FILTER (request_count > 0) AS blocked_ns, max(end_ns - ts_ns) FILTER (request_count > 0) AS max_ns
  FROM waited
  GROUP BY utid
), found AS (
  SELECT x.*, least(1, x.blocked_ns / c.duration_ns) AS blocked_ratio
  FROM total AS x
  CROSS JOIN threshold AS h
  JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
  WHERE x.request_count >= h.request_count AND x.waited_count >= h.waited_ratio * x.work_count AND x.blocked_ns >= h.blocked_ratio * c.duration_ns
), hit AS (
  SELECT s.utid, s.stack_id, count(*) AS sample_count
  FROM sample AS s
  JOIN waited AS w ON w.utid = s.utid AND s.ts_ns BETWEEN w.ts_ns AND w.end_ns
  WHERE w.request_count > 0 AND s.utid IN (SELECT utid FROM found) AND s.event_id IN (SELECT event_id FROM perf_event WHERE name SIMILAR TO '(cpu-cycles|cycles|cpu-clock|task-clock)([:/].*)?')
  GROUP BY s.utid, s.stack_id
), place AS (
  -- A recursive function counts where it is nearest to the root.
  SELECT i.utid, i.stack_id, i.sample_count, l.label, min(k.depth - e.position) AS depth
  FROM hit AS i
  JOIN stack AS k USING (stack_id)
  JOIN stack_entry AS e USING (stack_id)
  JOIN frame_label AS l USING (frame_id)
  WHERE l.unnamed_address IS NULL AND NOT l.is_kernel
  GROUP BY ALL
), common AS (
  SELECT p.utid, p.label, sum(p.sample_count) / any_value(a.sample_count) AS sample_ratio
  FROM place AS p
  JOIN (SELECT utid, sum(sample_count) AS sample_count FROM hit GROUP BY utid) AS a USING (utid)
  CROSS JOIN threshold AS h
  GROUP BY p.utid, p.label, h.sample_ratio
  HAVING sum(p.sample_count) >= h.sample_ratio * any_value(a.sample_count)
  QUALIFY row_number() OVER (PARTITION BY p.utid ORDER BY sum(p.sample_count * p.depth) / sum(p.sample_count) DESC, p.label) = 1
), object AS (
  -- Where no function has a name: the library tells what kind of work it is.
  SELECT i.utid, l.dso, sum(i.sample_count) / any_value(a.sample_count) AS sample_ratio
  FROM hit AS i
  JOIN stack_entry AS e ON e.stack_id = i.stack_id AND e.position = 0
  JOIN frame_label AS l USING (frame_id)
  JOIN (SELECT utid, sum(sample_count) AS sample_count FROM hit GROUP BY utid) AS a ON a.utid = i.utid
  CROSS JOIN threshold AS h
  WHERE l.dso <> '[unknown]' AND NOT l.is_kernel
  GROUP BY i.utid, l.dso, h.sample_ratio
  HAVING sum(i.sample_count) >= h.sample_ratio * any_value(a.sample_count)
  QUALIFY row_number() OVER (PARTITION BY i.utid ORDER BY sum(i.sample_count) DESC, l.dso) = 1
)
SELECT
  @severity(f.blocked_ratio >= h.critical_ratio, true) AS severity,
  format('{} ({})', coalesce(t.comm, '?'), t.tid) AS subject,
  format('it computed {} time{} for 100 ms or longer while other clients waited: {:.2f} s, {:.1f} % of the recording, the longest {:.1f} ms; {} requests of other connections were there when it looked again{}',
    f.waited_count, CASE f.waited_count WHEN 1 THEN '' ELSE 's' END, f.blocked_ns / 1e9, 100 * f.blocked_ratio, f.max_ns / 1e6, @whole(f.request_count),
    CASE WHEN o.label IS NOT NULL THEN format('; {:.1f} % of its samples then are in {} or what it calls', 100 * o.sample_ratio, o.label)
      WHEN b.dso IS NOT NULL THEN format('; {:.1f} % of its samples then are in {}', 100 * b.sample_ratio, b.dso) ELSE '' END) AS message,
  @whole(f.blocked_ns) AS cost_ns,
  coalesce((SELECT list('peer ' || a.address) || list('requests of ' || a.address) FROM service_address AS a WHERE a.upid = t.upid), []) AS about
FROM found AS f
JOIN thread AS t USING (utid)
CROSS JOIN threshold AS h
LEFT JOIN common AS o ON o.utid = f.utid
LEFT JOIN object AS b ON b.utid = f.utid
