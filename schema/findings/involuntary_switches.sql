-- involuntary_switches: A storm of forced switches: threads lose the CPU before they get anything done
-- condition: a process whose threads were taken off the CPU (or offered it and stayed runnable) 4,000 times or more per second of their CPU
--   time, which is half or more of their switches, 1,000 times in all, and that ran for 5 % of the recording or more. The scheduler's own
--   turns are 0.7 ms and longer; a switch costs some 5 µs with what it does to the caches, so turns of 250 µs lose 2 %. The published
--   slow host had most turns below 7 µs, ended involuntarily
-- means: direct costs of microseconds a switch, and cold caches after each: more CPU time for the same work
-- next: perfcase view preemptions: which thread takes the CPU from which
-- next: perfcase view on_cpu_distribution: how long turns are
-- next: sched_yield loops and spinning show as system calls (syscall_summary); wakeups of many short threads as slow_wakeups
-- taught by: An unexplained win
-- source: process, recorded_span, thread_time, workload_thread
-- evidence: SELECT comm, tid, switch_count, involuntary_count, on_cpu_ns, run_max_ns FROM thread_time
--   WHERE utid IN (SELECT utid FROM workload_thread) ORDER BY involuntary_count DESC, utid
WITH threshold AS (
  SELECT 4000 AS per_cpu_s, 0.5 AS forced_ratio, 1000 AS forced, 0.05 AS busy_ratio
), of_process AS (
  SELECT t.pid, coalesce(any_value(p.name), min(t.comm)) AS name, sum(t.involuntary_count) AS forced, sum(t.switch_count) AS switches,
    sum(t.on_cpu_ns) AS on_cpu_ns
  FROM thread_time AS t
  JOIN workload_thread AS e USING (utid)
  LEFT JOIN process AS p ON p.upid = e.upid
  GROUP BY t.pid, e.upid
)
SELECT
  'warning' AS severity, format('{} ({})', o.name, coalesce(o.pid::VARCHAR, '?')) AS subject,
  format('{:,} of its {:,} switches were forced ({:.1f} %), one every {:.1f} µs of its {:.2f} s of CPU time',
    o.forced::BIGINT, o.switches::BIGINT, 100 * o.forced / o.switches, o.on_cpu_ns / o.forced / 1e3, o.on_cpu_ns / 1e9) AS message,
  -- A switch costs about 5 µs with what it does to the caches.
  least(1.0, 5000 * o.forced / o.on_cpu_ns)::DOUBLE AS score
FROM of_process AS o
CROSS JOIN threshold AS h
JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
WHERE o.forced >= h.forced AND o.forced >= h.forced_ratio * o.switches AND o.forced >= h.per_cpu_s * o.on_cpu_ns / 1e9
  AND o.on_cpu_ns >= h.busy_ratio * c.duration_ns AND o.on_cpu_ns > 0
