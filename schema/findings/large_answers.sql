-- large_answers: Each request reads far more from another service than it passes on
-- condition: of the requests that a service answered, 10 or more asked the same peer, in the thread that had read the request, and read 1 MB or more of it on average, ten times as many bytes as they
--   answered with, or more; from the first question to the last byte of its answers passed half of the time or more that these requests took, 10 ms or more on average. A proxy passes on what it reads. This
--   is "extraneous fetching" (Azure Architecture Center, "Performance antipatterns"), such as all rows of a table to use one. A warning
-- means: no call is slow and no query is: the bytes are what takes the time, at the peer that makes them, on the way, and here, where they are read and decoded
-- next: ask for what is used only: a condition (WHERE), some columns, a page (LIMIT), a count or a sum made by the database
-- next: perfcase view socket_answer: the questions
-- about: the peer
-- taught by: -
-- source: descriptor, process, request, service_process, socket_turn, syscall, workload_thread
-- evidence: SELECT process, pid, peer, count(*) AS answer_count, sum(gap_ns) AS waited_ns FROM socket_answer WHERE is_client GROUP BY ALL ORDER BY answer_count DESC, process, pid, peer
WITH threshold AS (
  SELECT 10 AS request_count, 1000000 AS bytes, 10 AS times_answer, 0.5 AS time_ratio, 10000000 AS request_ns
), asked AS (
  SELECT q.upid, q.peer, r.utid, r.ts_ns, min(q.ts_ns) AS question_ts_ns, any_value(r.end_ts_ns) AS end_ts_ns, any_value(r.duration_ns) AS duration_ns, any_value(r.write_bytes) AS write_bytes
  FROM (SELECT upid, utid, ts_ns, @plain_address(peer) AS peer FROM socket_turn WHERE is_client AND peer IS NOT NULL AND utid IN (SELECT utid FROM request) AND utid IN (SELECT utid FROM workload_thread)) AS q
  ASOF JOIN request AS r ON r.utid = q.utid AND r.ts_ns <= q.ts_ns
  WHERE q.ts_ns <= r.end_ts_ns
  GROUP BY q.upid, q.peer, r.utid, r.ts_ns
), piece AS (
  SELECT s.utid, @plain_address(d.peer) AS peer, s.ts_ns, s.exit_ts_ns, s.ret
  FROM syscall AS s
  JOIN descriptor AS d USING (descriptor_id)
  WHERE s.ret > 0 AND s.name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg') AND d.kind = 'socket' AND s.utid IN (SELECT utid FROM asked)
), fetched AS (
  SELECT a.upid, a.peer, a.utid, a.ts_ns, any_value(a.duration_ns) AS duration_ns, any_value(a.write_bytes) AS write_bytes, sum(p.ret) AS bytes, count(*) AS read_count,
    max(p.exit_ts_ns) - any_value(a.question_ts_ns) AS took_ns
  FROM piece AS p
  ASOF JOIN asked AS a ON a.utid = p.utid AND a.peer = p.peer AND a.question_ts_ns <= p.ts_ns
  WHERE p.exit_ts_ns <= a.end_ts_ns
  GROUP BY a.upid, a.peer, a.utid, a.ts_ns
), total AS (
  SELECT f.service_upid AS upid, x.peer, count(*) AS request_count, sum(x.bytes) AS bytes, sum(x.read_count) AS read_count, sum(x.write_bytes) AS write_bytes, sum(x.took_ns) AS took_ns, sum(x.duration_ns) AS duration_ns
  FROM fetched AS x
  JOIN service_process AS f USING (upid)
  GROUP BY f.service_upid, x.peer
)
SELECT
  'warning' AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{:,} requests read {} of {} each, in {:,.0f} reads, and answered with {}: from the question to the last byte passed {:.1f} ms of the {:.1f} ms that they took on average', x.request_count,
    @size(x.bytes / x.request_count), x.peer, x.read_count / x.request_count, @size(x.write_bytes / x.request_count), x.took_ns / x.request_count / 1e6, x.duration_ns / x.request_count / 1e6) AS message,
  @whole(x.took_ns) AS cost_ns, ['peer ' || x.peer] AS about
FROM total AS x
JOIN process AS p USING (upid)
CROSS JOIN threshold AS h
WHERE x.request_count >= h.request_count AND x.bytes >= h.bytes * x.request_count AND x.bytes >= h.times_answer * x.write_bytes AND x.took_ns >= h.time_ratio * x.duration_ns
  AND x.duration_ns >= h.request_ns * x.request_count
