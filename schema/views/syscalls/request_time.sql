-- request_time: each request that a process answered, or that had no answer until the end although one was due, and what its time went to
-- grain: a request at the end that serves
-- source: request, blame, followed_state, process, thread, thread_name
-- caveat: the time is that of the thread that wrote the answer, from the first read until the last write; what it waited for is followed to its cause (blame)
-- caveat: requests that come together on one connection (pipelining, HTTP/2) count as one; a thread that answers several at once counts its time for each of them
-- caveat: on_cpu_ns + run_queue_ns + disk_ns + network_ns + other_thread_ns + other_ns = duration_ns
-- caveat: where is_open, duration_ns and its parts are lower bounds: the recording ended, or the process, before the answer came. Times of answered requests are where it is false
-- caveat: requests without an answer of which none was due, or nobody can tell (unanswered_ns of request), are left out
-- diff no: single requests; request_summary adds them up
-- as in request: ts_ns, end_ts_ns, duration_ns
-- column is_open: it had no answer until the recording ended, or its process: it took duration_ns at least
-- keys: upid, pid
-- column process: name of the process
-- column utid: the thread that wrote the answer; where there is none, that read the request
-- keys: tid, comm, fd
-- as in request: local, peer, read_bytes, write_bytes
-- column on_cpu_ns [ns]: the thread ran
-- column run_queue_ns [ns]: it, or who it waited for, waited for a CPU
-- column disk_ns [ns]: it, or who it waited for, waited for a block device
-- column network_ns [ns]: it, or who it waited for, waited for data from another end
-- column other_thread_ns [ns]: it waited for another thread, which ran
-- column other_ns [ns]: the rest: timeouts, sleeps, a thread that had nothing to do, what no event tells
WITH asked AS (
  -- Who reads requests answers them, where an answer was due.
  SELECT ts_ns, end_ts_ns, coalesce(duration_ns, unanswered_ns) AS duration_ns, upid, duration_ns IS NULL AS is_open, coalesce(writer_utid, utid) AS utid, CASE WHEN coalesce(writer_utid, utid) = utid THEN name_id END AS name_id, fd, local, peer,
    read_bytes, write_bytes, row_number() OVER () AS number
  FROM request
  WHERE writer_utid IS NOT NULL OR unanswered_ns IS NOT NULL
), part AS (
  SELECT utid, ts_ns, duration_ns, CASE WHEN cause IN ('cpu_taken', 'cpu_idle', 'quota') THEN 'run_queue' WHEN cause = 'running' THEN 'other_thread'
    ELSE cause END AS kind
  FROM blame
  WHERE utid IN (SELECT utid FROM asked)
  UNION ALL
  SELECT utid, ts_ns, duration_ns, 'on_cpu'
  FROM followed_state
  WHERE state = 'running' AND utid IN (SELECT utid FROM asked)
), spent AS (
  -- Until each part began.
  SELECT utid, ts_ns, duration_ns, kind,
    coalesce(sum(CASE kind WHEN 'on_cpu' THEN duration_ns END) OVER before, 0) AS on_cpu_ns,
    coalesce(sum(CASE kind WHEN 'run_queue' THEN duration_ns END) OVER before, 0) AS run_queue_ns,
    coalesce(sum(CASE kind WHEN 'disk' THEN duration_ns END) OVER before, 0) AS disk_ns,
    coalesce(sum(CASE kind WHEN 'network' THEN duration_ns END) OVER before, 0) AS network_ns,
    coalesce(sum(CASE kind WHEN 'other_thread' THEN duration_ns END) OVER before, 0) AS other_thread_ns
  FROM part
  WINDOW before AS (PARTITION BY utid ORDER BY ts_ns, duration_ns, kind ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), edge AS (
  SELECT number, utid, 1 AS sign, ts_ns + duration_ns AS ts_ns FROM asked
  UNION ALL
  SELECT number, utid, -1, ts_ns FROM asked
), at_edge AS (
  SELECT e.number, e.sign, s.kind, least(e.ts_ns - s.ts_ns, s.duration_ns) AS begun_ns, s.on_cpu_ns, s.run_queue_ns, s.disk_ns, s.network_ns,
    s.other_thread_ns
  FROM edge AS e
  ASOF JOIN spent AS s ON s.utid = e.utid AND s.ts_ns <= e.ts_ns
), split AS (
  SELECT number,
    sum(sign * (on_cpu_ns + CASE kind WHEN 'on_cpu' THEN begun_ns ELSE 0 END))::BIGINT AS on_cpu_ns,
    sum(sign * (run_queue_ns + CASE kind WHEN 'run_queue' THEN begun_ns ELSE 0 END))::BIGINT AS run_queue_ns,
    sum(sign * (disk_ns + CASE kind WHEN 'disk' THEN begun_ns ELSE 0 END))::BIGINT AS disk_ns,
    sum(sign * (network_ns + CASE kind WHEN 'network' THEN begun_ns ELSE 0 END))::BIGINT AS network_ns,
    sum(sign * (other_thread_ns + CASE kind WHEN 'other_thread' THEN begun_ns ELSE 0 END))::BIGINT AS other_thread_ns
  FROM at_edge
  GROUP BY number
)
SELECT a.ts_ns, a.end_ts_ns, a.duration_ns, a.is_open, a.upid, p.pid, p.name AS process, a.utid, t.tid, coalesce(n.comm, t.comm) AS comm, a.fd,
  a.local, a.peer, a.read_bytes, a.write_bytes,
  coalesce(s.on_cpu_ns, 0) AS on_cpu_ns, coalesce(s.run_queue_ns, 0) AS run_queue_ns, coalesce(s.disk_ns, 0) AS disk_ns,
  coalesce(s.network_ns, 0) AS network_ns, coalesce(s.other_thread_ns, 0) AS other_thread_ns,
  a.duration_ns - coalesce(s.on_cpu_ns + s.run_queue_ns + s.disk_ns + s.network_ns + s.other_thread_ns, 0) AS other_ns
FROM asked AS a
LEFT JOIN split AS s USING (number)
LEFT JOIN process AS p ON p.upid = a.upid
LEFT JOIN thread AS t ON t.utid = a.utid
LEFT JOIN thread_name AS n ON n.name_id = a.name_id
ORDER BY a.ts_ns, a.upid, a.fd
