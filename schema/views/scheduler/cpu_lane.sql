-- cpu_lane: which thread ran on each CPU over a stretch of time, only as fine as a screen can show
-- grain: a CPU and a bucket: all runs that began there and were shorter than a bucket, together; or one run that began there and was longer
-- source: followed_state, thread, thread_name, capture
-- caveat: SET VARIABLE start_ns, end_ns and buckets choose the stretch and the number of buckets; by default, the whole capture in 1,000 buckets
-- caveat: a run longer than a bucket is exact; of those within a bucket the thread that ran most is told
-- caveat: a run that crosses the stretch's edges is cut there; where a CPU has no row, it ran no thread, or it is not known
-- diff no: a picture of runs; cpu_summary adds them up
-- keys: cpu
-- column ts_ns [ns]: when the first of these runs began
-- column duration_ns [ns]: time from there to the end of the last run
-- keys: utid, tid, pid, comm
-- column run_count [count]: number of runs
-- column running_ns [ns]: time that all of them took
-- column most_ns [ns]: the part of it of this thread, which ran most
WITH setting AS @buckets(1000), clipped AS (
  SELECT s.cpu, s.utid, s.name_id, g.bucket_ns, g.start_ns,
    greatest(s.ts_ns, g.start_ns) AS ts_ns,
    least(s.ts_ns + s.duration_ns, g.end_ns) AS end_ns
  FROM followed_state AS s
  CROSS JOIN setting AS g
  WHERE s.state = 'running' AND s.cpu IS NOT NULL
    AND s.ts_ns < g.end_ns AND s.ts_ns + s.duration_ns > g.start_ns
), part AS (
  -- At most one run that is longer than a bucket begins in it.
  SELECT cpu, (ts_ns - start_ns) // bucket_ns AS bucket, end_ns - ts_ns >= bucket_ns AS is_long, utid, name_id,
    min(ts_ns) AS ts_ns, max(end_ns) AS end_ns, @total(end_ns - ts_ns) AS ns, count(*) AS run_count
  FROM clipped
  GROUP BY ALL
), lane AS (
  SELECT cpu,
    min(ts_ns) AS ts_ns,
    max(end_ns) - min(ts_ns) AS duration_ns,
    first({utid: utid, name_id: name_id, ns: ns} ORDER BY ns DESC, utid, name_id) AS most,
    @total(run_count) AS run_count,
    @total(ns) AS running_ns
  FROM part
  GROUP BY cpu, bucket, is_long
)
SELECT l.cpu, l.ts_ns, l.duration_ns, l.most.utid AS utid, t.tid, t.pid, coalesce(n.comm, t.comm) AS comm, l.run_count, l.running_ns,
  l.most.ns AS most_ns
FROM lane AS l
JOIN thread AS t ON t.utid = l.most.utid
LEFT JOIN thread_name AS n ON n.name_id = l.most.name_id
ORDER BY l.cpu, l.ts_ns, l.duration_ns
