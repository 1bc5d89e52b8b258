-- head_of_line: Threads share one connection, on which a slow answer holds those behind it
-- condition: three threads or more of a process wrote 20 questions or more on one connection of its own and went on (the next call that is not a futex) 10 ms or more later on average, nine in
--   ten of them in the order of their questions (1 ms does not count). Half or more of this time an earlier question had no answer yet, and half or more of the time that the answers took by
--   themselves was that of the slowest tenth. Critical from 100 ms on average
-- means: quick questions take as long as the slow ones before them, and the service behind has less to do than it could. Answers of HTTP/1.1 (pipelining), of
--   Redis and of PostgreSQL come in the order of the questions on each connection; HTTP/2 and databases with request numbers answer in any order
-- next: perfcase view blame_by_comm: what the service behind did meanwhile
-- next: several connections (a pool), one for slow questions; a limit of time for them; find what makes them slow
-- about: the service behind, the requests at the addresses of the process
-- taught by: -
-- source: descriptor, process, service_address, service_process, socket_turn, syscall, workload_thread
-- evidence: SELECT t.comm, d.peer, d.fd, count(*) AS write_count, count(DISTINCT s.utid) AS thread_count FROM syscall AS s JOIN thread AS t USING (utid)
--   JOIN descriptor AS d USING (descriptor_id) WHERE d.kind = 'socket' AND s.name IN ('write', 'writev', 'sendto', 'sendmsg') GROUP BY ALL ORDER BY thread_count DESC, t.comm, d.peer, d.fd
WITH threshold AS (
  SELECT 3 AS thread_count, 20 AS question_count, 10000000 AS wait_ns, 100000000 AS critical_ns, 1000000 AS at_once_ns, 0.9 AS order_ratio, 0.5 AS behind_ratio, 0.5 AS slow_ratio
), own AS (
  SELECT DISTINCT upid, fd, since_ts_ns FROM socket_turn WHERE is_client AND peer IS NOT NULL
), written AS (
  SELECT d.descriptor_id, d.upid, d.peer, s.utid, s.exit_ts_ns AS ts_ns
  FROM syscall AS s
  JOIN descriptor AS d USING (descriptor_id)
  JOIN own AS o ON o.upid = d.upid AND o.fd = d.fd AND o.since_ts_ns IS NOT DISTINCT FROM d.ts_ns
  WHERE s.name IN ('write', 'writev', 'send', 'sendto', 'sendmsg') AND s.ret > 0 AND d.kind = 'socket' AND s.utid IN (SELECT utid FROM workload_thread)
), shared AS (
  SELECT w.descriptor_id
  FROM written AS w
  CROSS JOIN threshold AS h
  GROUP BY w.descriptor_id, h.thread_count, h.question_count
  HAVING count(DISTINCT w.utid) >= h.thread_count AND count(*) >= h.question_count
), question AS (
  SELECT * FROM written WHERE descriptor_id IN (SELECT descriptor_id FROM shared)
), next_call AS (
  SELECT s.utid, s.ts_ns FROM syscall AS s WHERE s.utid IN (SELECT utid FROM question) AND NOT starts_with(s.name, 'futex')
), answered AS (
  SELECT q.descriptor_id, q.upid, q.peer, q.utid, q.ts_ns, n.ts_ns AS end_ns,
    max(n.ts_ns) OVER (PARTITION BY q.descriptor_id ORDER BY q.ts_ns, q.utid ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
  FROM question AS q
  ASOF JOIN next_call AS n ON n.utid = q.utid AND n.ts_ns >= q.ts_ns
), took AS (
  SELECT *, end_ns - ts_ns AS wait_ns, greatest(least(end_ns, coalesce(before_ns, ts_ns)) - ts_ns, 0) AS behind_ns,
    greatest(end_ns - greatest(ts_ns, coalesce(before_ns, ts_ns)), 0) AS own_ns
  FROM answered
), ranked AS (
  SELECT *, percent_rank() OVER (PARTITION BY descriptor_id ORDER BY own_ns DESC) AS place FROM took
), line AS (
  SELECT descriptor_id, upid, peer, count(*) AS question_count, count(DISTINCT utid) AS thread_count, sum(ranked.wait_ns) AS wait_ns, sum(behind_ns) AS behind_ns,
    count(*) FILTER (end_ns >= coalesce(before_ns, end_ns) - h.at_once_ns) / count(*) AS order_ratio, coalesce(sum(own_ns) FILTER (place < 0.1), 0) / nullif(sum(own_ns), 0) AS slow_ratio
  FROM ranked
  CROSS JOIN threshold AS h
  GROUP BY descriptor_id, upid, peer
)
SELECT
  @severity(x.wait_ns >= h.critical_ns * x.question_count, true) AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} of its threads share one connection to {}: its {} answers came in the order of the questions and took {:.1f} ms on average, {:.1f} % of it while an earlier question had no answer; the slowest tenth took {:.1f} % of the time',
    x.thread_count, x.peer, x.question_count, x.wait_ns / x.question_count / 1e6, 100 * x.behind_ns / x.wait_ns, 100 * x.slow_ratio) AS message,
  @whole(x.behind_ns) AS cost_ns,
  ['peer ' || x.peer] || coalesce((SELECT list('requests of ' || a.address) FROM service_address AS a JOIN service_process AS f USING (upid) WHERE f.service_upid = x.upid), []) AS about
FROM line AS x
JOIN process AS p USING (upid)
CROSS JOIN threshold AS h
WHERE x.thread_count >= h.thread_count AND x.question_count >= h.question_count AND x.wait_ns >= h.wait_ns * x.question_count AND x.order_ratio >= h.order_ratio
  AND x.behind_ns >= h.behind_ratio * x.wait_ns AND x.slow_ratio >= h.slow_ratio
