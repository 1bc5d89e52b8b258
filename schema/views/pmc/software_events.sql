-- software_events: context switches, migrations, page faults and other events that the kernel counts itself, over time
-- grain: an interval of perf stat × event
-- source: pmc_event
-- caveat: CPUs, cores and threads are added up. perf's own "/sec" divides by the time of task-clock, which with -a is that of all CPUs together; count_per_s here divides by the interval
-- caveat: if only user mode was counted (page-faults:u), the figures are for user mode; an event that was not counted in an interval is NULL, not 0
-- caveat: task-clock and cpu-clock count time: their count_per_s is the number of CPUs used (with -a: the number of CPUs there are)
-- diff by: event
-- diff sum: count
-- diff weight: 0.4
-- plot: intervals count_per_s by event
-- chart lines 10: Counters: count_per_s as per s by event
-- as in pmc_event: ts_ns, interval_ns, event
-- column unit: the unit of count: NULL for plain counts, ns for clocks
-- column count [count]: number of these events, on everything that was counted
-- column count_per_s [1/s]: count per second of the interval (for clocks: seconds per second)
-- column running_ratio [ratio]: the lowest share of the time that one of its counters ran; below 1 count is an estimate
WITH event AS (
  SELECT *, CASE WHEN event IN ('task-clock', 'cpu-clock') THEN 'ns' END AS counted_in,
    -- perf prints clocks in msec, old ones in ns.
    CASE WHEN event IN ('task-clock', 'cpu-clock') AND coalesce(unit, 'ns') = 'msec' THEN 1e6 ELSE 1.0 END AS factor
  FROM pmc_event
  WHERE pmu = '' AND event IN (
    'context-switches', 'cpu-migrations', 'page-faults', 'minor-faults', 'major-faults', 'alignment-faults',
    'emulation-faults', 'cgroup-switches', 'bpf-output', 'task-clock', 'cpu-clock')
), total AS (
  SELECT source_id, ts_ns, max(interval_ns) AS interval_ns, event, counted_in, sum(count * factor) AS count,
    min(running_ratio) AS running_ratio
  FROM event
  GROUP BY source_id, ts_ns, event, counted_in
)
SELECT ts_ns, interval_ns, event, counted_in AS unit, count,
  count / CASE WHEN counted_in IS NULL THEN 1 ELSE 1e9 END / (nullif(interval_ns, 0) / 1e9) AS count_per_s,
  running_ratio
FROM total
ORDER BY ts_ns, event, source_id
