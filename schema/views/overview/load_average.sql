-- load_average: load averages beside the number of CPUs, as uptime prints them
-- grain: a snapshot of /proc/loadavg
-- source: proc_load, proc_cpu, capture
-- caveat: Linux counts threads in uninterruptible sleep, too: a high load does not always mean that CPU is short
-- caveat: the averages decay over minutes: they also cover time before the start of the capture
-- diff by: -
-- diff mean: load_per_cpu, load_1min, runnable_count, thread_count
-- diff apart: load_per_cpu, thread_count
-- diff weight: 1
-- plot: intervals load_1min, load_per_cpu, runnable_count, thread_count
-- as in proc_load: ts_ns, load_1min, load_5min, load_15min, runnable_count, thread_count
-- column cpu_count [count]: CPUs online at this moment
-- column load_per_cpu [count]: load_1min divided by cpu_count; above 1, threads had to wait, or slept uninterruptibly
-- column trend: rising, falling or steady: load_1min compared with load_15min; steady if they differ by a tenth of load_15min or less
WITH online AS (
  SELECT source_id, snapshot, count(DISTINCT cpu) AS cpu_count
  FROM proc_cpu
  GROUP BY source_id, snapshot
)
SELECT
  l.ts_ns, l.load_1min, l.load_5min, l.load_15min, l.runnable_count, l.thread_count,
  coalesce(o.cpu_count, c.cpu_count) AS cpu_count,
  @ratio(l.load_1min, coalesce(o.cpu_count, c.cpu_count)) AS load_per_cpu,
  CASE
    WHEN abs(l.load_1min - l.load_15min) <= 0.1 * greatest(l.load_15min, 0.1) THEN 'steady'
    WHEN l.load_1min > l.load_15min THEN 'rising'
    ELSE 'falling'
  END AS trend
FROM proc_load AS l
LEFT JOIN online AS o ON o.source_id = l.source_id AND o.snapshot = l.snapshot
LEFT JOIN (SELECT max(cpu_count) AS cpu_count FROM capture) AS c ON true
ORDER BY l.ts_ns, l.source_id
