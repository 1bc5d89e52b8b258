-- thread_lane: what each thread did over a stretch of time, only as fine as a screen can show
-- grain: a thread and a bucket: all intervals that began there and were shorter than a bucket, together; or one interval that began there and was longer
-- source: followed_state, thread, capture
-- caveat: SET VARIABLE start_ns, end_ns and buckets choose the stretch and the number of buckets; by default, the whole capture in 1,000 buckets
-- caveat: an interval longer than a bucket is exact; within a bucket the parts are known, but not their order
-- caveat: an interval that crosses the stretch's edges is cut there
-- diff no: a picture of intervals; thread_time adds them up
-- keys: utid, tid, pid
-- as in thread: comm
-- column ts_ns [ns]: when the first of these intervals began
-- column duration_ns [ns]: time from there to the end of the last interval
-- column state: the state that took most of it
-- column interval_count [count]: number of intervals
-- column running_ns [ns]: time on a CPU
-- column runnable_ns [ns]: time it waited for a CPU
-- column sleeping_ns [ns]: time asleep, idle kernel threads (idle_sleep) too
-- column disk_sleep_ns [ns]: time in uninterruptible sleep
-- column other_ns [ns]: time in other states: the idle task's, stopped, traced, parked, …
WITH setting AS @buckets(1000), clipped AS (
  SELECT s.utid, s.state, g.bucket_ns, g.start_ns,
    greatest(s.ts_ns, g.start_ns) AS ts_ns,
    least(s.ts_ns + s.duration_ns, g.end_ns) AS end_ns
  FROM followed_state AS s
  CROSS JOIN setting AS g
  WHERE s.ts_ns < g.end_ns AND s.ts_ns + s.duration_ns > g.start_ns
), part AS (
  -- At most one interval that is longer than a bucket begins in it.
  SELECT utid, (ts_ns - start_ns) // bucket_ns AS bucket, end_ns - ts_ns >= bucket_ns AS is_long, state,
    min(ts_ns) AS ts_ns, max(end_ns) AS end_ns, @total(end_ns - ts_ns) AS ns, count(*) AS interval_count
  FROM clipped
  GROUP BY ALL
), lane AS (
  SELECT utid,
    min(ts_ns) AS ts_ns,
    max(end_ns) - min(ts_ns) AS duration_ns,
    first(state ORDER BY ns DESC, state) AS state,
    @total(interval_count) AS interval_count,
    @total_or_zero(ns, state = 'running') AS running_ns,
    @total_or_zero(ns, state IN ('runnable', 'runnable_preempted')) AS runnable_ns,
    @total_or_zero(ns, state IN ('sleeping', 'idle_sleep')) AS sleeping_ns,
    @total_or_zero(ns, state = 'disk_sleep') AS disk_sleep_ns,
    @total(ns) AS all_ns
  FROM part
  GROUP BY utid, bucket, is_long
)
SELECT
  l.utid, t.tid, t.pid, t.comm, l.ts_ns, l.duration_ns, l.state, l.interval_count, l.running_ns, l.runnable_ns, l.sleeping_ns,
  l.disk_sleep_ns, l.all_ns - l.running_ns - l.runnable_ns - l.sleeping_ns - l.disk_sleep_ns AS other_ns
FROM lane AS l
JOIN thread AS t USING (utid)
ORDER BY l.utid, l.ts_ns, l.duration_ns, l.state
