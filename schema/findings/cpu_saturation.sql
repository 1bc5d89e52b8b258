-- cpu_saturation: Threads wait for a CPU: there are more runnable threads than CPUs
-- condition: threads waited for a CPU for 20 % or more of the time that they could run (their work took 1.25 times as long),
--   and together they needed half a CPU all the time, and half a second of it in all. Critical from 40 %: the published slow
--   host had a load of 1.77 per CPU, so 0.77 / 1.77 = 43 % was waiting.
--   At least half of the waiting was while the CPUs of the host were idle for 30 % of the time at most (/proc/stat; 70 % is where
--   Gregg's USE method begins to look): a burst of wakeups on a host that is idle otherwise waits, too, and costs little.
--   In that time all that ran on the host and these waits together are a load of 1.25 per CPU or more, for critical 1.67: on CPUs
--   with nothing to spare, 20 and 40 % of such a load wait. Threads that wake each other wait for a moment also where the CPUs have time left
--   The threads of a control group whose quota holds it back do not count (cpu_quota), and at least half of the waiting was while
--   no CPU was idle (unclaimed_cpus). The message has who ran most, and its own function that has most of its samples, if that is a tenth of 20 or more, else the library, if its functions have no names.
--   Where half of its system calls or more are one call, and it makes 10,000 of these or more in each second that it runs (one in 100 µs of its CPU time, a hundred times what a short call takes), the
--   message has this call: what a program asks the kernel for so often is work, though none of its own functions shows it (workload characterization in the USE method; syscount). So it has a call
--   in which a third or more of 20 samples were taken, and its file or peer, if that is one for half of them: so much of its time the kernel worked for it there.
--   If half of the waiting or more was of threads of that process, and these are more than the CPUs, it waits for itself: it says how many (saturation is a property of who queues, USE method).
--   While one of its threads runs, the others can wait for it, and no longer: half of their waiting may not be more than that
-- means: every request takes longer than its work, by the time that it waits for a CPU. Latency grows faster than the load
-- next: perfcase view run_queue_latency_by_thread: which threads wait, how long, and when longest
-- next: perfcase view preemptions: which thread takes the CPU from which
-- about: the CPUs
-- follows from: busy_polling, garbage_collection, noisy_neighbour, short_processes, woken_together
-- taught by: An unexplained win
-- source: capture, cgroup_activity, cpu_utilization, descriptor, frame, frame_label, perf_event, process, process_cgroup, recorded_span, run_queue_wait, sample, stack_entry, syscall, thread, thread_time, unclaimed_level, workload_thread
-- evidence: SELECT comm, tid, on_cpu_ns, run_queue_ns, run_queue_ratio, run_delay_max_ns FROM thread_time
--   WHERE utid IN (SELECT utid FROM workload_thread) ORDER BY run_queue_ns DESC
WITH threshold AS (
  SELECT 0.2 AS waiting_ratio, 0.4 AS critical_ratio, 500000000 AS wanted_ns, 0.5 AS wanted_cpus, 0.25 AS throttled_ratio, 0.5 AS unclaimed_ratio, 0.3 AS idle_ratio, 0.5 AS busy_wait_ratio, 20 AS samples, 0.1 AS hot_ratio, 0.5 AS own_ratio, 0.5 AS call_ratio, 10000 AS call_rate, 0.33 AS inside_ratio
), held AS (
  SELECT cgroup
  FROM cgroup_activity
  CROSS JOIN threshold AS h
  GROUP BY cgroup, h.throttled_ratio
  HAVING sum(throttled_count) >= h.throttled_ratio * sum(period_count) AND sum(throttled_count) > 0
), held_process AS (
  SELECT DISTINCT p.upid
  FROM process_cgroup AS p
  JOIN held AS g ON p.cgroup = g.cgroup OR starts_with(p.cgroup, rtrim(g.cgroup, '/') || '/')
), unclaimed AS (
  SELECT coalesce(@product(sum(cpu_count::HUGEINT * duration_ns), 1), 0) AS ns FROM unclaimed_level
), load AS (
  SELECT ts_ns, idle_ratio + iowait_ratio AS idle_ratio FROM cpu_utilization WHERE cpu = 'all'
), wait AS (
  SELECT sum(w.wait_ns) AS ns, sum(w.wait_ns) FILTER (l.idle_ratio <= h.idle_ratio) AS busy_ns
  FROM run_queue_wait AS w
  ASOF JOIN load AS l ON w.ts_ns + w.wait_ns >= l.ts_ns
  CROSS JOIN threshold AS h
  WHERE w.utid IN (SELECT utid FROM workload_thread)
), host AS (
  SELECT sum(u.busy_ns + u.steal_ns) AS busy_ns, sum(u.cpu_ns) AS cpu_ns
  FROM cpu_utilization AS u
  CROSS JOIN threshold AS h
  WHERE u.cpu = 'all' AND u.idle_ratio + u.iowait_ratio <= h.idle_ratio
), wanting AS (
  SELECT arg_max(comm, (run_queue_ns, comm)) AS comm, tid, sum(on_cpu_ns) AS on_cpu_ns, sum(run_queue_ns) AS run_queue_ns
  FROM thread_time
  WHERE utid IN (SELECT utid FROM workload_thread WHERE (upid IN (SELECT upid FROM held_process)) IS NOT TRUE)
  GROUP BY utid, tid
), eater AS (
  SELECT coalesce(p.name, '?') AS process, count(DISTINCT p.upid) AS process_count, min(p.pid) AS pid, sum(x.on_cpu_ns) AS run_ns, sum(x.run_queue_ns) FILTER ((p.upid IN (SELECT upid FROM held_process)) IS NOT TRUE) AS own_wait_ns,
    count(DISTINCT x.utid) FILTER (x.run_queue_ns > 0) AS thread_count
  FROM thread_time AS x
  JOIN thread AS t USING (utid)
  JOIN process AS p ON p.upid = t.upid
  WHERE x.utid IN (SELECT utid FROM workload_thread)
  GROUP BY ALL
  ORDER BY run_ns DESC, process
  LIMIT 1
), hit AS (
  -- Where it ran: by the samples of the CPUs' clocks.
  SELECT CASE WHEN l.unnamed_address IS NULL THEN l.label ELSE l.dso END AS label, l.unnamed_address IS NULL AND NOT coalesce(f.is_kernel, false) AS is_named,
    l.unnamed_address IS NOT NULL AND contains(l.dso, '.so') AND NOT coalesce(f.is_kernel, false) AS is_object, count(*) AS sample_count
  FROM sample AS s
  JOIN perf_event AS v USING (event_id)
  JOIN thread AS t USING (utid)
  JOIN process AS p USING (upid)
  JOIN eater AS e ON e.process = p.name
  JOIN stack_entry AS k ON k.stack_id = s.stack_id AND k.position = 0
  JOIN frame AS f ON f.frame_id = k.frame_id
  JOIN frame_label AS l ON l.frame_id = k.frame_id
  WHERE v.name SIMILAR TO '(cpu-cycles|cycles|cpu-clock|task-clock)([:/].*)?'
  GROUP BY ALL
), hot AS (
  SELECT CASE WHEN is_told THEN label ELSE object END AS label, CASE WHEN is_told THEN most ELSE object_most END AS most, total
  FROM (
    SELECT arg_max(label, (sample_count, label)) FILTER (is_named) AS label, max(sample_count) FILTER (is_named) AS most, sum(sample_count) AS total,
      arg_max(label, (sample_count, label)) FILTER (is_object) AS object, max(sample_count) FILTER (is_object) AS object_most, coalesce(most >= any_value(h.hot_ratio) * total, false) AS is_told
    FROM hit
    CROSS JOIN threshold AS h
  )
), called AS (
  -- What it asks the kernel for, if that is one thing, again and again.
  SELECT c.name, c.call_count, c.error_count, c.all_count
  FROM (
    SELECT s.name, count(*) AS call_count, count(s.errno) AS error_count, sum(count(*)) OVER () AS all_count
    FROM syscall AS s
    JOIN thread AS t USING (utid)
    JOIN process AS p USING (upid)
    JOIN eater AS e ON e.process = coalesce(p.name, '?')
    WHERE s.utid IN (SELECT utid FROM workload_thread)
    GROUP BY s.name
  ) AS c
  ORDER BY c.call_count DESC, c.name
  LIMIT 1
), tick AS (
  SELECT s.utid, s.ts_ns
  FROM sample AS s
  JOIN perf_event AS v USING (event_id)
  JOIN thread AS t USING (utid)
  JOIN process AS p USING (upid)
  JOIN eater AS e ON e.process = p.name
  WHERE v.name SIMILAR TO '(cpu-cycles|cycles|cpu-clock|task-clock)([:/].*)?'
), inside AS (
  -- In which call it was at each sample.
  SELECT CASE WHEN k.ts_ns < c.exit_ts_ns THEN c.name END AS name, CASE WHEN k.ts_ns < c.exit_ts_ns THEN coalesce(d.peer, d.target) END AS target
  FROM tick AS k
  ASOF LEFT JOIN (SELECT utid, ts_ns, exit_ts_ns, name, descriptor_id FROM syscall WHERE utid IN (SELECT utid FROM tick)) AS c ON c.utid = k.utid AND k.ts_ns >= c.ts_ns
  LEFT JOIN descriptor AS d USING (descriptor_id)
), spent AS (
  SELECT name, sum(sample_count) AS sample_count, arg_max(target, (sample_count, target)) FILTER (target IS NOT NULL AND NOT starts_with(target, 'socket:')) AS target,
    coalesce(max(sample_count) FILTER (target IS NOT NULL AND NOT starts_with(target, 'socket:')), 0) AS target_count, max(all_count) AS all_count
  FROM (SELECT name, target, count(*) AS sample_count, sum(count(*)) OVER () AS all_count FROM inside GROUP BY name, target) AS g
  WHERE name IS NOT NULL
  GROUP BY name
  ORDER BY sample_count DESC, name
  LIMIT 1
), total AS (
  SELECT sum(on_cpu_ns) AS ran_ns, sum(run_queue_ns) AS waited_ns,
    sum(run_queue_ns) / nullif(sum(on_cpu_ns) + sum(run_queue_ns), 0) AS waiting_ratio,
    arg_max(comm, (run_queue_ns, -tid)) AS most_comm, arg_max(tid, (run_queue_ns, -tid)) AS most_tid, max(run_queue_ns) AS most_ns
  FROM wanting
  HAVING count(*) > 0
), measured AS (
  SELECT t.*, (g.busy_ns + w.busy_ns) / nullif(g.cpu_ns, 0) AS load_per_cpu, c.duration_ns
  FROM total AS t
  CROSS JOIN host AS g
  CROSS JOIN wait AS w
  JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
)
SELECT
  @severity(t.waiting_ratio >= h.critical_ratio AND coalesce(t.load_per_cpu >= 1 / (1 - h.critical_ratio), true), true) AS severity,
  'all CPUs' AS subject,
  format('threads waited {:.2f} s for a CPU and ran {:.2f} s: {:.1f} % of the time that they could run; {} ({}) waited most, {:.2f} s{}{}',
    t.waited_ns / 1e9, t.ran_ns / 1e9, 100 * t.waiting_ratio, t.most_comm, t.most_tid, t.most_ns / 1e9,
    coalesce((SELECT format('; {} ran most, {:.2f} s', CASE e.process_count WHEN 1 THEN format('{} ({})', e.process, e.pid) ELSE format('{} processes {}', e.process_count, e.process) END, e.run_ns / 1e9) FROM eater AS e), ''),
    CASE WHEN o.total >= h.samples AND o.most >= h.hot_ratio * o.total THEN format(', most often in {} ({:.0f} % of the samples)', o.label, 100 * o.most / o.total) ELSE '' END
    || coalesce((SELECT format('; {} {} {:,} times{}', CASE e.process_count WHEN 1 THEN 'it calls' ELSE 'they call' END, c.name, c.call_count, CASE WHEN 2 * c.error_count > c.call_count THEN format(', {:.0f} % in vain', 100 * c.error_count / c.call_count) ELSE '' END)
      FROM eater AS e, called AS c WHERE c.call_count >= h.call_ratio * c.all_count AND c.call_count * 1e9 >= h.call_rate * e.run_ns), '')
    || coalesce((SELECT format('; {:.0f} % of {} samples are in the call {}{}', 100 * n.sample_count / n.all_count, CASE e.process_count WHEN 1 THEN 'its' ELSE 'their' END, n.name,
      CASE WHEN 2 * n.target_count >= n.sample_count THEN ' on ' || n.target ELSE '' END) FROM eater AS e, spent AS n WHERE n.all_count >= h.samples AND n.sample_count >= h.inside_ratio * n.all_count), '')
    || coalesce((SELECT format('; {:.1f} % of the waiting was of its own threads, {} of them', 100 * e.own_wait_ns / t.waited_ns, e.thread_count) FROM eater AS e
      WHERE e.process_count = 1 AND e.thread_count > (SELECT max(cpu_count) FROM capture) AND e.own_wait_ns >= h.own_ratio * t.waited_ns
        AND e.own_wait_ns * h.own_ratio <= e.run_ns::HUGEINT * (e.thread_count - 1)), '')) AS message,
  @whole(t.waited_ns) AS cost_ns, ['the CPUs'] AS about
FROM measured AS t
CROSS JOIN threshold AS h
CROSS JOIN unclaimed AS u
CROSS JOIN wait AS w
CROSS JOIN hot AS o
WHERE t.waiting_ratio >= h.waiting_ratio AND u.ns < h.unclaimed_ratio * t.waited_ns
  AND (w.ns IS NULL OR coalesce(w.busy_ns, 0) >= h.busy_wait_ratio * w.ns)
  AND t.ran_ns + t.waited_ns >= greatest(h.wanted_ns, h.wanted_cpus * t.duration_ns)
  AND coalesce(t.load_per_cpu >= 1 / (1 - h.waiting_ratio), true)
