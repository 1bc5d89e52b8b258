-- work_compute: who ran most, in which thread, and in which function
-- grain: a process, or a server with its workers; the six that ran most
-- source: dso, frame, frame_label, perf_event, process, recorded_span, sample, service_process, stack_entry, syscall, thread, thread_time, workload_thread
-- caveat: the function is the one that has most of the samples of its CPU time (USE method: for each resource, who uses it), if there are 20; the object is where it was called from, which a function of a library does not say
-- caveat: to compute is what CPUs are for: nothing says that it is a fault
-- diff no: thread_time and function_profile are compared
-- column process: the name of the process
-- keys: pid, upid
-- column run_ns [ns]: time that its threads ran
-- column run_ratio [ratio]: its share of what the threads of all processes ran
-- column cpu_ratio [ratio]: its share of one CPU over the whole recording
-- column thread: the name of the threads that ran most, if they have another one than the process; NULL if they had less than half of it
-- column function: where it has most samples; NULL with few samples
-- column function_ratio [ratio]: the share of this function
-- column caller: the object from which this function was called most often, if that is another one than its own and not the C library
-- column call: the system call that it made most often, if it made a thousand or more in each second that it ran
-- column call_count [count]: how often
WITH setting AS (
  SELECT 6 AS process_count, 20 AS samples, 1000 AS calls_per_s, 0.5 AS thread_ratio
), ran AS (
  SELECT f.service_upid AS upid, x.comm, sum(x.on_cpu_ns) AS run_ns
  FROM thread_time AS x
  JOIN thread AS t USING (utid)
  JOIN service_process AS f ON f.upid = t.upid
  WHERE x.on_cpu_ns > 0 AND x.utid IN (SELECT utid FROM workload_thread)
  GROUP BY ALL
), busy AS (
  SELECT upid, sum(run_ns) AS run_ns, arg_max(comm, (run_ns, comm)) AS comm, max(run_ns) AS most_ns, sum(sum(run_ns)) OVER () AS all_ns
  FROM ran
  GROUP BY upid
  QUALIFY row_number() OVER (ORDER BY sum(run_ns) DESC, upid) <= (SELECT process_count FROM setting)
), sampled AS (
  SELECT f.service_upid AS upid, s.stack_id, count(*) AS sample_count
  FROM sample AS s
  JOIN perf_event AS v USING (event_id)
  JOIN thread AS t USING (utid)
  JOIN service_process AS f ON f.upid = t.upid
  WHERE v.name SIMILAR TO '(cpu-cycles|cycles|cpu-clock|task-clock)([:/].*)?' AND f.service_upid IN (SELECT upid FROM busy)
  GROUP BY ALL
), hit AS (
  SELECT s.upid, s.stack_id, r.dso_id, CASE WHEN l.unnamed_address IS NULL THEN l.label ELSE l.dso END AS symbol, s.sample_count
  FROM sampled AS s
  JOIN stack_entry AS e ON e.stack_id = s.stack_id AND e.position = 0
  JOIN frame AS r USING (frame_id)
  JOIN frame_label AS l USING (frame_id)
), hot AS (
  SELECT upid, arg_max(symbol, (hit_count, symbol)) AS symbol, max(hit_count) AS most, sum(hit_count) AS total
  FROM (SELECT upid, symbol, sum(sample_count) AS hit_count FROM hit GROUP BY upid, symbol)
  GROUP BY upid
), called_from AS (
  -- The nearest frame of another object, outwards; all is called from the C library at last.
  SELECT i.upid, i.sample_count, arg_min(d.name, e.position) AS dso
  FROM hit AS i
  JOIN hot AS t ON t.upid = i.upid AND t.symbol = i.symbol
  JOIN stack_entry AS e ON e.stack_id = i.stack_id AND e.position > 0
  JOIN frame AS r ON r.frame_id = e.frame_id AND r.dso_id IS DISTINCT FROM i.dso_id
  JOIN dso AS d ON d.dso_id = r.dso_id AND d.kind = 'user' AND NOT regexp_matches(d.name, '^(ld|libc|libpthread)[-.]')
  GROUP BY i.upid, i.stack_id, i.sample_count
), caller AS (
  SELECT upid, dso FROM called_from GROUP BY upid, dso QUALIFY row_number() OVER (PARTITION BY upid ORDER BY sum(sample_count) DESC, dso) = 1
), called AS (
  SELECT f.service_upid AS upid, s.name, count(*) AS call_count
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  JOIN service_process AS f ON f.upid = t.upid
  WHERE f.service_upid IN (SELECT upid FROM busy)
  GROUP BY f.service_upid, s.name
  QUALIFY row_number() OVER (PARTITION BY f.service_upid ORDER BY count(*) DESC, s.name) = 1
)
SELECT p.name AS process, p.pid, b.upid, @whole(b.run_ns) AS run_ns, @ratio(b.run_ns, b.all_ns) AS run_ratio,
  @ratio(b.run_ns, (SELECT max(duration_ns) FROM recorded_span WHERE table_name = 'thread_state')) AS cpu_ratio, CASE WHEN b.comm <> p.name AND b.most_ns >= h.thread_ratio * b.run_ns THEN b.comm END AS thread,
  CASE WHEN t.total >= h.samples THEN t.symbol END AS function, CASE WHEN t.total >= h.samples THEN @ratio(t.most, t.total) END AS function_ratio, CASE WHEN t.total >= h.samples THEN c.dso END AS caller,
  CASE WHEN k.call_count >= h.calls_per_s * b.run_ns / 1e9 THEN k.name END AS call, CASE WHEN k.call_count >= h.calls_per_s * b.run_ns / 1e9 THEN k.call_count END AS call_count
FROM busy AS b
JOIN process AS p USING (upid)
CROSS JOIN setting AS h
LEFT JOIN hot AS t USING (upid)
LEFT JOIN caller AS c USING (upid)
LEFT JOIN called AS k USING (upid)
ORDER BY b.run_ns DESC, b.upid
