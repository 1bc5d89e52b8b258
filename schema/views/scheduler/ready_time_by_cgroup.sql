-- ready_time_by_cgroup: how long the threads of each control group waited for a CPU, as a share of wall time (%RDY), with steal beside it
-- grain: an interval of the capture and a control group
-- source: ready_time
-- caveat: intervals are 1 s long; SET VARIABLE interval_ns = 100000000 makes them 0.1 s long
-- caveat: it counts the processes in the group itself, not in groups below it; process_cgroup says how the group of a process is known
-- caveat: a thread that its group's quota keeps from running (throttled) counts as ready, too: throttled_ns of cgroup_activity says how much time that was
-- diff by: cgroup
-- diff sum: ready_ns, on_cpu_ns, steal_ns
-- diff weight: 0.7
-- plot: intervals ready_ratio, on_cpu_ratio by cgroup
-- keys: ts_ns, interval_ns
-- column cgroup: path of the unified hierarchy, or of the first one of version 1; NULL if neither the process nor an ancestor was looked at
-- column process_count [count]: its processes that ran or waited in the interval
-- column thread_count [count]: threads of these processes that ran or waited
-- as in ready_time: ready_ns, ready_ratio, on_cpu_ns, on_cpu_ratio, steal_ns, steal_ratio
SELECT
  ts_ns, interval_ns, cgroup, count(*) AS process_count, @total(thread_count) AS thread_count,
  @total(ready_ns) AS ready_ns, sum(ready_ns) / interval_ns AS ready_ratio,
  @total(on_cpu_ns) AS on_cpu_ns, sum(on_cpu_ns) / interval_ns AS on_cpu_ratio,
  steal_ns, steal_ratio
FROM ready_time
GROUP BY ts_ns, interval_ns, cgroup, steal_ns, steal_ratio
ORDER BY ts_ns, sum(ready_ns) DESC, cgroup NULLS LAST
