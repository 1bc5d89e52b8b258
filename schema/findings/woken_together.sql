-- woken_together: Each event wakes many threads, and they sleep again at once: there is work for one of them
-- condition: eight threads or more of a process with one name (but for digits) slept in a futex and were woken by threads of their process, 100 times or more each on average, and ran
--   0.1 ms or less each time; four in five of their system calls were futex. An event is a run of a thread of the process that a timer, a device or another process began.
--   Half or more of these threads, eight or more, were woken between one event and the next on average, each of them four times at most (for the event, for its lock, for the lock of an interpreter). There are 100 events or more, and these
--   threads used a tenth of one CPU or more. A warning; critical from half of one CPU
-- means: the CPUs switch between threads instead of working: the thundering herd. It grows with the threads: more of them make it slower
-- next: perfcase view off_wake_by_comm: which thread wakes which
-- next: perfcase view thread_time: what these threads cost
-- next: wake one (notify, signal, pthread_cond_signal) where one has work; a queue for each waiter; fewer threads. Steps of a parallel job that are this
--   short cost more than their work: make them longer
-- about: the CPUs, the locks of the process
-- taught by: -
-- source: followed_state, process, recorded_span, syscall, thread, thread_time, workload_thread
-- evidence: SELECT comm, tid, on_cpu_ns, voluntary_count FROM thread_time ORDER BY voluntary_count DESC, comm, tid
WITH threshold AS (
  SELECT 8 AS thread_count, 100 AS wake_count, 100000 AS run_ns, 0.8 AS futex_ratio, 0.5 AS woken_ratio, 4 AS times_each, 100 AS event_count, 0.1 AS cpu_ratio, 0.5 AS critical_ratio
), ran AS (
  SELECT t.utid, t.upid, regexp_replace(w.comm, '[-_ #]*[0-9]+', '', 'g') AS name, sum(x.on_cpu_ns) AS on_cpu_ns, sum(x.voluntary_count) AS sleep_count
  FROM thread_time AS x
  JOIN thread AS t USING (utid)
  JOIN workload_thread AS w ON w.utid = x.utid
  WHERE t.upid IS NOT NULL
  GROUP BY t.utid, t.upid, w.comm
), likely AS (
  -- Few of many: the calls and wakes of these only are looked at.
  SELECT r.upid, r.name, count(*) AS thread_count, sum(r.on_cpu_ns) AS on_cpu_ns
  FROM ran AS r
  CROSS JOIN threshold AS h
  CROSS JOIN (SELECT duration_ns FROM recorded_span WHERE table_name = 'thread_state' AND duration_ns > 0) AS c
  GROUP BY r.upid, r.name, h.thread_count, h.wake_count, h.cpu_ratio, h.run_ns, c.duration_ns
  HAVING count(*) >= h.thread_count AND sum(r.sleep_count) >= h.wake_count * count(*) AND sum(r.on_cpu_ns) >= h.cpu_ratio * c.duration_ns
    AND sum(r.on_cpu_ns) <= h.run_ns * sum(r.sleep_count)
), member AS (
  SELECT r.utid, r.upid, r.name FROM ran AS r JOIN likely AS l USING (upid, name)
), called AS (
  SELECT m.upid, m.name, count(*) FILTER (starts_with(s.name, 'futex')) / count(*) AS futex_ratio
  FROM syscall AS s
  JOIN member AS m USING (utid)
  GROUP BY m.upid, m.name
), woken AS (
  SELECT s.utid, t.upid, s.ts_ns + s.duration_ns AS ts_ns,
    w.upid IS NOT DISTINCT FROM t.upid AND s.waker_utid <> s.utid AND coalesce(s.waker_context, 'task') = 'task' AS is_handed
  FROM followed_state AS s
  JOIN thread AS t ON t.utid = s.utid
  LEFT JOIN thread AS w ON w.utid = s.waker_utid
  WHERE s.state = 'sleeping' AND NOT s.is_open AND t.upid IN (SELECT upid FROM likely)
), event AS (
  SELECT upid, ts_ns, row_number() OVER (PARTITION BY upid ORDER BY ts_ns, utid) AS number FROM woken WHERE NOT is_handed
), of_event AS (
  SELECT m.upid, m.name, e.number, count(*) AS wake_count, count(DISTINCT w.utid) AS thread_count
  FROM woken AS w
  JOIN member AS m ON m.utid = w.utid
  ASOF JOIN event AS e ON e.upid = w.upid AND e.ts_ns <= w.ts_ns
  WHERE w.is_handed
  GROUP BY m.upid, m.name, e.number
), total AS (
  SELECT upid, name, count(*) AS event_count, avg(thread_count) AS woken_count, sum(wake_count) AS wake_count, sum(wake_count) / sum(thread_count) AS times_each
  FROM of_event
  GROUP BY upid, name
)
SELECT
  @severity(l.on_cpu_ns >= h.critical_ratio * c.duration_ns, true) AS severity,
  format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('each of {:,} events woke {:.0f} of its {} threads {} on average: {:,} times in all they ran {:.1f} µs on average and slept again: {:.2f} s of CPU time', x.event_count,
    x.woken_count, l.thread_count, x.name, @whole(x.wake_count), l.on_cpu_ns / x.wake_count / 1e3, l.on_cpu_ns / 1e9) AS message,
  @whole(l.on_cpu_ns) AS cost_ns, ['the CPUs', 'locks of process ' || x.upid] AS about
FROM total AS x
JOIN likely AS l USING (upid, name)
JOIN called AS k USING (upid, name)
JOIN process AS p USING (upid)
CROSS JOIN threshold AS h
JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
WHERE k.futex_ratio >= h.futex_ratio AND x.event_count >= h.event_count AND x.woken_count >= greatest(h.thread_count, h.woken_ratio * l.thread_count)
  AND x.times_each <= h.times_each
