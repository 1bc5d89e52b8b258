-- noisy_neighbour: Noisy neighbour: another control group uses the CPU that this one waits for
-- condition: the threads of a control group waited for 20 % or more of the time that they could run, for a second in all and
--   for 5 % of the recording or more. Another group, neither above nor below it, ran at least as long as it did, and for half
--   or more of all CPU time: of the time that the CPUs of the host were busy (/proc/stat), where only some processes were recorded.
--   At least half of the waiting was while the CPUs were idle for 30 % of the time at most, as in cpu_saturation. Critical if the
--   group waited longer than it ran
-- means: the service is slow because of the other group. Alone it would not wait
-- next: perfcase view ready_time_by_cgroup: which groups waited and which ran, over time
-- next: perfcase view cgroup_activity: whether the group's own quota limited it instead (throttled_ns)
-- next: change CPU weights (cpu.weight, cpu.shares), give the neighbour a quota or other CPUs, or move it to another host
-- about: the CPUs
-- taught by: An unexplained win
-- source: cgroup_activity, cpu_summary, cpu_utilization, ready_time, recorded_span, workload_thread
-- evidence: SELECT cgroup, sum(ready_ns) AS ready_ns, sum(on_cpu_ns) AS on_cpu_ns FROM ready_time_by_cgroup GROUP BY cgroup
--   ORDER BY ready_ns DESC
-- judged when: SELECT count(DISTINCT cgroup) > 1 FROM ready_time_by_cgroup
-- not judged: context switches of processes in two control groups or more; perfcase-record records both by default
WITH threshold AS (
  SELECT 0.2 AS waiting_ratio, 1000000000 AS ready_ns, 0.05 AS of_recording, 0.5 AS of_all_ratio, 0.3 AS idle_ratio, 0.5 AS busy_wait_ratio
), load AS (
  SELECT ts_ns, idle_ratio + coalesce(iowait_ratio, 0) AS idle_ratio FROM cpu_utilization WHERE cpu = 'all'
), party AS (
  SELECT coalesce(r.cgroup, '/') AS cgroup, sum(r.ready_ns) AS ready_ns, sum(r.on_cpu_ns) AS on_cpu_ns,
    sum(r.ready_ns) FILTER (coalesce(l.idle_ratio, 0) <= h.idle_ratio) AS busy_ready_ns
  FROM ready_time AS r
  ASOF LEFT JOIN load AS l ON r.ts_ns + r.interval_ns // 2 >= l.ts_ns
  CROSS JOIN threshold AS h
  WHERE r.upid IN (SELECT upid FROM workload_thread)
  GROUP BY 1
), busiest AS (
  SELECT *, on_cpu_ns / nullif(greatest(sum(on_cpu_ns) OVER (), (SELECT max(busy_ns) FROM cpu_summary WHERE cpu = 'all')), 0) AS of_all_ratio FROM party
  QUALIFY row_number() OVER (ORDER BY on_cpu_ns DESC, cgroup) = 1
), quota AS (
  -- A quota of a group above holds it back as well.
  SELECT p.cgroup, max(a.throttled_ns) AS throttled_ns
  FROM party AS p
  JOIN (SELECT cgroup, sum(throttled_ns) AS throttled_ns FROM cgroup_activity GROUP BY cgroup HAVING sum(throttled_ns) > 0) AS a
    ON p.cgroup = a.cgroup OR starts_with(p.cgroup, rtrim(a.cgroup, '/') || '/')
  GROUP BY p.cgroup
)
SELECT
  @severity(v.ready_ns > v.on_cpu_ns, true) AS severity, v.cgroup AS subject,
  format('its threads waited {:.2f} s for a CPU and ran {:.2f} s, while {} ran {:.2f} s ({:.1f} % of all that ran)',
    v.ready_ns / 1e9, v.on_cpu_ns / 1e9, n.cgroup, n.on_cpu_ns / 1e9, 100 * n.of_all_ratio) AS message,
  @whole(v.ready_ns) AS cost_ns, ['the CPUs'] AS about
FROM party AS v
JOIN busiest AS n ON n.cgroup <> v.cgroup AND n.on_cpu_ns >= v.on_cpu_ns
LEFT JOIN quota AS q ON q.cgroup = v.cgroup
CROSS JOIN threshold AS h
JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
WHERE v.ready_ns >= greatest(h.ready_ns, h.of_recording * c.duration_ns) AND v.ready_ns >= h.waiting_ratio * (v.ready_ns + v.on_cpu_ns)
  AND v.busy_ready_ns >= h.busy_wait_ratio * v.ready_ns AND n.of_all_ratio >= h.of_all_ratio AND coalesce(q.throttled_ns, 0) < v.ready_ns / 2
  AND v.cgroup <> '/' AND n.cgroup <> '/'
  AND NOT starts_with(v.cgroup, n.cgroup || '/') AND NOT starts_with(n.cgroup, v.cgroup || '/')
