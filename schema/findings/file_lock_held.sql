-- file_lock_held: Threads wait for the lock of a file that another one holds
-- condition: threads of a process waited in flock or fcntl, together as long as a fifth of the recording and half a second, and longer than they
--   ran; critical from half of the recording. Who takes the lock of a file wants to work now, so all of this time is lost
-- means: who holds the lock decides how fast the others are. SQLite locks its whole database for a writer; package managers, mail boxes
--   and cron jobs lock files, too
-- next: perfcase view blame_by_comm: what the holder did meanwhile
-- next: perfcase view syscall_log: the calls with their file
-- taught by: -
-- source: blame, descriptor, process, recorded_span, syscall, thread, thread_time, workload_thread
-- evidence: SELECT t.comm, t.tid, b.call, b.cause, b.on_utid, sum(b.duration_ns)::BIGINT AS wait_ns, max(b.duration_ns) AS wait_max_ns FROM blame AS b
--   JOIN thread AS t USING (utid) WHERE b.call IN ('flock', 'fcntl', 'fcntl64') GROUP BY ALL ORDER BY wait_ns DESC, t.tid, b.on_utid
WITH threshold AS (
  SELECT 0.2 AS wait_ratio, 0.5 AS critical_ratio, 500000000 AS wait_ns
), part AS (
  SELECT t.upid, t.pid, b.utid, b.cause, b.on_utid, @total(b.duration_ns) AS wait_ns, max(b.duration_ns) AS longest_ns
  FROM blame AS b
  JOIN thread AS t USING (utid)
  WHERE b.call IN ('flock', 'fcntl', 'fcntl64') AND b.utid IN (SELECT utid FROM workload_thread)
  GROUP BY t.upid, t.pid, b.utid, b.cause, b.on_utid
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
  SELECT t.upid, t.pid, arg_max(d.target, (s.duration_ns, s.ts_ns)) AS target
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  JOIN descriptor AS d USING (descriptor_id)
  WHERE s.name IN ('flock', 'fcntl', 'fcntl64') AND s.utid IN (SELECT utid FROM part)
  GROUP BY t.upid, t.pid
)
SELECT
  @severity(x.wait_ns >= h.critical_ratio * c.duration_ns * x.thread_count, true) AS severity,
  format('{} ({})', coalesce(p.name, '?'), coalesce(x.pid::VARCHAR, '?')) AS subject,
  format('waited {:.2f} s for the lock of {}{}: {:.1f} % of the recording{}; the longest part {:.2f} s', x.wait_ns / 1e9, coalesce(f.target, 'a file'),
    CASE WHEN n.utid IS NULL THEN '' ELSE format(', most of it while {} ({}) {}', coalesce(n.comm, '?'), n.tid, CASE o.cause WHEN 'sleep' THEN 'slept' WHEN 'running'
      THEN 'ran' WHEN 'disk' THEN 'waited for a disk' WHEN 'no_work' THEN 'had nothing to do' ELSE 'waited itself' END) END,
    100 * x.wait_ns / c.duration_ns / x.thread_count, CASE x.thread_count WHEN 1 THEN '' ELSE format(' for each of its {} threads', x.thread_count) END,
    x.longest_ns / 1e9) AS message,
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
