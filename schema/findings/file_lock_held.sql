-- file_lock_held: Threads wait for the lock of a file that another one holds
-- condition: threads of a process waited in flock or fcntl, or slept after such a call that found the lock taken (EAGAIN) and tried again within
--   5 ms after the sleep, until they had it (SQLite's busy handler does: sqlite3_busy_timeout), together as long as a fifth of the recording and half a second, and longer than they
--   ran; critical from half of the recording. Who takes the lock of a file wants to work now, so all of this time is lost; who never
--   gets it by such tries may only stand by. The holder of a lock that was tried for is the one that called nothing of the kind on this file from the first
--   try to the last, and did so in the last sleep, and did not try in vain meanwhile: it gave it back
-- means: who holds the lock decides how fast the others are. SQLite locks its whole database for a writer; package managers, mail boxes
--   and cron jobs lock files, too
-- next: perfcase view blame_by_comm: what the holder did meanwhile
-- next: perfcase view syscall_log: the calls with their file
-- next: SQLite: BEGIN IMMEDIATE as late as it may be, short transactions, journal_mode=WAL for readers beside a writer
-- taught by: -
-- source: blame, descriptor, process, recorded_span, syscall, thread, thread_time, workload_thread
-- evidence: SELECT t.comm, t.tid, s.name, d.target, s.errno_name, count(*) AS call_count, sum(s.duration_ns)::BIGINT AS call_ns, max(s.duration_ns) AS longest_ns FROM syscall AS s
--   JOIN thread AS t USING (utid) LEFT JOIN descriptor AS d USING (descriptor_id) WHERE s.name IN ('flock', 'fcntl', 'fcntl64') GROUP BY ALL ORDER BY call_ns DESC, t.tid, s.errno_name, d.target
WITH threshold AS (
  SELECT 0.2 AS wait_ratio, 0.5 AS critical_ratio, 500000000 AS wait_ns, 1000000 AS at_once_ns, 5000000 AS again_ns, 0.5 AS most_ratio
), tried AS (
  SELECT s.utid, d.target, s.ts_ns, s.exit_ts_ns
  FROM syscall AS s
  JOIN descriptor AS d USING (descriptor_id)
  WHERE s.name IN ('flock', 'fcntl', 'fcntl64') AND s.errno_name IN ('EAGAIN', 'EACCES') AND s.utid IN (SELECT utid FROM workload_thread)
), nap AS (
  SELECT s.utid, s.ts_ns, s.exit_ts_ns
  FROM syscall AS s
  WHERE s.name IN ('nanosleep', 'clock_nanosleep', 'clock_nanosleep_time64') AND s.pairing = 'strict' AND s.utid IN (SELECT utid FROM tried)
), slept AS (
  SELECT t.utid, t.target, t.ts_ns, n.exit_ts_ns AS end_ns, n.exit_ts_ns - n.ts_ns AS slept_ns
  FROM tried AS t
  CROSS JOIN threshold AS h
  ASOF JOIN nap AS n ON n.utid = t.utid AND n.ts_ns >= t.exit_ts_ns
  WHERE n.ts_ns <= t.exit_ts_ns + h.at_once_ns
), step AS (
  SELECT s.*, coalesce(s.ts_ns - lag(s.end_ns) OVER w > h.again_ns, true) AS is_first
  FROM slept AS s
  CROSS JOIN threshold AS h
  WINDOW w AS (PARTITION BY s.utid, s.target ORDER BY s.ts_ns)
), numbered AS (
  SELECT *, sum(is_first::INTEGER) OVER (PARTITION BY utid, target ORDER BY ts_ns ROWS UNBOUNDED PRECEDING) AS number FROM step
), episode AS (
  SELECT utid, target, number, min(ts_ns) AS first_ns, max(ts_ns) AS last_ns, max(end_ns) AS end_ns, sum(slept_ns) AS wait_ns, count(*) AS try_count
  FROM numbered
  GROUP BY utid, target, number
), locked AS (
  SELECT s.utid, d.target, s.ts_ns, lag(s.ts_ns) OVER (PARTITION BY s.utid, d.target ORDER BY s.ts_ns) AS before_ns
  FROM syscall AS s
  JOIN descriptor AS d USING (descriptor_id)
  WHERE s.name IN ('flock', 'fcntl', 'fcntl64') AND s.ret = 0 AND d.target IN (SELECT target FROM episode)
), got AS (
  -- Those that ended with the lock.
  SELECT e.*
  FROM episode AS e
  CROSS JOIN threshold AS h
  ASOF JOIN locked AS l ON l.utid = e.utid AND l.target = e.target AND l.ts_ns >= e.end_ns
  WHERE l.ts_ns <= e.end_ns + h.again_ns
), gave AS (
  -- Whose next call on this file came in the last sleep.
  SELECT c.*, l.ts_ns AS gave_ns
  FROM (
    SELECT g.utid, g.target, g.number, g.first_ns, g.last_ns, g.end_ns, o.utid AS on_utid
    FROM got AS g
    JOIN (SELECT DISTINCT utid, target FROM locked) AS o ON o.target = g.target AND o.utid <> g.utid
  ) AS c
  ASOF JOIN locked AS l ON l.utid = c.on_utid AND l.target = c.target AND l.ts_ns > c.first_ns
  WHERE l.before_ns IS NOT NULL AND l.ts_ns > c.last_ns AND l.ts_ns <= c.end_ns
), giver AS (
  -- One that tried in vain meanwhile got the lock then.
  SELECT v.utid, v.target, v.number, max_by(v.on_utid, (v.gave_ns, v.on_utid)) AS on_utid
  FROM gave AS v
  ASOF LEFT JOIN tried AS o ON o.utid = v.on_utid AND o.target = v.target AND o.ts_ns <= v.end_ns
  WHERE coalesce(o.ts_ns < v.first_ns, true)
  GROUP BY v.utid, v.target, v.number
), kept AS (
  SELECT g.utid, g.target, g.number, g.wait_ns, g.first_ns, g.last_ns, g.end_ns, g.try_count, h.on_utid
  FROM got AS g
  LEFT JOIN giver AS h USING (utid, target, number)
), doing AS (
  SELECT k.utid, k.target, k.number, arg_max(s.name, (least(s.exit_ts_ns, k.end_ns) - greatest(s.ts_ns, k.first_ns), s.name)) AS name,
    max(least(s.exit_ts_ns, k.end_ns) - greatest(s.ts_ns, k.first_ns)) >= any_value(h.most_ratio * (k.end_ns - k.first_ns)) AS is_most
  FROM kept AS k
  CROSS JOIN threshold AS h
  JOIN syscall AS s ON s.utid = k.on_utid AND s.ts_ns < k.end_ns AND s.exit_ts_ns > k.first_ns AND s.duration_ns >= h.at_once_ns
  GROUP BY k.utid, k.target, k.number
), part AS (
  SELECT t.upid, t.pid, b.utid, b.cause, b.on_utid, @total(b.duration_ns) AS wait_ns, max(b.duration_ns) AS longest_ns
  FROM blame AS b
  JOIN thread AS t USING (utid)
  WHERE b.call IN ('flock', 'fcntl', 'fcntl64') AND b.utid IN (SELECT utid FROM workload_thread)
  GROUP BY t.upid, t.pid, b.utid, b.cause, b.on_utid
  UNION ALL
  SELECT t.upid, t.pid, k.utid, CASE WHEN d.is_most THEN CASE WHEN d.name LIKE '%nanosleep%' THEN 'sleep' ELSE 'in ' || d.name END ELSE 'had it' END, coalesce(k.on_utid, k.utid),
    sum(k.wait_ns), max(k.end_ns - k.first_ns)
  FROM kept AS k
  JOIN thread AS t USING (utid)
  LEFT JOIN doing AS d ON d.utid = k.utid AND d.target = k.target AND d.number = k.number
  GROUP BY ALL
), ran AS (
  SELECT t.upid, sum(x.on_cpu_ns) AS ran_ns
  FROM thread_time AS x
  JOIN thread AS t USING (utid)
  GROUP BY t.upid
), total AS (
  SELECT upid, pid, count(DISTINCT utid) AS thread_count, sum(wait_ns) AS wait_ns, max(longest_ns) AS longest_ns
  FROM part
  GROUP BY upid, pid
), holder AS (
  SELECT upid, pid, arg_max(on_utid, (wait_ns, -on_utid::BIGINT)) AS on_utid, arg_max(cause, (wait_ns, -on_utid::BIGINT)) AS cause
  FROM (SELECT upid, pid, on_utid, cause, sum(wait_ns) AS wait_ns FROM part WHERE on_utid <> utid GROUP BY upid, pid, on_utid, cause)
  GROUP BY upid, pid
), file AS (
  SELECT upid, pid, arg_max(target, (duration_ns, ts_ns)) AS target, coalesce(sum(try_count), 0) AS try_count
  FROM (
    SELECT t.upid, t.pid, d.target, s.duration_ns, s.ts_ns, NULL AS try_count
    FROM syscall AS s
    JOIN thread AS t USING (utid)
    JOIN descriptor AS d USING (descriptor_id)
    WHERE s.name IN ('flock', 'fcntl', 'fcntl64') AND s.utid IN (SELECT utid FROM part)
    UNION ALL
    SELECT t.upid, t.pid, k.target, k.wait_ns, k.first_ns, k.try_count FROM kept AS k JOIN thread AS t USING (utid)
  )
  GROUP BY upid, pid
)
SELECT
  @severity(x.wait_ns >= h.critical_ratio * c.duration_ns * x.thread_count, true) AS severity,
  format('{} ({})', coalesce(p.name, '?'), coalesce(x.pid::VARCHAR, '?')) AS subject,
  format('waited {:.2f} s for the lock of {}{}: {:.1f} % of the recording{}; the longest part {:.2f} s{}', x.wait_ns / 1e9, coalesce(f.target, 'a file'),
    CASE WHEN n.utid IS NULL THEN '' ELSE format(', most of it while {} ({}) {}', coalesce(n.comm, '?'), n.tid, CASE o.cause WHEN 'sleep' THEN 'slept' WHEN 'running'
      THEN 'ran' WHEN 'disk' THEN 'waited for a disk' WHEN 'no_work' THEN 'had nothing to do' WHEN 'had it' THEN 'had it' ELSE CASE WHEN starts_with(o.cause, 'in ') THEN 'was ' || o.cause ELSE 'waited itself' END END) END,
    100 * x.wait_ns / c.duration_ns / x.thread_count, CASE x.thread_count WHEN 1 THEN '' ELSE format(' for each of its {} threads', x.thread_count) END,
    x.longest_ns / 1e9, CASE WHEN f.try_count > 0 THEN format('; it slept after each of {} tries that found it taken', @whole(f.try_count)) ELSE '' END) AS message,
  @whole(x.wait_ns) AS cost_ns
FROM total AS x
CROSS JOIN threshold AS h
LEFT JOIN process AS p USING (upid)
LEFT JOIN ran AS r USING (upid)
LEFT JOIN holder AS o ON o.upid IS NOT DISTINCT FROM x.upid AND o.pid IS NOT DISTINCT FROM x.pid
LEFT JOIN thread AS n ON n.utid = o.on_utid
LEFT JOIN file AS f ON f.upid IS NOT DISTINCT FROM x.upid AND f.pid IS NOT DISTINCT FROM x.pid
JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
WHERE x.wait_ns >= greatest(h.wait_ns, h.wait_ratio * c.duration_ns * x.thread_count) AND x.wait_ns > coalesce(r.ran_ns, 0)
