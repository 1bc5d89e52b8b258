-- short_processes: Programs are started again and again, and each lives for a moment: starting them is the work
-- condition: processes that began and ended in the recording and lived less than a second. Either a process that serves requests
--   starts them while it answers: one or more for each second request, 20 requests or more, and while these children lived half
--   of the time of all its requests went by, which is a tenth of the recording or more (a warning). Or those that have one ancestor
--   which lives longer are 100 or more, 10 or more per second, ran for less than 20 ms each on average (100 ms where a third of them or more ended with an
--   error, as a service does that cannot start and is started again: Restart= of systemd.service(5)), and took a quarter or more of
--   the CPU time of all threads and a tenth of a CPU: a note, as a configure script does so by design; a warning from half of the CPU time,
--   if another process answers 20 requests or more from the network, so that this is no build host, or if their ancestor starts one for each connection that it accepts (PostgreSQL does). Compilers run longer than that. A
--   process that forks without exec counts like one that executes a program
-- means: a process needs about a millisecond of CPU time to be made, loaded, linked and torn down, whatever it is for. Tools that look once a second do not
--   show such processes: execsnoop was written for them (Gregg, BPF Performance Tools, 2019). A service that starts a program for
--   each request makes each of its clients wait for that
-- next: perfcase view process_command, thread_census: which programs
-- next: perfcase sql: the evidence, by parent
-- next: keep connections open (a pool), if it starts one for each connection
-- next: do it in the process itself (a library instead of a command), start the program once and keep it, or read many things with one
-- about: the CPUs, if it took half of their time, and the requests at its addresses
-- taught by: -
-- source: descriptor, process, recorded_span, recorder_thread, request, service_address, syscall, thread, thread_time,
--   workload_thread
-- evidence: SELECT a.name AS parent, a.pid AS parent_pid, p.name, count(*) AS process_count, sum(p.end_ts_ns - p.start_ts_ns) AS lived_ns FROM process AS p
--   LEFT JOIN process AS a ON a.upid = p.parent_upid WHERE p.end_ts_ns - p.start_ts_ns < 1000000000 GROUP BY ALL ORDER BY process_count DESC, parent_pid, p.name
-- judged when: SELECT EXISTS (FROM followed_state)
-- not judged: when processes began and ended, and how long they ran. It needs the events of the scheduler; perfcase-record takes them by default
WITH threshold AS (
  SELECT 1000000000 AS life_ns, 20 AS request_count, 0.5 AS started_ratio, 0.5 AS waited_ratio, 0.1 AS served_ratio, 100 AS process_count, 10 AS per_s,
    20000000 AS run_ns, 100000000 AS failed_run_ns, 0.33 AS failed_ratio, 0.25 AS run_ratio, 0.5 AS warning_ratio, 0.1 AS cpus
), short AS (
  SELECT p.upid, p.parent_upid, p.name, p.start_ts_ns, p.end_ts_ns
  FROM process AS p
  CROSS JOIN threshold AS h
  WHERE p.end_ts_ns - p.start_ts_ns < h.life_ns AND p.parent_upid IS NOT NULL AND p.upid IN (SELECT upid FROM workload_thread)
), answer AS (
  SELECT upid, fd, ts_ns, end_ts_ns, family IN ('inet', 'inet6') AS is_remote
  FROM request
  WHERE duration_ns IS NOT NULL AND utid NOT IN (SELECT utid FROM recorder_thread)
), served AS (
  SELECT upid, count(*) AS request_count, count(*) FILTER (is_remote) AS remote_count, sum(end_ts_ns - ts_ns) AS total_ns FROM answer GROUP BY upid
), begun AS (
  SELECT a.upid, a.fd, a.ts_ns, s.upid AS short_upid, s.name, s.start_ts_ns, least(s.end_ts_ns, a.end_ts_ns) AS end_ns
  FROM short AS s
  JOIN answer AS a ON a.upid = s.parent_upid AND s.start_ts_ns >= a.ts_ns AND s.start_ts_ns < a.end_ts_ns
), delayed AS (
  SELECT upid, fd, ts_ns, least(sum(end_ns - start_ts_ns), max(end_ns) - min(start_ts_ns)) AS waited_ns FROM begun GROUP BY upid, fd, ts_ns
), waited AS (
  SELECT d.upid, sum(d.waited_ns) AS waited_ns, any_value(b.short_count) AS short_count, any_value(b.name) AS name
  FROM delayed AS d
  JOIN (SELECT upid, count(DISTINCT short_upid) AS short_count, mode(name ORDER BY name) AS name FROM begun GROUP BY upid) AS b USING (upid)
  GROUP BY d.upid
), ran AS (
  SELECT t.upid, x.utid, x.on_cpu_ns
  FROM thread_time AS x
  JOIN thread AS t USING (utid)
  WHERE x.utid IN (SELECT utid FROM workload_thread)
), spent AS (
  SELECT upid, sum(on_cpu_ns) AS run_ns FROM ran GROUP BY upid
), climb AS (
  -- A shell forks shells that fork programs: the ancestor that stays is who starts them.
  WITH RECURSIVE up AS (
    SELECT upid, parent_upid AS ancestor_upid, 1 AS step FROM short
    UNION ALL
    SELECT u.upid, s.parent_upid, u.step + 1
    FROM up AS u
    JOIN short AS s ON s.upid = u.ancestor_upid
    WHERE u.step < 16
  )
  SELECT upid, arg_max(ancestor_upid, step) AS ancestor_upid FROM up GROUP BY upid
), failed AS (
  SELECT DISTINCT t.upid FROM syscall AS c JOIN thread AS t USING (utid) WHERE c.name = 'exit_group' AND c.args[1] <> 0
), family AS (
  SELECT c.ancestor_upid AS upid, count(*) AS short_count, count(*) FILTER (c.upid IN (FROM failed)) AS failed_count,
    mode(s.name ORDER BY s.name) FILTER (c.upid IN (FROM failed)) AS failed_name, sum(coalesce(x.run_ns, 0)) AS run_ns, mode(s.name ORDER BY s.name) AS name
  FROM climb AS c
  JOIN short AS s USING (upid)
  LEFT JOIN spent AS x USING (upid)
  GROUP BY c.ancestor_upid
), storm AS (
  SELECT f.*, f.run_ns / (SELECT sum(on_cpu_ns) FROM ran) AS run_ratio, f.short_count / (c.duration_ns / 1e9) AS per_s, f.run_ns / c.duration_ns AS cpus
  FROM family AS f
  JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
), accepted AS (
  -- A process for each connection: its clients do not keep theirs.
  SELECT upid, count(*) AS connection_count FROM descriptor WHERE opened_by IN ('accept', 'accept4') GROUP BY upid
), opened AS (
  SELECT a.upid, o.upid AS client_upid, d.peer, count(*) AS connection_count
  FROM service_address AS a
  JOIN descriptor AS d ON @plain_address(d.peer) = a.address AND d.opened_by = 'socket'
  JOIN process AS o ON o.upid = d.upid
  WHERE a.upid IN (SELECT upid FROM storm)
  GROUP BY a.upid, o.upid, d.peer
), client AS (
  SELECT o.upid, arg_max({name: p.name, pid: p.pid, peer: o.peer, connection_count: o.connection_count}, (o.connection_count, p.pid)) AS of_it
  FROM opened AS o
  JOIN process AS p ON p.upid = o.client_upid
  GROUP BY o.upid
), slow AS (
  SELECT w.*, s.request_count, s.total_ns, @ratio(w.waited_ns, s.total_ns) AS waited_ratio
  FROM waited AS w
  JOIN served AS s USING (upid)
  CROSS JOIN threshold AS h
  JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
  WHERE s.request_count >= h.request_count AND w.short_count >= h.started_ratio * s.request_count AND w.waited_ns >= h.waited_ratio * s.total_ns
    AND s.total_ns >= h.served_ratio * c.duration_ns
), found AS (
  SELECT upid, true AS is_warning, waited_ns AS cost_ns, NULL AS run_ratio,
    format('it started {} short processes while it answered {} requests, most often {}: they lived for {:.1f} % of the time of the requests ({:.2f} of {:.2f} s)',
      short_count, request_count, coalesce(name, '?'), 100 * waited_ratio, waited_ns / 1e9, total_ns / 1e9) AS message
  FROM slow
  UNION ALL
  SELECT s.upid, a.connection_count >= h.started_ratio * s.short_count
      OR s.run_ratio >= h.warning_ratio AND EXISTS (FROM served AS o WHERE o.remote_count >= h.request_count AND o.upid <> s.upid), s.run_ns, s.run_ratio,
    format('{} processes that lived less than a second come from it, {:.0f} per second, most often {}; they ran for {:.2f} s, {:.1f} % of the CPU time of all threads, {:.1f} ms each',
      s.short_count, s.per_s, coalesce(s.name, '?'), s.run_ns / 1e9, 100 * s.run_ratio, s.run_ns / s.short_count / 1e6)
    || CASE WHEN s.failed_count >= h.failed_ratio * s.short_count THEN format('; {} of them ended with an error, most often {}', s.failed_count, coalesce(s.failed_name, '?')) ELSE '' END
    || CASE WHEN a.connection_count >= h.started_ratio * s.short_count THEN format('; it took {} new connections, and started one for each', a.connection_count)
      || coalesce(format(': {} ({}) opened {} to {} and keeps none', l.of_it.name, l.of_it.pid, l.of_it.connection_count, l.of_it.peer), '') ELSE '' END
  FROM storm AS s
  LEFT JOIN accepted AS a USING (upid)
  LEFT JOIN client AS l USING (upid)
  CROSS JOIN threshold AS h
  WHERE s.short_count >= h.process_count AND s.per_s >= h.per_s
    AND s.run_ns < s.short_count * CASE WHEN s.failed_count >= h.failed_ratio * s.short_count THEN h.failed_run_ns ELSE h.run_ns END AND s.run_ratio >= h.run_ratio AND s.cpus >= h.cpus
    AND s.upid NOT IN (SELECT upid FROM slow)
)
SELECT
  @severity(false, f.is_warning) AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject, f.message, @whole(f.cost_ns) AS cost_ns,
  CASE WHEN f.run_ratio >= h.warning_ratio THEN ['the CPUs'] END || coalesce((SELECT list('requests of ' || a.address) FROM service_address AS a WHERE a.upid = f.upid), []) AS about
FROM found AS f
CROSS JOIN threshold AS h
JOIN process AS p USING (upid)
