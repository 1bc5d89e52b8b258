-- involuntary_switches: Threads leave the CPU again and again while they could run on: they are preempted, or they yield
-- condition: a process ran for 5 % of the recording or more, and its threads lost the CPU involuntarily 4,000 times or more per
--   second of their CPU time (or yielded it and stayed runnable); these are half or more of their switches, and 1,000 in all.
--   A thread that gives way to one that it has woken itself hands its work on, as a server to its client: such a switch does not
--   count, for it comes with the wakeup (wakeup preemption, Documentation/scheduler/sched-design-CFS.rst in the kernel).
--   The scheduler's own time slices are 0.7 ms or longer. A switch costs some 5 µs with its effect on the caches, so slices of
--   250 µs lose 2 %. On the published slow host most slices were below 7 µs and ended involuntarily
-- means: each switch costs microseconds and leaves cold caches. The same work takes more CPU time
-- next: perfcase view preemptions: which thread takes the CPU from which
-- next: perfcase view on_cpu_distribution: how long the slices are
-- next: perfcase view syscall_summary: sched_yield loops and spinning. slow_wakeups: wakeups of many short threads
-- taught by: An unexplained win
-- source: followed_state, process, recorded_span, thread_time, workload_thread
-- evidence: SELECT comm, tid, switch_count, involuntary_count, on_cpu_ns, run_max_ns FROM thread_time
--   WHERE utid IN (SELECT utid FROM workload_thread) ORDER BY involuntary_count DESC, utid
WITH threshold AS (
  SELECT 4000 AS per_cpu_s, 0.5 AS forced_ratio, 1000 AS forced, 0.05 AS busy_ratio
), of_process AS (
  SELECT t.pid, coalesce(any_value(p.name), min(t.comm)) AS name, sum(t.involuntary_count) AS forced, sum(t.switch_count) AS switches,
    sum(t.on_cpu_ns) AS on_cpu_ns, e.upid
  FROM thread_time AS t
  JOIN workload_thread AS e USING (utid)
  LEFT JOIN process AS p ON p.upid = e.upid
  GROUP BY t.pid, e.upid
), stormy AS (
  SELECT o.*
  FROM of_process AS o
  CROSS JOIN threshold AS h
  JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
  WHERE o.forced >= h.forced AND o.forced >= h.forced_ratio * o.switches AND o.forced >= h.per_cpu_s * o.on_cpu_ns / 1e9
    AND o.on_cpu_ns >= h.busy_ratio * c.duration_ns AND o.on_cpu_ns > 0
), handed AS (
  -- The wait of the woken thread ended where the waker's run did, on its CPU.
  SELECT e.upid, e.pid, count(*) AS handed
  FROM followed_state AS r
  JOIN followed_state AS w ON w.state = 'runnable' AND w.woken_by_utid = r.utid AND w.ran_cpu = r.cpu AND w.ts_ns + w.duration_ns = r.ts_ns + r.duration_ns
  JOIN workload_thread AS e ON e.utid = r.utid
  WHERE r.state = 'running' AND r.next_state = 'runnable_preempted' AND e.upid IN (SELECT upid FROM stormy)
  GROUP BY e.upid, e.pid
), left_over AS (
  SELECT s.* REPLACE (s.forced - coalesce(d.handed, 0) AS forced)
  FROM stormy AS s
  LEFT JOIN handed AS d ON d.upid = s.upid AND d.pid = s.pid
)
SELECT
  'warning' AS severity, format('{} ({})', coalesce(o.name, '?'), coalesce(o.pid::VARCHAR, '?')) AS subject,
  format('{:,} of its {:,} switches left the thread runnable, preempted or by sched_yield ({:.1f} %), one every {:.1f} µs of its {:.2f} s of CPU time',
    @whole(o.forced), @whole(o.switches), 100 * o.forced / o.switches, o.on_cpu_ns / o.forced / 1e3, o.on_cpu_ns / 1e9) AS message,
  -- A switch costs about 5 µs with what it does to the caches.
  @whole(5000 * o.forced) AS cost_ns
FROM left_over AS o
CROSS JOIN threshold AS h
WHERE o.forced >= h.forced AND o.forced >= h.forced_ratio * o.switches AND o.forced >= h.per_cpu_s * o.on_cpu_ns / 1e9
