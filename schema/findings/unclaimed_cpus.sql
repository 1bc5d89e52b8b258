-- unclaimed_cpus: Threads wait for a CPU while another one is idle
-- condition: for a fifth of the recording or longer, and for half a second in all, a CPU was idle while a thread waited in the queue of
--   another one behind a thread that ran. At least half of the time that threads waited was such time. Critical from half of the recording.
--   A recording of some processes does not know who else ran: there at least half of the waiting, half a second and a fifth of the time that
--   the threads could run, was for a CPU that was 70 % busy (where the USE method begins to look) in an interval in which another one was idle for half (/proc/stat)
-- means: something keeps the threads away from the idle CPUs: an affinity (taskset, sched_setaffinity, an interrupt's queue), a cpuset
--   of the control group, or isolated CPUs. The work takes longer than the host needs for it
-- next: perfcase view cpu_queue: which CPU had the queue, over time
-- next: perfcase view run_queue_latency_by_thread: which threads waited. taskset -cp shows where they may run
-- next: perfcase view unclaimed_cpu: over time
-- taught by: -
-- source: cpu_level, cpu_utilization, followed_state, recorded_span, run_queue_wait, thread, thread_time, unclaimed_level, workload_thread
-- evidence: SELECT ts_ns, interval_ns, busy_ns, idle_ns, queued_ns, unclaimed_ns, wall_ns FROM unclaimed_cpu ORDER BY ts_ns
WITH threshold AS (
  SELECT 0.2 AS wall_ratio, 0.5 AS critical_ratio, 500000000 AS wall_ns, 0.5 AS of_waiting, 0.7 AS busy_ratio, 0.5 AS idle_ratio, 0.2 AS waiting_ratio
), unclaimed AS (
  SELECT sum(duration_ns::HUGEINT) AS wall_ns, sum(cpu_count::HUGEINT * duration_ns) AS cpu_ns, max(cpu_count) AS most_cpus FROM unclaimed_level
  HAVING count(*) > 0
), queue AS (
  SELECT cpu, sum(waiting_count::HUGEINT * duration_ns) AS waited_ns
  FROM cpu_level
  WHERE is_running
  GROUP BY cpu
), queued AS (
  SELECT sum(waited_ns) AS waited_ns, arg_max(cpu, (waited_ns, -cpu::BIGINT)) AS cpu, max(waited_ns) AS most_ns FROM queue
), waiting AS (
  -- The thread that waited longest for the CPU with the longest queue.
  SELECT t.comm, t.tid
  FROM followed_state AS s
  JOIN thread AS t USING (utid)
  WHERE s.state IN ('runnable', 'runnable_preempted') AND coalesce(s.queue_cpu, s.ran_cpu, s.cpu) = (SELECT cpu FROM queued)
  GROUP BY t.utid, t.comm, t.tid
  ORDER BY sum(s.duration_ns) DESC, t.utid
  LIMIT 1
), load AS (
  SELECT l.ts_ns, l.interval_ns, l.cpu, l.idle_ratio + l.iowait_ratio AS idle_ratio,
    max(l.idle_ratio + l.iowait_ratio) OVER (PARTITION BY l.ts_ns) AS most_idle_ratio,
    arg_max(l.cpu, l.idle_ratio + l.iowait_ratio) OVER (PARTITION BY l.ts_ns) AS idle_cpu
  FROM cpu_utilization AS l
  WHERE l.cpu <> 'all'
), behind AS (
  SELECT w.utid, w.comm, w.tid, w.cpu, w.wait_ns, l.ts_ns, l.interval_ns, l.idle_cpu,
    1 - l.idle_ratio >= h.busy_ratio AND l.most_idle_ratio >= h.idle_ratio AS is_unclaimed
  FROM (
    -- Asked here: a join of all waits would sort them before it is asked.
    SELECT * FROM run_queue_wait
    WHERE NOT EXISTS (FROM cpu_level WHERE is_idle) AND EXISTS (FROM load) AND utid IN (SELECT utid FROM workload_thread)
  ) AS w
  ASOF JOIN load AS l ON l.cpu = w.cpu::VARCHAR AND w.ts_ns + w.wait_ns >= l.ts_ns
  CROSS JOIN threshold AS h
), named AS (
  SELECT cpu, comm, mode(idle_cpu) AS idle_cpu, sum(wait_ns) AS waited_ns, count(DISTINCT utid) AS thread_count, min(tid) AS tid
  FROM behind
  WHERE is_unclaimed
  GROUP BY cpu, comm
), scoped AS (
  SELECT cpu, arg_max(idle_cpu, waited_ns) AS idle_cpu, any_value(all_ns) AS waited_ns,
    string_agg(format('{} {:.2f} s', CASE thread_count WHEN 1 THEN format('{} ({})', coalesce(comm, '?'), tid) ELSE format('{} threads {}', thread_count, coalesce(comm, '?')) END,
      waited_ns / 1e9), ', ' ORDER BY waited_ns DESC, comm) AS who
  FROM (
    SELECT *, sum(waited_ns) OVER (PARTITION BY cpu) AS all_ns
    FROM named
    QUALIFY row_number() OVER (PARTITION BY cpu ORDER BY waited_ns DESC, comm) <= 3
  )
  GROUP BY cpu
), scoped_total AS (
  SELECT sum(wait_ns) AS ns, sum(wait_ns) FILTER (is_unclaimed) AS unclaimed_ns FROM behind
), wanted AS (
  SELECT sum(on_cpu_ns) + sum(run_queue_ns) AS ns FROM thread_time WHERE utid IN (SELECT utid FROM workload_thread)
)
SELECT
  @severity(u.wall_ns >= h.critical_ratio * c.duration_ns, true) AS severity,
  format('CPU {}', q.cpu) AS subject,
  format('for {:.2f} s, {:.1f} % of the recording, threads waited behind others while {}{} idle: {:.2f} s of idle CPU time that they could have used; {:.2f} s of the waiting was in the queue of CPU {}{}',
    u.wall_ns / 1e9, 100 * u.wall_ns / c.duration_ns, CASE u.most_cpus WHEN 1 THEN 'a CPU' ELSE format('up to {} CPUs', u.most_cpus) END,
    CASE u.most_cpus WHEN 1 THEN ' was' ELSE ' were' END, u.cpu_ns / 1e9, q.most_ns / 1e9, q.cpu,
    CASE WHEN w.tid IS NULL THEN '' ELSE format(', most of {} ({})', coalesce(w.comm, '?'), w.tid) END) AS message,
  @whole(u.cpu_ns) AS cost_ns
FROM unclaimed AS u
CROSS JOIN queued AS q
CROSS JOIN threshold AS h
LEFT JOIN waiting AS w ON true
JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
WHERE u.wall_ns >= greatest(h.wall_ns, h.wall_ratio * c.duration_ns) AND u.cpu_ns >= h.of_waiting * q.waited_ns
UNION ALL
SELECT
  @severity(x.waited_ns >= h.critical_ratio * n.ns, true) AS severity,
  format('CPU {}', x.cpu) AS subject,
  format('threads waited {:.2f} s for it while it was busy and CPU {} was idle most of the time: {:.1f} % of the time that they could run: {}',
    x.waited_ns / 1e9, x.idle_cpu, 100 * x.waited_ns / n.ns, x.who) AS message,
  @whole(x.waited_ns) AS cost_ns
FROM scoped AS x
CROSS JOIN scoped_total AS o
CROSS JOIN wanted AS n
CROSS JOIN threshold AS h
WHERE x.waited_ns >= greatest(h.wall_ns, h.waiting_ratio * n.ns) AND o.unclaimed_ns >= h.of_waiting * o.ns
