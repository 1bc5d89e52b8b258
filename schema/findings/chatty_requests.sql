-- chatty_requests: Each request asks another service many times, one question after the other
-- condition: of the requests that a process answered, 20 or more asked the same peer 30 times or more on average, each time by the thread that had
--   read the request, and waited for these answers 30 % or more of their time. The N+1 query of object-relational mappers is one (a query for
--   a list, and one for each of its rows); the manual of Redis says the same of its round trips ("Redis pipelining"). A warning
-- means: the round trips cost more than the work: no single question is slow, so no slow-query log shows one. The time grows with the
--   distance to the peer and with the data
-- next: ask once: a join or IN (…), MGET, a batch or a pipeline; or keep what was asked
-- next: perfcase view socket_answer: the questions, one after the other, with their bytes
-- next: perfcase view request_summary: whether slow requests ask more often than others
-- about: the peer
-- taught by: -
-- source: process, request, socket_turn, workload_thread
-- evidence: SELECT process, pid, peer, count(*) AS answer_count, sum(gap_ns) AS waited_ns, avg(gap_ns) AS gap_ns_avg
--   FROM socket_answer WHERE is_client GROUP BY ALL ORDER BY answer_count DESC, process, pid, peer
WITH threshold AS (
  SELECT 20 AS request_count, 30 AS question_count, 0.3 AS waited_ratio
), question AS (
  SELECT t.upid, t.utid, t.ts_ns, t.answer_ts_ns, t.gap_ns, t.peer
  FROM socket_turn AS t
  WHERE t.is_client AND t.utid IN (SELECT utid FROM request) AND t.utid IN (SELECT utid FROM workload_thread)
), asked AS (
  SELECT q.upid, q.peer, r.utid, r.ts_ns, count(*) AS question_count, sum(q.gap_ns) AS waited_ns, any_value(r.duration_ns) AS duration_ns
  FROM question AS q
  ASOF JOIN request AS r ON r.utid = q.utid AND r.ts_ns <= q.ts_ns
  WHERE q.answer_ts_ns <= r.end_ts_ns
  GROUP BY q.upid, q.peer, r.utid, r.ts_ns
), total AS (
  SELECT upid, peer, count(*) AS request_count, sum(question_count) AS question_count, sum(waited_ns) AS waited_ns, sum(duration_ns) AS duration_ns
  FROM asked
  GROUP BY upid, peer
)
SELECT
  'warning' AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{:,} requests asked {} {:,.0f} times each, one after the other: {:.2f} ms of the {:.2f} ms that they took on average went by until it had answered, {:.1f} µs each time',
    x.request_count, coalesce(x.peer, 'a peer that the capture does not name'), x.question_count / x.request_count, x.waited_ns / x.request_count / 1e6,
    x.duration_ns / x.request_count / 1e6, x.waited_ns / x.question_count / 1e3) AS message,
  @whole(x.waited_ns) AS cost_ns, ['peer ' || x.peer] AS about
FROM total AS x
JOIN process AS p USING (upid)
CROSS JOIN threshold AS h
WHERE x.request_count >= h.request_count AND x.question_count >= h.question_count * x.request_count AND x.waited_ns >= h.waited_ratio * x.duration_ns
