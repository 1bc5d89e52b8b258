-- pool_full: All threads of a pool are held at once: what a process was asked for waits for a free one
-- condition: an event loop read the requests of a process, 20 or more, which took 10 ms or more on average, and two or more other threads of it with one name (but for
--   digits) did work for it: each made five system calls or more of 1 ms or longer, other than futex, in which an idle thread waits. For 80 % of the recording none of them was in a futex for as long, and at least
--   twice as many requests as these threads were under way on average (Little's law), so the others had none. Half or more of the time that they were held was in one call.
--   Critical from 100 ms on average
-- means: the pool is too small for how long its work takes: the event loop goes on, and all that needs the pool queues up, however quick it would be. Node.js does all work on files, dns.lookup, zlib and
--   pbkdf2 in four threads (UV_THREADPOOL_SIZE)
-- next: perfcase view slow_syscalls: what holds them
-- next: more threads, if what they wait for can do more at once; else let the slow work not use this pool
-- about: the requests at the addresses of the process
-- taught by: -
-- source: descriptor, process, recorded_span, recorder_thread, request, service_address, syscall, thread, workload_thread
-- evidence: SELECT t.comm, t.tid, s.name, count(*) AS call_count, sum(s.duration_ns) AS total_ns, max(s.duration_ns) AS max_ns FROM syscall AS s JOIN thread AS t USING (utid)
--   WHERE s.duration_ns >= 1000000 GROUP BY ALL ORDER BY total_ns DESC, t.tid, s.name
WITH threshold AS (
  SELECT 20 AS request_count, 10000000 AS request_ns, 100000000 AS critical_ns, 2 AS thread_count, 1000000 AS call_ns, 5 AS call_count, 0.8 AS full_ratio, 2 AS times_threads, 0.5 AS one_call
), span AS (
  SELECT start_ts_ns, end_ts_ns, duration_ns FROM recorded_span WHERE table_name = 'syscall' AND duration_ns > 0
), served AS (
  SELECT r.upid, count(*) AS request_count, avg(r.duration_ns) AS request_ns, sum(r.duration_ns) / any_value(c.duration_ns) AS under_way
  FROM request AS r
  CROSS JOIN span AS c
  CROSS JOIN threshold AS h
  WHERE r.duration_ns IS NOT NULL AND r.utid NOT IN (SELECT utid FROM recorder_thread)
  GROUP BY r.upid, h.request_count, h.request_ns
  HAVING count(*) >= h.request_count AND avg(r.duration_ns) >= h.request_ns
), long AS (
  SELECT s.utid, t.upid, t.comm, s.name, s.ts_ns, coalesce(s.exit_ts_ns, c.end_ts_ns) AS end_ns, s.descriptor_id, starts_with(s.name, 'futex') AS is_idle
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  JOIN workload_thread AS w USING (utid)
  CROSS JOIN span AS c
  CROSS JOIN threshold AS h
  WHERE t.upid IN (SELECT upid FROM served) AND coalesce(s.exit_ts_ns, c.end_ts_ns) - s.ts_ns >= h.call_ns AND s.utid NOT IN (SELECT utid FROM request)
), member AS (
  SELECT l.utid, l.upid, regexp_replace(any_value(l.comm), '[-_ #]*[0-9]+', '', 'g') AS name
  FROM long AS l
  CROSS JOIN threshold AS h
  GROUP BY l.utid, l.upid, h.call_count
  HAVING count(*) FILTER (NOT l.is_idle) >= h.call_count
), pool AS (
  SELECT m.upid, m.name, count(*) AS thread_count FROM member AS m CROSS JOIN threshold AS h GROUP BY m.upid, m.name, h.thread_count HAVING count(*) >= h.thread_count
), step AS (
  SELECT m.upid, m.name, unnest([l.ts_ns, l.end_ns]) AS ts_ns, unnest([1, -1]) AS step
  FROM long AS l
  JOIN member AS m USING (utid)
  WHERE l.is_idle
), level AS (
  SELECT upid, name, sum(step) OVER w AS idle_count, lead(ts_ns) OVER w - ts_ns AS duration_ns
  FROM step
  WINDOW w AS (PARTITION BY upid, name ORDER BY ts_ns, step ROWS UNBOUNDED PRECEDING)
), idle AS (
  SELECT upid, name, sum(duration_ns) FILTER (idle_count > 0) AS idle_ns FROM level GROUP BY upid, name
), held AS (
  SELECT m.upid, m.name, l.name AS call, mode(coalesce(d.peer, d.target) ORDER BY coalesce(d.peer, d.target)) AS target, sum(l.end_ns - l.ts_ns) AS held_ns
  FROM long AS l
  JOIN member AS m USING (utid)
  LEFT JOIN descriptor AS d USING (descriptor_id)
  WHERE NOT l.is_idle
  GROUP BY m.upid, m.name, l.name
), most AS (
  SELECT upid, name, arg_max({call: call, target: target}, (held_ns, call)) AS most, max(held_ns) AS most_ns, sum(held_ns) AS held_ns FROM held GROUP BY upid, name
)
SELECT
  @severity(s.request_ns >= h.critical_ns, true) AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('none of the {} threads of its pool ({}) was free for {:.1f} % of the recording: they were in {}{} for {:.1f} % of the time that they were held, while {:.1f} requests were under way on average: the others waited for a free thread; {} requests took {:.1f} ms on average',
    x.thread_count, x.name, 100 * (1 - coalesce(i.idle_ns, 0) / c.duration_ns), m.most.call, coalesce(' on ' || m.most.target, ''), 100 * m.most_ns / m.held_ns, s.under_way, s.request_count,
    s.request_ns / 1e6) AS message,
  @whole((s.under_way - x.thread_count) * c.duration_ns) AS cost_ns,
  coalesce((SELECT list('requests of ' || a.address) FROM service_address AS a WHERE a.upid = x.upid), []) AS about
FROM pool AS x
JOIN served AS s USING (upid)
JOIN most AS m USING (upid, name)
LEFT JOIN idle AS i USING (upid, name)
JOIN process AS p USING (upid)
CROSS JOIN threshold AS h
CROSS JOIN span AS c
WHERE c.duration_ns - coalesce(i.idle_ns, 0) >= h.full_ratio * c.duration_ns AND s.under_way >= h.times_threads * x.thread_count AND m.most_ns >= h.one_call * m.held_ns
