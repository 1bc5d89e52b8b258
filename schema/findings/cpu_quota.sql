-- cpu_quota: A control group has used up its CPU quota: its threads wait though CPUs may be idle
-- condition: the quota was used up in a quarter or more of the periods in which the group wanted to run (the limit of the alert
--   CPUThrottlingHigh in the Kubernetes mixin), and in 10 periods or more. Critical from half of them, if it was held back for a
--   tenth of the recording or longer
-- means: when the quota of a period (100 ms by default) is used up, all threads of the group stop until the next one begins. Requests
--   then take tens of milliseconds longer, however little work they are
-- next: perfcase view cgroup_activity: the quota (cpu_limit_ratio), and when it was used up
-- next: perfcase view run_queue_latency_by_thread: which threads waited
-- next: raise the quota (cpu.max, cpu.cfs_quota_us), or run fewer threads (GOMAXPROCS, -XX:ActiveProcessorCount, worker processes)
-- about: the quota of the processes in the group
-- taught by: -
-- source: cgroup_activity, process_cgroup, workload_thread
-- evidence: SELECT cgroup, ts_ns, cpu_ratio, cpu_limit_ratio, period_count, throttled_count, throttled_ns FROM cgroup_activity
--   WHERE throttled_count > 0 ORDER BY cgroup, ts_ns
-- judged when: SELECT count(*) > 0 FROM cgroup_activity
-- not judged: two snapshots of control groups; perfcase-record takes them by default
WITH threshold AS (
  SELECT 0.25 AS period_ratio, 10 AS period_count, 0.5 AS critical_ratio, 0.1 AS held_ratio
), limited AS (
  SELECT cgroup, sum(period_count) AS period_count, sum(throttled_count) AS throttled_count, sum(throttled_ns) AS throttled_ns,
    sum(interval_ns) AS interval_ns, sum(cpu_ns) AS cpu_ns, max(cpu_limit_ratio) AS limit_ratio
  FROM cgroup_activity
  WHERE period_count IS NOT NULL AND throttled_count IS NOT NULL
  GROUP BY cgroup
  HAVING sum(period_count) > 0
), member AS (
  SELECT g.cgroup, list(DISTINCT 'quota of process ' || p.upid) AS about, bool_or(p.upid IN (SELECT upid FROM workload_thread)) AS is_workload
  FROM limited AS g
  JOIN process_cgroup AS p ON p.cgroup = g.cgroup OR starts_with(p.cgroup, rtrim(g.cgroup, '/') || '/')
  GROUP BY g.cgroup
)
SELECT
  @severity(g.throttled_count >= h.critical_ratio * g.period_count AND g.throttled_ns >= h.held_ratio * g.interval_ns, true) AS severity,
  g.cgroup AS subject,
  format('its quota{} was used up in {} of {} periods ({:.1f} %){}{}',
    CASE WHEN g.limit_ratio IS NULL THEN '' ELSE format(' of {:.2f} CPUs', g.limit_ratio) END, @whole(g.throttled_count), @whole(g.period_count),
    100 * g.throttled_count / g.period_count,
    CASE WHEN g.throttled_ns IS NULL THEN '' ELSE format('; it was held back for {:.2f} s on all CPUs together', g.throttled_ns / 1e9) END,
    CASE WHEN g.cpu_ns IS NULL OR g.interval_ns <= 0 THEN '' ELSE format(', and ran {:.2f} s in {:.1f} s', g.cpu_ns / 1e9, g.interval_ns / 1e9) END) AS message,
  -- On each CPU where it was held back, one thread or more waited.
  @whole(CASE WHEN m.is_workload OR (SELECT count(*) FROM process_cgroup) = 0 THEN g.throttled_ns ELSE 0 END) AS cost_ns, m.about
FROM limited AS g
LEFT JOIN member AS m USING (cgroup)
CROSS JOIN threshold AS h
WHERE g.throttled_count >= h.period_count AND g.throttled_count >= h.period_ratio * g.period_count
