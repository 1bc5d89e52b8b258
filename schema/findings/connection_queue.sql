-- connection_queue: Requests wait in a process for a free connection to the service behind it
-- condition: a process, or a server with its workers, answered 20 requests or more, in 10 ms or more on average, and asked one service once for each of them (0.5 to 2
--   questions per request). The answers of that service took half of that time at most. It was asked by so many connections at once, and no more, for 80 % of
--   the time from the first question to the last answer, which is a tenth of the recording or more, while twice as many requests or more were under way on average: the others had no connection (Little's law: under way is rate × time, in the queue as
--   at the service). Critical from 100 ms on average
-- means: a limit of the process decides, not the service behind it: the size of a pool of connections, the maxconn of a proxy, one connection below a lock.
--   More load makes only the queue longer
-- next: perfcase view socket_answer: what the service behind took for each question
-- next: perfcase view request_summary: what the requests took in the process
-- next: raise the limit, if the service behind can take more at once; else it is right, and its answers have to be faster
-- about: the service behind, the requests at the addresses of the process
-- taught by: -
-- source: process, recorded_span, recorder_thread, request, service_address, service_process, socket_turn
-- evidence: SELECT process, peer, count(*) AS answer_count, avg(gap_ns) AS gap_ns_avg, max(gap_ns) AS gap_ns_max FROM socket_answer WHERE is_client GROUP BY ALL ORDER BY answer_count DESC, process, peer
WITH threshold AS (
  SELECT 20 AS request_count, 10000000 AS request_ns, 100000000 AS critical_ns, 0.5 AS least_ratio, 2 AS most_ratio, 0.5 AS answer_ratio, 0.8 AS full_ratio, 2 AS times_limit, 0.1 AS active_ratio
), served AS (
  SELECT f.service_upid AS upid, count(*) AS request_count, avg(r.duration_ns) AS request_ns,
    any_value(c.duration_ns) AS span_ns
  FROM request AS r
  JOIN service_process AS f USING (upid)
  JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
  WHERE r.duration_ns IS NOT NULL AND r.writer_utid NOT IN (SELECT utid FROM recorder_thread)
  GROUP BY f.service_upid
), asked AS (
  SELECT f.service_upid AS upid, t.peer, count(*) AS question_count, avg(t.gap_ns) AS gap_ns
  FROM socket_turn AS t
  JOIN service_process AS f USING (upid)
  WHERE t.is_client AND t.peer IS NOT NULL
  GROUP BY f.service_upid, t.peer
), suspect AS (
  SELECT s.*, a.peer, a.question_count, a.gap_ns
  FROM served AS s
  JOIN asked AS a USING (upid)
  CROSS JOIN threshold AS h
  WHERE s.request_count >= h.request_count AND s.request_ns >= h.request_ns AND a.question_count BETWEEN h.least_ratio * s.request_count AND h.most_ratio * s.request_count
    AND a.gap_ns <= h.answer_ratio * s.request_ns
), step AS (
  SELECT f.service_upid AS upid, t.peer, unnest([t.ts_ns, t.answer_ts_ns]) AS ts_ns, unnest([1, -1]) AS step
  FROM socket_turn AS t
  JOIN service_process AS f USING (upid)
  JOIN suspect AS s ON s.upid = f.service_upid AND s.peer = t.peer
  WHERE t.is_client
), under_way AS (
  SELECT upid, peer, sum(step) OVER w AS out_count, lead(ts_ns) OVER w - ts_ns AS duration_ns
  FROM step
  WINDOW w AS (PARTITION BY upid, peer ORDER BY ts_ns, step ROWS UNBOUNDED PRECEDING)
), spent AS (
  SELECT upid, peer, out_count, sum(duration_ns) AS duration_ns FROM under_way WHERE duration_ns > 0 GROUP BY upid, peer, out_count
), most AS (
  SELECT upid, peer, max(out_count) AS limit_count, arg_max(duration_ns, out_count) AS full_ns, sum(duration_ns) AS active_ns FROM spent GROUP BY upid, peer
)
SELECT
  @severity(s.request_ns >= h.critical_ns, true) AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} requests took {:.1f} ms on average, their questions to {} only {:.1f} ms: it asked {} at once at most, and did so {:.1f} % of the time, while {:.1f} requests were under way: the others waited for a free connection',
    s.request_count, s.request_ns / 1e6, s.peer, s.gap_ns / 1e6, @whole(m.limit_count), 100 * m.full_ns / m.active_ns, s.request_count * s.request_ns / m.active_ns) AS message,
  @whole((s.request_ns - s.gap_ns) * s.request_count) AS cost_ns,
  ['peer ' || s.peer] || coalesce((SELECT list('requests of ' || a.address) FROM service_address AS a JOIN service_process AS f USING (upid) WHERE f.service_upid = s.upid), []) AS about
FROM suspect AS s
JOIN most AS m USING (upid, peer)
JOIN process AS p USING (upid)
CROSS JOIN threshold AS h
WHERE m.full_ns >= h.full_ratio * m.active_ns AND s.request_count * s.request_ns >= h.times_limit * m.limit_count * m.active_ns AND m.active_ns >= h.active_ratio * s.span_ns
