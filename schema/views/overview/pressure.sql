-- pressure: how long threads could not continue because CPU, memory or input/output was short, or because of interrupts
-- grain: an interval between two snapshots × resource
-- source: proc_pressure
-- caveat: the kernel counts the time in which at least one thread waited, not how many threads waited; full of the CPU is always 0 for the whole host
-- caveat: a kernel without pressure stall information (psi=1, CONFIG_PSI) has no rows
-- diff by: resource
-- diff mean: some_ratio, full_ratio
-- diff weight: 0.95
-- plot: intervals some_ratio, full_ratio by resource
-- chart lines 7: Pressure: some_ratio as some wait by resource
-- keys: ts_ns, interval_ns
-- as in proc_pressure: resource
-- column some_ratio [ratio]: share of the interval in which at least one thread waited
-- column full_ratio [ratio]: share of the interval in which all threads that were not idle waited; NULL if the kernel does not count that
-- column some_ns [ns]: some_ratio in ns
-- column full_ns [ns]: full_ratio in ns
-- column some_avg10_ratio [ratio]: the kernel's own average over 10 s, at the end of the interval
-- column some_avg60_ratio [ratio]: the kernel's own average over 60 s
-- column some_avg300_ratio [ratio]: the kernel's own average over 300 s
-- column full_avg10_ratio [ratio]: the kernel's own average over 10 s, at the end of the interval
-- column full_avg60_ratio [ratio]: the kernel's own average over 60 s
-- column full_avg300_ratio [ratio]: the kernel's own average over 300 s
WITH pair AS (
  SELECT *, lag(total_ns) OVER w AS before_ns, ts_ns - lag(ts_ns) OVER w AS interval_ns
  FROM proc_pressure
  WINDOW w AS (PARTITION BY source_id, resource, kind ORDER BY snapshot, ts_ns)
), flat AS (
  SELECT source_id, snapshot, ts_ns, interval_ns, resource,
    max(@counter_step(total_ns, before_ns, NULL)) FILTER (kind = 'some') AS some_ns,
    max(@counter_step(total_ns, before_ns, NULL)) FILTER (kind = 'full') AS full_ns,
    max(avg10_ratio) FILTER (kind = 'some') AS some_avg10_ratio,
    max(avg60_ratio) FILTER (kind = 'some') AS some_avg60_ratio,
    max(avg300_ratio) FILTER (kind = 'some') AS some_avg300_ratio,
    max(avg10_ratio) FILTER (kind = 'full') AS full_avg10_ratio,
    max(avg60_ratio) FILTER (kind = 'full') AS full_avg60_ratio,
    max(avg300_ratio) FILTER (kind = 'full') AS full_avg300_ratio
  FROM pair
  WHERE interval_ns > 0
  GROUP BY source_id, snapshot, ts_ns, interval_ns, resource
)
SELECT
  ts_ns - interval_ns AS ts_ns, interval_ns, resource, some_ns / interval_ns AS some_ratio, full_ns / interval_ns AS full_ratio, some_ns, full_ns,
  some_avg10_ratio, some_avg60_ratio, some_avg300_ratio, full_avg10_ratio, full_avg60_ratio, full_avg300_ratio
FROM flat
ORDER BY flat.ts_ns, source_id, resource
