-- ready_time: how long the threads of each process waited for a CPU, as a share of wall time (%RDY), with steal beside it
-- grain: an interval of the capture and a process
-- source: followed_state, thread, process_name, process_cgroup, proc_cpu, recorded_span, recorder_thread
-- caveat: intervals are 1 s long; SET VARIABLE interval_ns = 100000000 makes them 0.1 s long
-- caveat: times are sums over all threads: the ratios of a process with several threads can be over 1
-- caveat: the control group is the last one that the process was seen in before the interval's end; if the process was not looked at, the group is that of its nearest ancestor that was (process_cgroup). ready_time_by_cgroup adds up by group
-- caveat: steal is that of the whole machine, from /proc/stat, in ticks; it is spread evenly between two snapshots, and NULL if no snapshots cover the interval
-- diff by: process
-- diff sum: ready_ns, on_cpu_ns, steal_ns
-- diff level: thread_count
-- diff weight: 0.95
-- plot: intervals ready_ratio, on_cpu_ratio by pid, process
-- keys: ts_ns, interval_ns, upid, pid
-- column process: the process's name at the end of the interval
-- as in process_cgroup: cgroup
-- column thread_count [count]: its threads that ran or waited in the interval
-- column ready_ns [ns]: time they waited for a CPU
-- column ready_ratio [ratio]: ready_ns as a share of interval_ns
-- column on_cpu_ns [ns]: time they ran
-- column on_cpu_ratio [ratio]: on_cpu_ns as a share of interval_ns
-- column steal_ns [ns]: time that the hypervisor did not give to this machine's CPUs, all CPUs together
-- column steal_ratio [ratio]: steal_ns as a share of the CPU time of the interval that the snapshots cover
WITH setting AS @steps('thread_state'), cut AS (
  SELECT s.utid, s.state = 'running' AS is_run, s.ts_ns, s.ts_ns + s.duration_ns AS end_ns, x.step_ns,
    @cut(s.ts_ns, s.ts_ns + s.duration_ns, x.step_ns) AS step
  FROM followed_state AS s
  CROSS JOIN setting AS x
  WHERE s.state IN ('running', 'runnable', 'runnable_preempted') AND s.duration_ns > 0
), part AS (
  -- Few rows of many: processes, and how many threads they have, are then asked of these.
  SELECT step, utid, sum(ns) FILTER (NOT is_run) AS ready_ns, sum(ns) FILTER (is_run) AS on_cpu_ns
  FROM (
    SELECT step, utid, is_run, least(end_ns, (step + 1) * step_ns) - greatest(ts_ns, step * step_ns) AS ns FROM cut
  )
  GROUP BY step, utid
), counter AS (
  SELECT ts_ns AS end_ns, lag(ts_ns) OVER w AS ts_ns, @cpu_time_step(steal_ns, lag(steal_ns) OVER w) AS steal_ns
  FROM proc_cpu
  WINDOW w AS (PARTITION BY source_id, cpu ORDER BY snapshot, ts_ns)
), counter_cut AS (
  SELECT c.end_ns, c.ts_ns, c.steal_ns, x.step_ns, x.start_ns AS first_ns, x.end_ns AS last_ns,
    @cut(c.ts_ns, c.end_ns, x.step_ns) AS step
  FROM counter AS c
  CROSS JOIN setting AS x
  WHERE c.ts_ns < c.end_ns AND c.steal_ns IS NOT NULL
), steal AS (
  SELECT step, sum(ns) AS covered_ns, sum(steal_ns::DOUBLE * ns / full_ns) AS steal_ns
  FROM (
    SELECT step, steal_ns, end_ns - ts_ns AS full_ns,
      least(end_ns, (step + 1) * step_ns, last_ns) - greatest(ts_ns, step * step_ns, first_ns) AS ns
    FROM counter_cut
  )
  WHERE ns > 0
  GROUP BY step
), total AS (
  SELECT p.step, t.upid, x.step_ns,
    @step_ts(p.step, x.step_ns, x.start_ns) AS ts_ns,
    @step_interval(p.step, x.step_ns, x.start_ns, x.end_ns) AS interval_ns,
    count(*) AS thread_count,
    @total_or_zero(p.ready_ns, true) AS ready_ns,
    @total_or_zero(p.on_cpu_ns, true) AS on_cpu_ns
  FROM part AS p
  JOIN thread AS t USING (utid)
  CROSS JOIN setting AS x
  GROUP BY p.step, t.upid, x.step_ns, x.start_ns, x.end_ns
)
SELECT
  t.ts_ns, t.interval_ns, t.upid, p.pid, p.name AS process, m.cgroup, t.thread_count,
  t.ready_ns, t.ready_ns / t.interval_ns AS ready_ratio,
  t.on_cpu_ns, t.on_cpu_ns / t.interval_ns AS on_cpu_ratio,
  round(s.steal_ns)::BIGINT AS steal_ns, s.steal_ns / s.covered_ns AS steal_ratio
FROM total AS t
ASOF LEFT JOIN process_name AS p ON p.upid = t.upid AND p.since_ts_ns <= t.ts_ns + t.interval_ns - 1
LEFT JOIN steal AS s ON s.step = t.step
ASOF LEFT JOIN process_cgroup AS m ON m.upid = t.upid AND m.since_ts_ns < t.ts_ns + t.interval_ns
ORDER BY t.step, t.upid IN (SELECT upid FROM recorder_thread WHERE upid IS NOT NULL) IS TRUE, t.ready_ns DESC, t.upid
