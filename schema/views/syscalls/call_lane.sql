-- call_lane: which system calls each thread was in over a stretch of time, only as fine as a screen can show
-- grain: a thread and a bucket: all calls that began there and were shorter than a bucket, together; or one call that began there and was longer
-- source: syscall, recorded_span, thread, capture
-- caveat: SET VARIABLE start_ns, end_ns and buckets choose the stretch and the number of buckets; by default, the whole capture in 1,000 buckets
-- caveat: a call longer than a bucket is exact; of those within a bucket the name that took most of the time is told
-- caveat: a call that crosses the stretch's edges is cut there; one whose entry or return was lost has no length
-- diff no: a picture of calls; syscall_summary adds them up
-- keys: utid, tid, pid
-- as in thread: comm
-- column ts_ns [ns]: when the first of these calls was entered
-- column duration_ns [ns]: time from there to the return of the last one
-- column name: the system call that took most of it
-- column call_count [count]: number of calls
-- column call_ns [ns]: time that all of them took
-- column name_ns [ns]: time of those of this name
-- column error_count [count]: how many of them failed
WITH setting AS @buckets(1000), span AS (
  SELECT min(start_ts_ns) AS first_ns, max(end_ts_ns) AS last_ns FROM recorded_span WHERE table_name = 'syscall'
), call AS (
  -- What the edge of the recording cut fills the time up to that edge, or to the thread's own.
  SELECT c.utid, c.name, c.errno,
    CASE WHEN c.pairing = 'exit_only' AND c.cut_at = 'start' THEN least(greatest(t.start_ts_ns, p.first_ns), c.ts_ns) ELSE c.ts_ns END AS ts_ns,
    coalesce(c.exit_ts_ns, CASE WHEN c.cut_at = 'end' THEN greatest(least(t.end_ts_ns, p.last_ns), c.ts_ns) END, c.ts_ns) AS exit_ts_ns,
    g.start_ns, g.end_ns, g.bucket_ns
  FROM syscall AS c
  JOIN thread AS t USING (utid)
  CROSS JOIN setting AS g
  CROSS JOIN span AS p
), clipped AS (
  SELECT utid, name, errno, bucket_ns, start_ns, greatest(ts_ns, start_ns) AS ts_ns, least(exit_ts_ns, end_ns) AS end_ns
  FROM call
  WHERE ts_ns < end_ns AND exit_ts_ns >= start_ns
), part AS (
  -- At most one call that is longer than a bucket begins in it.
  SELECT utid, (ts_ns - start_ns) // bucket_ns AS bucket, end_ns - ts_ns >= bucket_ns AS is_long, name,
    min(ts_ns) AS ts_ns, max(end_ns) AS end_ns, @total(end_ns - ts_ns) AS ns, count(*) AS call_count, count(errno) AS error_count
  FROM clipped
  GROUP BY ALL
), lane AS (
  SELECT utid,
    min(ts_ns) AS ts_ns,
    max(end_ns) - min(ts_ns) AS duration_ns,
    first({name: name, ns: ns} ORDER BY ns DESC, call_count DESC, name) AS most,
    @total(call_count) AS call_count,
    @total(ns) AS call_ns,
    @total(error_count) AS error_count
  FROM part
  GROUP BY utid, bucket, is_long
)
SELECT l.utid, t.tid, t.pid, t.comm, l.ts_ns, l.duration_ns, l.most.name AS name, l.call_count, l.call_ns, l.most.ns AS name_ns, l.error_count
FROM lane AS l
JOIN thread AS t USING (utid)
ORDER BY l.utid, l.ts_ns, l.duration_ns, l.most.name
