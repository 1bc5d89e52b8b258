-- lock_convoy: Lock contention: threads queue for one lock
-- condition: three threads or more waited for one lock with a known holder (see lock_wait_event: a condition variable has
--   none), 20 times or more, and on average half a thread or more waited for it at any moment. Critical if the threads that
--   ever waited for it spent half of the recording there
-- means: these threads run one after the other. More threads or CPUs change nothing. Whenever a holder sleeps or is preempted,
--   all the others wait too
-- next: perfcase view lock_wait: where the threads waited, which thread held the lock, which thread woke them
-- next: perfcase view off_cpu_by_stack and off_wake: what the holder did at that time
-- next: hold the lock for a shorter time, or split it. Do no I/O and no sleep while you hold it
-- about: the lock, the locks of the process
-- follows from: woken_together
-- taught by: Identifying an off-CPU bottleneck
-- source: lock_wait_event, process, recorded_span, syscall, thread
-- evidence: SELECT kind, lock, process, comm, holder_comm, holder_how, wait_count, wait_total_ns, wait_avg_ns, wait_max_ns, stack FROM lock_wait
--   WHERE holder_how IS NOT NULL ORDER BY wait_total_ns DESC, lock, comm
WITH threshold AS (
  SELECT 3 AS thread_count, 20 AS wait_count, 0.5 AS waiting_threads, 0.5 AS critical_ratio, 1000000 AS call_ns
), wait AS (
  SELECT kind, CASE WHEN kind = 'futex' THEN upid END AS upid, lock_address, lock_type, utid, holder_utid, ts_ns, duration_ns, ts_ns + duration_ns AS end_ns
  FROM lock_wait_event
  WHERE holder_utid IS NOT NULL AND utid IS NOT NULL AND result IN ('woken', 'acquired')
), call AS (
  SELECT utid, name, ts_ns, exit_ts_ns
  FROM syscall
  WHERE duration_ns >= (SELECT call_ns FROM threshold) AND name NOT LIKE 'futex%'
), meanwhile AS (
  -- The holder's last long call before it gave the lock away.
  SELECT w.*, CASE WHEN k.exit_ts_ns > w.ts_ns THEN k.name END AS holder_call
  FROM wait AS w
  ASOF LEFT JOIN call AS k ON k.utid = w.holder_utid AND k.exit_ts_ns <= w.end_ns
), held AS (
  SELECT kind, upid, lock_address, holder_utid, count(*) AS held_count FROM wait GROUP BY ALL
), holder AS (
  SELECT kind, upid, lock_address, arg_max(holder_utid, (held_count, -holder_utid::BIGINT)) AS most_utid, max(held_count) AS most_count
  FROM held
  GROUP BY ALL
), convoy AS (
  SELECT m.kind, m.upid, m.lock_address, min(m.lock_type) AS lock_type, count(*) AS wait_count, sum(m.duration_ns) AS wait_ns,
    max(m.duration_ns) AS max_ns, count(DISTINCT m.utid) AS thread_count, count(DISTINCT m.holder_utid) AS holder_count,
    mode(m.utid ORDER BY m.utid) AS a_utid, mode(m.holder_call ORDER BY m.holder_call) AS holder_call, count(m.holder_call) AS in_call_count,
    sum(m.duration_ns) / any_value(c.duration_ns) AS waiting_threads
  FROM meanwhile AS m
  JOIN recorded_span AS c ON c.table_name = CASE m.kind WHEN 'futex' THEN 'syscall' ELSE 'thread_state' END AND c.duration_ns > 0
  GROUP BY ALL
)
SELECT
  @severity(v.waiting_threads >= h.critical_ratio * v.thread_count, true) AS severity,
  format('{} lock 0x{:x}{}', v.kind, v.lock_address, coalesce(' of ' || p.name || ' (' || p.pid || ')', '')) AS subject,
  format('{} threads ({}) waited {} times for it, {:.1f} ms on average, {:.1f} ms at most: {:.2f} s, {:.1f} threads at any moment; {} thread{} held it at that time, most often {} ({}): {} times{}',
    v.thread_count, coalesce(t.comm, '?'), v.wait_count, v.wait_ns / v.wait_count / 1e6, v.max_ns / 1e6, v.wait_ns / 1e9, v.waiting_threads,
    v.holder_count, CASE v.holder_count WHEN 1 THEN '' ELSE 's' END, coalesce(k.comm, '?'), k.tid, o.most_count,
    CASE WHEN v.in_call_count >= 0.5 * v.wait_count THEN format(', and the holder was mostly in {}', v.holder_call) ELSE '' END) AS message,
  @whole(v.wait_ns) AS cost_ns, [format('{} lock 0x{:x}', v.kind, v.lock_address), 'locks of process ' || v.upid] AS about
FROM convoy AS v
JOIN holder AS o ON o.kind = v.kind AND o.upid IS NOT DISTINCT FROM v.upid AND o.lock_address = v.lock_address
LEFT JOIN process AS p ON p.upid = v.upid
LEFT JOIN thread AS t ON t.utid = v.a_utid
LEFT JOIN thread AS k ON k.utid = o.most_utid
CROSS JOIN threshold AS h
WHERE v.thread_count >= h.thread_count AND v.wait_count >= h.wait_count AND v.waiting_threads >= h.waiting_threads
