-- pmc_event: perf stat's counters, each event under one name, with one value per interval and CPU
-- grain: an interval × event × what it was counted on (a CPU, a core, a thread, everything)
-- source: pmc_interval
-- caveat: an event in several groups was counted several times: its count is the mean of these
-- caveat: if a source has counts of user mode, kernel mode and all modes, only the widest is here; likewise for control groups: the whole machine if it was counted, else every group that was asked for
-- diff by: event, unit, cgroup
-- diff sum: count
-- diff weight: 0.3
-- plot: none
-- as in pmc_interval: ts_ns, interval_ns, source_id, cpu, aggregate
-- column cgroup: the control group; NULL where all or none was asked for
-- column pmu: the unit that was named (cpu_core, cpu_atom, msr, uncore_imc_0); empty where none was
-- column event: the event's name in lower case, without its modifiers and its unit; an alias (cs, faults, migrations, cpu-cycles, branch-instructions) is spelled out
-- column mode: the modes that were counted: u, k, h; empty for all
-- as in pmc_interval: unit
-- column count [count]: the count, scaled by perf to the whole interval; NULL where it was not counted
-- column running_ratio [ratio]: share of the time that the counter ran; below 1 count is an estimate
WITH named AS (
  -- cycles, cycles:u, cpu_core/cycles/u
  SELECT *,
    CASE WHEN event LIKE '%/%/%' THEN split_part(event, '/', 1) ELSE '' END AS pmu,
    lower(CASE WHEN event LIKE '%/%/%' THEN split_part(event, '/', 2) ELSE split_part(event, ':', 1) END) AS name,
    -- Precision and the like say nothing about what is counted.
    regexp_replace(
      CASE WHEN event LIKE '%/%/%' THEN split_part(event, '/', 3) ELSE split_part(event, ':', 2) END,
      '[^ukhHG]', '', 'g') AS mode
  FROM pmc_interval
), widest AS (
  SELECT *
  FROM named
  QUALIFY
    CASE mode WHEN '' THEN 0 WHEN 'u' THEN 1 ELSE 2 END
      = min(CASE mode WHEN '' THEN 0 WHEN 'u' THEN 1 ELSE 2 END) OVER (PARTITION BY source_id, pmu, name)
    AND CASE WHEN cgroup IS NULL THEN 0 WHEN cgroup = '/' THEN 1 ELSE 2 END
      = min(CASE WHEN cgroup IS NULL THEN 0 WHEN cgroup = '/' THEN 1 ELSE 2 END) OVER (PARTITION BY source_id)
)
SELECT ts_ns, interval_ns, source_id, cpu, aggregate, cgroup, pmu,
  CASE name
    WHEN 'cs' THEN 'context-switches' WHEN 'migrations' THEN 'cpu-migrations' WHEN 'faults' THEN 'page-faults'
    WHEN 'cpu-cycles' THEN 'cycles' WHEN 'branch-instructions' THEN 'branches' WHEN 'branch-miss' THEN 'branch-misses'
    ELSE name
  END AS event,
  mode, any_value(unit) AS unit, avg(count) AS count, min(running_ratio) AS running_ratio
FROM widest
GROUP BY ts_ns, interval_ns, source_id, cpu, aggregate, cgroup, pmu, 8, mode
ORDER BY ts_ns, source_id, pmu, 8, mode, cpu NULLS FIRST, aggregate NULLS FIRST, cgroup NULLS FIRST
