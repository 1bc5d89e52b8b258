-- work_computes: A process takes a CPU most of the time
-- condition: a process, or a server with its workers (service_process), ran for half of the recording or more, on one CPU, and half a second or more. A note, one for each, the three that ran most: to
--   compute is what CPUs are for. It says which of its threads ran most, the function that has most of its samples, as in the USE method (Gregg: for each resource, who uses it), and the system call that it made most,
--   if it made a thousand or more in each second that it ran. What no other rule knows is here
-- means: this is where the time of the CPUs went. Less work, or more CPUs if there is work for them, is all that helps. Nothing says that it is a fault: compare with a capture of a good day (perfcase diff)
-- next: perfcase flamegraph: where in the program the time goes
-- next: perfcase view thread_time: each thread's time on a CPU, and waiting for one
-- next: perfcase view syscall_summary: its system calls
-- about: the requests of those who compute
-- follows from: busy_polling, event_loop_computes, garbage_collection, short_processes, uneven_work
-- taught by: An unexplained win
-- source: descriptor, frame_label, perf_event, process, recorded_span, sample, service_address, service_process, stack_entry, syscall, thread, thread_time, workload_thread
-- evidence: SELECT comm, tid, pid, on_cpu_ns, run_queue_ns FROM thread_time WHERE utid IN (SELECT utid FROM workload_thread) ORDER BY on_cpu_ns DESC, tid
WITH threshold AS (
  SELECT 0.5 AS cpu_count, 500000000 AS run_ns, 3 AS process_count, 20 AS samples, 1000 AS calls_per_s, 0.5 AS thread_ratio
), ran AS (
  SELECT f.service_upid AS upid, x.comm, sum(x.on_cpu_ns) AS run_ns, count(DISTINCT x.utid) AS thread_count
  FROM thread_time AS x
  JOIN thread AS t USING (utid)
  JOIN service_process AS f ON f.upid = t.upid
  WHERE x.utid IN (SELECT utid FROM workload_thread)
  GROUP BY ALL
), busy AS (
  SELECT r.upid, sum(r.run_ns) AS run_ns, arg_max(r.comm, (r.run_ns, r.comm)) AS comm, max(r.run_ns) AS most_ns, arg_max(r.thread_count, (r.run_ns, r.comm)) AS thread_count, any_value(c.duration_ns) AS duration_ns, sum(sum(r.run_ns)) OVER () AS all_ns
  FROM ran AS r
  JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
  CROSS JOIN threshold AS h
  GROUP BY r.upid, h.run_ns, h.cpu_count, h.process_count
  QUALIFY sum(r.run_ns) >= greatest(h.run_ns, h.cpu_count * any_value(c.duration_ns)) AND row_number() OVER (ORDER BY sum(r.run_ns) DESC, r.upid) <= h.process_count
), hit AS (
  SELECT f.service_upid AS upid, CASE WHEN l.unnamed_address IS NULL THEN l.label ELSE l.dso END AS symbol, count(*) AS sample_count
  FROM sample AS s
  JOIN perf_event AS v USING (event_id)
  JOIN thread AS t USING (utid)
  JOIN service_process AS f ON f.upid = t.upid
  JOIN stack_entry AS e ON e.stack_id = s.stack_id AND e.position = 0
  JOIN frame_label AS l ON l.frame_id = e.frame_id
  WHERE v.name SIMILAR TO '(cpu-cycles|cycles|cpu-clock|task-clock)([:/].*)?' AND f.service_upid IN (SELECT upid FROM busy)
  GROUP BY ALL
), hot AS (
  SELECT upid, arg_max(symbol, (sample_count, symbol)) AS symbol, max(sample_count) AS most, sum(sample_count) AS total FROM hit GROUP BY upid
), called AS (
  SELECT f.service_upid AS upid, s.name, count(*) AS call_count,
    mode(coalesce(d.peer, d.target) ORDER BY coalesce(d.peer, d.target)) FILTER (NOT starts_with(d.target, 'socket:')) AS target
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  JOIN service_process AS f ON f.upid = t.upid
  LEFT JOIN descriptor AS d USING (descriptor_id)
  WHERE f.service_upid IN (SELECT upid FROM busy)
  GROUP BY f.service_upid, s.name
  QUALIFY row_number() OVER (PARTITION BY f.service_upid ORDER BY count(*) DESC, s.name) = 1
)
SELECT
  'note' AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('ran {:.2f} s in {:.2f} s, {:.1f} % of what all processes ran{}{}{}', b.run_ns / 1e9, b.duration_ns / 1e9, 100 * b.run_ns / b.all_ns,
    CASE WHEN b.comm IS DISTINCT FROM p.name AND b.most_ns >= h.thread_ratio * b.run_ns THEN format(', {:.1f} % of it in {}{}', 100 * b.most_ns / b.run_ns, CASE b.thread_count WHEN 1 THEN 'the thread ' ELSE format('{} threads ', b.thread_count) END, b.comm) ELSE '' END,
    CASE WHEN t.total >= h.samples THEN format('; {} has {:.1f} % of its samples', t.symbol, 100 * t.most / t.total) ELSE '' END,
    CASE WHEN k.call_count >= h.calls_per_s * b.run_ns / 1e9 THEN format('; it calls {} most: {:,} times{}', k.name, k.call_count, coalesce(', most often on ' || k.target, '')) ELSE '' END) AS message,
  @whole(b.run_ns) AS cost_ns,
  coalesce((SELECT list('requests of ' || a.address ORDER BY a.address) || list('peer ' || a.address ORDER BY a.address) FROM service_address AS a JOIN service_process AS f USING (upid) WHERE f.service_upid = b.upid), []) AS about
FROM busy AS b
JOIN process AS p USING (upid)
CROSS JOIN threshold AS h
LEFT JOIN hot AS t USING (upid)
LEFT JOIN called AS k USING (upid)
