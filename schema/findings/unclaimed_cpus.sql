-- unclaimed_cpus: Threads wait for a CPU while another one is idle
-- condition: for a fifth of the recording or longer, and for half a second in all, a CPU was idle while a thread waited in the queue of
--   another one behind a thread that ran. At least half of the time that threads waited was such time. Critical from half of the recording
-- means: something keeps the threads away from the idle CPUs: an affinity (taskset, sched_setaffinity, an interrupt's queue), a cpuset
--   of the control group, or isolated CPUs. The work takes longer than the host needs for it
-- next: perfcase view cpu_queue: which CPU had the queue, over time
-- next: perfcase view run_queue_latency_by_thread: which threads waited. taskset -cp shows where they may run
-- next: perfcase view unclaimed_cpu: over time
-- taught by: -
-- source: cpu_level, followed_state, recorded_span, thread, unclaimed_level
-- evidence: SELECT ts_ns, interval_ns, busy_ns, idle_ns, queued_ns, unclaimed_ns, wall_ns FROM unclaimed_cpu ORDER BY ts_ns
WITH threshold AS (
  SELECT 0.2 AS wall_ratio, 0.5 AS critical_ratio, 500000000 AS wall_ns, 0.5 AS of_waiting
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
