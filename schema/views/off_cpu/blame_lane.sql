-- blame_lane: what each thread's waits with work were due to over a stretch of time, only as fine as a screen can show
-- grain: a thread and a bucket: all parts of waits that began there and were shorter than a bucket, together; or one part that began there and was longer
-- source: blame_part, thread, capture
-- caveat: SET VARIABLE start_ns, end_ns and buckets choose the stretch and the number of buckets; by default, the whole capture in 1,000 buckets
-- caveat: a part longer than a bucket is exact; of those within a bucket the kind that took most of the time is told, with its longest part
-- caveat: a part that crosses the stretch's edges is cut there; where a lane has no row, the thread ran, or it is not known that it had work
-- diff no: a picture of waits; blame_by_comm adds them up
-- keys: utid, tid, pid
-- as in thread: comm
-- column ts_ns [ns]: when the first of these parts began
-- column duration_ns [ns]: time from there to the end of the last part
-- column kind: the kind of cause that took most of it: see blame_part
-- column part_count [count]: number of parts
-- column wait_ns [ns]: time that all of them took
-- column kind_ns [ns]: time of those of this kind
-- column due: what the longest part of this kind is due to, in words
-- column due_ns [ns]: how long that part lasted
WITH setting AS @buckets(1000), clipped AS (
  SELECT p.utid, p.kind, p.due, g.bucket_ns, g.start_ns,
    greatest(p.ts_ns, g.start_ns) AS ts_ns,
    least(p.ts_ns + p.duration_ns, g.end_ns) AS end_ns
  FROM blame_part AS p
  CROSS JOIN setting AS g
  WHERE p.ts_ns < g.end_ns AND p.ts_ns + p.duration_ns > g.start_ns
), part AS (
  -- At most one part that is longer than a bucket begins in it.
  SELECT utid, (ts_ns - start_ns) // bucket_ns AS bucket, end_ns - ts_ns >= bucket_ns AS is_long, kind,
    min(ts_ns) AS ts_ns, max(end_ns) AS end_ns, @total(end_ns - ts_ns) AS ns, count(*) AS part_count,
    first(due ORDER BY end_ns - ts_ns DESC, ts_ns) AS due, max(end_ns - ts_ns) AS due_ns
  FROM clipped
  GROUP BY ALL
), lane AS (
  SELECT utid,
    min(ts_ns) AS ts_ns,
    max(end_ns) - min(ts_ns) AS duration_ns,
    first({kind: kind, ns: ns, due: due, due_ns: due_ns} ORDER BY ns DESC, kind) AS most,
    @total(part_count) AS part_count,
    @total(ns) AS wait_ns
  FROM part
  GROUP BY utid, bucket, is_long
)
SELECT l.utid, t.tid, t.pid, t.comm, l.ts_ns, l.duration_ns, l.most.kind AS kind, l.part_count, l.wait_ns, l.most.ns AS kind_ns, l.most.due AS due,
  l.most.due_ns AS due_ns
FROM lane AS l
JOIN thread AS t USING (utid)
ORDER BY l.utid, l.ts_ns, l.duration_ns, l.most.kind
