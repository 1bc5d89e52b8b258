-- context_switches: how often each process's threads left a CPU, per second of the capture, and whether they wanted to
-- grain: a second of the capture, a process and a name that it had
-- source: sched_switch, thread, process_name, source, recorded_span
-- caveat: the first and the last second are usually cut short: switch_per_s divides by the part of the second in which switches were recorded
-- caveat: the idle task is left out
-- diff by: process
-- diff sum: involuntary_count, voluntary_count
-- diff weight: 0.4
-- plot: intervals voluntary_count, involuntary_count by pid, process
-- keys: ts_ns, interval_ns, upid, pid
-- column process: the process's name then
-- column voluntary_count [count]: switches of threads that went to sleep
-- column involuntary_count [count]: switches of threads that still wanted to run
-- column switch_count [count]: voluntary_count and involuntary_count together
-- column switch_per_s [1/s]: switches per second
WITH bounds AS (
  SELECT max(start_ts_ns) AS start_ns, max(end_ts_ns) AS end_ns FROM recorded_span WHERE table_name = 'thread_state'
), switches AS (
  SELECT greatest(s.ts_ns // 1000000000 * 1000000000, b.start_ns) AS ts_ns,
    greatest(1, least((s.ts_ns // 1000000000 + 1) * 1000000000, b.end_ns) - greatest(s.ts_ns // 1000000000 * 1000000000, b.start_ns))
      AS interval_ns,
    t.upid, p.pid,
    CASE WHEN t.tid = p.pid THEN coalesce(s.prev_comm, p.name) ELSE p.name END AS process,
    s.prev_state NOT IN (0, 256) AS is_voluntary
  FROM sched_switch AS s
  JOIN source AS o USING (source_id)
  LEFT JOIN thread AS t ON t.utid = s.utid
  ASOF LEFT JOIN process_name AS p ON p.upid = t.upid AND p.since_ts_ns <= s.ts_ns
  CROSS JOIN bounds AS b
  WHERE o.is_timeline AND s.prev_pid <> 0
)
SELECT
  s.ts_ns, s.interval_ns, s.upid, s.pid, s.process,
  count(*) FILTER (s.is_voluntary) AS voluntary_count,
  count(*) FILTER (NOT s.is_voluntary) AS involuntary_count,
  count(*) AS switch_count,
  count(*) * 1e9 / s.interval_ns AS switch_per_s
FROM switches AS s
GROUP BY s.ts_ns, s.interval_ns, s.upid, s.pid, s.process
ORDER BY s.ts_ns, switch_count DESC, s.upid, s.process
