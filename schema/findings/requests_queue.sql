-- requests_queue: Requests wait until a service reads them
-- condition: a service on this host read 20 requests or more of clients on this host (both ends are recorded, so that a request is known from the client's write to the server's read), 10 ms or more
--   after they were sent on average, and this was half or more of what its clients waited for the answers; half a request or more was unread at any moment on average. Not where more than half of their time was due to the network between them (a tunnel): what is on its way cannot be read.
--   A note if the clients' time was due to the service's own work on the CPUs, or to a CPU that others had: under enough load that is so of every service. Critical from 100 ms on average.
--   What the clients waited for in the end is found by following each wait to its cause (blame); processes of one name count as one, so that programs that live for a moment are seen. If that is the next word of a connection on which nobody asked for anything, it says which process has the other end.
--   Where the threads that read spent half of the recording or more in a poll of one descriptor, or in a read of a connection,
--   while they had no request, it says that idle connections hold them: a thread or process for each connection keeps it for the client's next request (KeepAliveTimeout of Apache's prefork and worker:
--   "The higher the timeout, the more server processes will be kept occupied waiting on connections with idle clients")
--   Where none of the requests was under way for 30 % of the recording or more, and the number that came in a time as long as the average wait varied ten times as much as by chance or more, it says that they came in bursts:
--   the index of dispersion for counts, the variance of that number by its mean, is 1 if each request comes by itself (R. Gusella, "Characterizing the variability of arrival processes with indexes of dispersion", 1991),
--   and a service that has time left lets requests wait only because they come unevenly (Kingman's formula)
-- means: all threads or processes that could read are held by other requests, or do something else. Time in the service's own log is not what its
--   clients feel: it begins with the read
-- next: perfcase view blame_by_comm: what the clients waited for
-- next: perfcase view request_time: the requests that were under way meanwhile
-- next: where idle connections hold them: a shorter time limit of kept connections, or a proxy or an event loop that keeps them
-- next: where they come in bursts: let clients that ask at fixed times wait a random while first (jitter)
-- next: more threads, processes or an event loop, if those that there are wait; else what they wait for
-- about: the requests at the addresses of the service
-- follows from: answers_wait, connection_queue, event_loop_computes, listen_overflow, pool_full, short_processes, stopped, uneven_work
-- taught by: -
-- source: blame, block_device, descriptor, process, recorded_span, recorder_thread, request, service_address, service_process, socket_turn, syscall, thread
-- evidence: SELECT r.upid, r.local, r.utid, r.ts_ns - t.ts_ns AS unread_ns, t.gap_ns FROM socket_turn AS t ASOF JOIN request AS r
--   ON replace(replace(r.peer, '[::ffff:', ''), ']:', ':') = replace(replace(t.local, '[::ffff:', ''), ']:', ':')
--   AND replace(replace(r.local, '[::ffff:', ''), ']:', ':') = replace(replace(t.peer, '[::ffff:', ''), ']:', ':') AND t.ts_ns <= r.ts_ns
--   WHERE t.is_client AND r.ts_ns < t.answer_ts_ns ORDER BY unread_ns DESC, r.ts_ns
WITH threshold AS (
  SELECT 20 AS request_count, 10000000 AS unread_ns, 100000000 AS critical_ns, 0.5 AS share_ratio, 0.5 AS outstanding, 0.5 AS kept_ratio, 0.3 AS free_ratio, 10 AS dispersion
), question AS (
  SELECT utid, @plain_address(local) AS local, @plain_address(peer) AS peer, ts_ns, answer_ts_ns, gap_ns FROM socket_turn WHERE is_client AND local IS NOT NULL AND peer IS NOT NULL
), read AS (
  SELECT f.service_upid AS upid, q.utid, r.utid AS reader_utid, q.peer, q.ts_ns, q.answer_ts_ns, q.gap_ns, r.ts_ns - q.ts_ns AS unread_ns
  FROM question AS q
  ASOF JOIN (SELECT upid, utid, @plain_address(local) AS local, @plain_address(peer) AS peer, ts_ns FROM request WHERE utid NOT IN (SELECT utid FROM recorder_thread)) AS r
    ON r.peer = q.local AND r.local = q.peer AND q.ts_ns <= r.ts_ns
  JOIN service_process AS f ON f.upid = r.upid
  WHERE r.ts_ns < q.answer_ts_ns
), queued AS (
  SELECT r.upid, count(*) AS request_count, avg(r.unread_ns) AS unread_avg_ns, max(r.unread_ns) AS unread_max_ns, sum(r.unread_ns) AS unread_ns, sum(r.gap_ns) AS gap_ns,
    count(DISTINCT r.reader_utid) AS reader_count
  FROM read AS r
  GROUP BY r.upid
), suspect AS (
  SELECT q.*, c.duration_ns AS span_ns
  FROM queued AS q
  CROSS JOIN threshold AS h
  JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
  WHERE q.request_count >= h.request_count AND q.unread_avg_ns >= h.unread_ns AND q.unread_ns >= h.share_ratio * q.gap_ns AND q.unread_ns >= h.outstanding * c.duration_ns
), reader AS (
  SELECT DISTINCT r.upid, r.reader_utid AS utid FROM read AS r WHERE r.upid IN (SELECT upid FROM suspect)
), kept AS (
  -- How long its readers waited for one connection while they had no request.
  SELECT s.upid, sum(s.duration_ns) AS wait_ns
  FROM (
    SELECT r.upid, c.utid, c.ts_ns, coalesce(c.duration_ns, e.end_ts_ns - c.ts_ns) AS duration_ns
    FROM syscall AS c
    JOIN reader AS r USING (utid)
    JOIN recorded_span AS e ON e.table_name = 'syscall'
    LEFT JOIN descriptor AS d USING (descriptor_id)
    WHERE c.name IN ('poll', 'ppoll', 'ppoll_time64') AND c.args[2] = 1 OR c.name IN ('read', 'recv', 'recvfrom', 'recvmsg') AND d.kind = 'socket' AND d.opened_by IN ('accept', 'accept4')
  ) AS s
  ASOF JOIN (SELECT utid, ts_ns, end_ts_ns FROM request) AS q ON q.utid = s.utid AND s.ts_ns >= q.ts_ns
  WHERE q.end_ts_ns <= s.ts_ns
  GROUP BY s.upid
), came AS (
  -- How the requests came: by windows as long as the average wait, and whether one was under way when the next one came.
  SELECT r.upid, r.ts_ns // @whole(s.unread_avg_ns) AS place,
    r.ts_ns - max(r.answer_ts_ns) OVER (PARTITION BY r.upid ORDER BY r.ts_ns, r.answer_ts_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS free_ns
  FROM read AS r
  JOIN suspect AS s USING (upid)
), arrival AS (
  SELECT upid, place, count(*) AS request_count, sum(free_ns) FILTER (free_ns > 0) AS free_ns FROM came GROUP BY upid, place
), burst AS (
  SELECT a.upid, sum(a.free_ns) AS free_ns, @product(sum(a.request_count * a.request_count), 1) / sum(a.request_count) - sum(a.request_count) * any_value(s.unread_avg_ns) / any_value(s.span_ns) AS dispersion
  FROM arrival AS a
  JOIN suspect AS s USING (upid)
  GROUP BY a.upid
), idle_end AS (
  -- Who has the other end of a connection of the service; a port may be used again, so both were open at one time.
  SELECT d.descriptor_id, format('a connection of {} ({})', coalesce(p.name, '?'), p.pid) AS text
  FROM descriptor AS d
  JOIN descriptor AS x ON @plain_address(x.local) = @plain_address(d.peer) AND @plain_address(x.peer) = @plain_address(d.local) AND x.upid <> d.upid
    AND coalesce(x.ts_ns < d.end_ts_ns, true) AND coalesce(d.ts_ns < x.end_ts_ns, true)
  JOIN process AS p ON p.upid = x.upid
  WHERE d.kind = 'socket' AND d.peer IS NOT NULL AND d.upid IN (SELECT f.upid FROM service_process AS f JOIN suspect AS s ON s.upid = f.service_upid)
  QUALIFY row_number() OVER (PARTITION BY d.descriptor_id ORDER BY x.ts_ns DESC NULLS LAST, x.descriptor_id) = 1
), waited_for AS (
  -- The clients' waits for this service, by what they were due to.
  SELECT s.upid, b.cause, o.comm AS on_comm, coalesce(n.name, format('{}', g.service_upid)) AS on_name, b.on_call,
    CASE WHEN b.cause = 'disk' THEN coalesce(v.device_name, b.device) WHEN b.cause = 'no_work' THEN coalesce(i.text, e.peer, e.target) ELSE coalesce(e.peer, e.target) END AS on_target, sum(b.duration_ns) AS wait_ns
  FROM suspect AS s
  JOIN (SELECT DISTINCT upid, utid, peer FROM read) AS r USING (upid)
  JOIN blame AS b ON b.utid = r.utid AND b.work = 'call'
  JOIN descriptor AS d ON d.descriptor_id = b.descriptor_id AND @plain_address(d.peer) = r.peer
  LEFT JOIN thread AS o ON o.utid = b.on_utid
  LEFT JOIN service_process AS g ON g.upid = o.upid
  LEFT JOIN process AS n ON n.upid = g.service_upid
  LEFT JOIN descriptor AS e ON e.descriptor_id = b.on_descriptor_id
  LEFT JOIN idle_end AS i ON i.descriptor_id = b.on_descriptor_id
  LEFT JOIN block_device AS v ON v.device = b.device
  GROUP BY s.upid, b.cause, o.comm, on_name, b.on_call, on_target
), waited AS (
  -- The thread that took most time of a program's is named.
  SELECT upid, cause, arg_max(on_comm, (wait_ns, on_comm)) AS on_comm, on_name, on_call, on_target, sum(wait_ns) AS wait_ns
  FROM waited_for
  GROUP BY upid, cause, on_name, on_call, on_target
), due AS (
  SELECT upid, sum(wait_ns) AS total_ns, max(wait_ns) AS most_ns, arg_max({cause: cause, on_comm: on_comm, on_call: on_call, on_target: on_target}, (wait_ns, cause, on_comm, on_call, on_target)) AS most,
    coalesce(sum(wait_ns) FILTER (cause IN ('running', 'cpu_taken')), 0) AS ran_ns,
    coalesce(sum(wait_ns) FILTER (cause = 'network'), 0) AS network_ns
  FROM waited
  GROUP BY upid
)
SELECT
  @severity(s.unread_avg_ns >= h.critical_ns AND NOT coalesce(2 * d.ran_ns > d.total_ns, false), NOT coalesce(2 * d.ran_ns > d.total_ns, false)) AS severity,
  format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} requests of clients on this host were read {:.1f} ms after they were sent on average, {:.1f} ms at most: {:.1f} % of what the clients waited for their answers; {} thread{} read them{}{}{}',
    s.request_count, s.unread_avg_ns / 1e6, s.unread_max_ns / 1e6, 100 * s.unread_ns / s.gap_ns, s.reader_count, CASE s.reader_count WHEN 1 THEN '' ELSE 's' END,
    CASE WHEN k.wait_ns >= h.kept_ratio * s.reader_count * s.span_ns THEN format(', {} held for {:.1f} % of the time by idle connections: {} for the next request of one of them',
      CASE s.reader_count WHEN 1 THEN 'which was' ELSE 'which were' END, 100 * k.wait_ns / (s.reader_count * s.span_ns), CASE s.reader_count WHEN 1 THEN 'it waited' ELSE 'they waited' END) ELSE '' END,
    CASE WHEN u.free_ns >= h.free_ratio * s.span_ns AND u.dispersion >= h.dispersion THEN
      format('; they came in bursts: none was under way for {:.1f} % of the time, and how many came in {:.1f} ms varied {:.0f} times as much as by chance (index of dispersion)', 100 * u.free_ns / s.span_ns, s.unread_avg_ns / 1e6, u.dispersion) ELSE '' END,
    CASE WHEN d.most.cause IS NULL THEN '' ELSE format('; the clients waited most for {}: {:.1f} %', @due(NULL, d.most.cause, d.most.on_comm, d.most.on_target, d.most.on_call), 100 * d.most_ns / d.total_ns) END) AS message,
  @whole(s.unread_ns) AS cost_ns,
  coalesce((SELECT list('requests of ' || a.address) FROM service_address AS a JOIN service_process AS f USING (upid) WHERE f.service_upid = s.upid), []) AS about
FROM suspect AS s
JOIN process AS p USING (upid)
LEFT JOIN due AS d USING (upid)
LEFT JOIN kept AS k USING (upid)
LEFT JOIN burst AS u USING (upid)
CROSS JOIN threshold AS h
-- What is on its way is not there to be read.
WHERE NOT coalesce(2 * d.network_ns > d.total_ns, false)
