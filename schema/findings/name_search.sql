-- name_search: Each look-up of a name asks the name server several times, one question after the other
-- condition: threads of a process asked one name server (DNS, port 53) in rows: the next question 1 ms or less after the answer to the one before (what the thread waited for a CPU in between does not count), each on a
--   descriptor of its own as the resolver of the C library does it (sockets whose other end no snapshot saw count where the process used such calls with its name server only). 20 rows or more had 3 rounds or more on average (a name that is found at once takes one: the addresses of IPv4 and
--   IPv6 are one round), and all rounds but the last of each row took a tenth of the recording or more. A warning. With search domains
--   in resolv.conf(5) a name of fewer dots than ndots is asked for below each domain first, and all but the last answer say that there
--   is no such name (NXDOMAIN); Kubernetes sets ndots:5 and three domains or more
-- means: the user waits for all rounds, of which none is slow. The name server answers several times as many questions as it need
-- next: perfcase view syscall_log: the questions; tcpdump port 53 on the host says for which names
-- next: a name that ends with a dot is asked for as it is; a smaller ndots or fewer search domains; a cache that keeps what does not exist
-- next: perfcase view socket_answer: how fast each answer is
-- about: the peer, the requests at the addresses of the process
-- taught by: -
-- source: followed_state, process, recorded_span, service_address, service_process, socket_turn, workload_thread
-- evidence: SELECT process, pid, peer, count(*) AS answer_count, sum(gap_ns) AS waited_ns, avg(gap_ns) AS gap_ns_avg
--   FROM socket_answer WHERE is_client AND peer LIKE '%:53' GROUP BY ALL ORDER BY answer_count DESC, process, pid, peer
WITH threshold AS (
  SELECT 1000000 AS at_once_ns, 20 AS row_count, 3 AS round_count, 0.1 AS wait_ratio
), asked AS (
  SELECT f.service_upid, t.*
  FROM socket_turn AS t
  JOIN service_process AS f USING (upid)
  WHERE t.is_client AND t.since_ts_ns IS NOT NULL AND (t.peer IS NULL OR regexp_matches(t.peer, ':53$')) AND t.utid IN (SELECT utid FROM workload_thread)
), known AS (
  -- The resolver's sockets live for a moment: a snapshot sees the other end of a few of them.
  SELECT service_upid, family, write_name, read_name, mode(peer ORDER BY peer) AS peer FROM asked WHERE peer IS NOT NULL GROUP BY ALL
), turn AS (
  SELECT a.upid, a.utid, k.peer, a.fd, a.since_ts_ns, min(a.ts_ns) AS ts_ns, max(a.answer_ts_ns) AS answer_ts_ns
  FROM asked AS a
  JOIN known AS k ON k.service_upid = a.service_upid AND k.family = a.family AND k.write_name = a.write_name AND k.read_name = a.read_name
  GROUP BY a.upid, a.utid, k.peer, a.fd, a.since_ts_ns
), pause AS (
  SELECT *, lag(answer_ts_ns) OVER (PARTITION BY utid, peer ORDER BY ts_ns) AS before_ns FROM turn
), queued AS (
  SELECT p.utid, p.peer, p.ts_ns, sum(least(s.ts_ns + s.duration_ns, p.ts_ns) - greatest(s.ts_ns, p.before_ns)) AS queued_ns
  FROM pause AS p
  CROSS JOIN threshold AS h
  JOIN followed_state AS s ON s.utid = p.utid AND s.ts_ns < p.ts_ns AND s.ts_ns + s.duration_ns > p.before_ns AND starts_with(s.state, 'runnable')
  WHERE p.ts_ns - p.before_ns > h.at_once_ns
  GROUP BY ALL
), step AS (
  SELECT p.*, coalesce(p.ts_ns - p.before_ns - coalesce(q.queued_ns, 0) > h.at_once_ns, true) AS is_first
  FROM pause AS p
  CROSS JOIN threshold AS h
  LEFT JOIN queued AS q USING (utid, peer, ts_ns)
), numbered AS (
  SELECT *, sum(is_first::INTEGER) OVER (PARTITION BY utid, peer ORDER BY ts_ns ROWS UNBOUNDED PRECEDING) AS number FROM step
), look AS (
  SELECT upid, utid, peer, number, count(*) AS round_count, max(answer_ts_ns) - min(ts_ns) AS look_ns, max(ts_ns) - min(ts_ns) AS vain_ns
  FROM numbered
  GROUP BY upid, utid, peer, number
), total AS (
  SELECT upid, peer, count(*) AS look_count, sum(round_count) AS round_count, sum(look_ns) AS look_ns, sum(vain_ns) AS vain_ns FROM look GROUP BY upid, peer
), whole AS (
  SELECT f.service_upid AS upid, x.peer, @total(x.look_count) AS look_count, @total(x.round_count) AS round_count, sum(x.look_ns) AS look_ns, sum(x.vain_ns) AS vain_ns
  FROM total AS x
  JOIN service_process AS f USING (upid)
  GROUP BY f.service_upid, x.peer
)
SELECT
  'warning' AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{:,} look-ups asked the name server {} {:.1f} times each, one question after the other: {:.1f} ms each, {:.1f} ms of it before the last question, as search domains of resolv.conf (ndots) do',
    x.look_count, x.peer, x.round_count / x.look_count, x.look_ns / x.look_count / 1e6, x.vain_ns / x.look_count / 1e6) AS message,
  @whole(x.vain_ns) AS cost_ns,
  ['peer ' || x.peer] || coalesce((SELECT list('requests of ' || a.address) FROM service_address AS a JOIN service_process AS f USING (upid) WHERE f.service_upid = x.upid), []) AS about
FROM whole AS x
JOIN process AS p USING (upid)
CROSS JOIN threshold AS h
JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
WHERE x.look_count >= h.row_count AND x.round_count >= h.round_count * x.look_count AND x.vain_ns >= h.wait_ratio * c.duration_ns
