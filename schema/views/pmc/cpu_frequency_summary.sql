-- cpu_frequency_summary: how fast each CPU ran over the whole capture, and how busy it was at its actual and at its base clock
-- grain: a CPU (or core, socket, thread, or everything, as it was counted)
-- source: cpu_frequency
-- caveat: the clock is the mean over the time that the CPU was busy; cpu_frequency has the intervals, and more caveats
-- caveat: an interval with cycles/task-clock, which may count idle time, does not count for the clock if another method is known for that CPU
-- diff no: cpu_frequency is compared, with the noise of its intervals
-- column cpu: the CPU; or the core, socket, node or thread; or all
-- as in cpu_frequency: effective_ghz
-- column base_ghz [GHz]: the nominal clock of the CPU
-- column busy_ns [ns]: time that it was not idle
-- column run_ratio [ratio]: busy_ns as a share of the intervals in which it is known (%RUN)
-- as in cpu_frequency: used_ratio
-- column method: how effective_ghz was found; several methods if they differ between intervals
WITH clocked AS (
  SELECT *, coalesce(cpu::VARCHAR, aggregate, 'all') AS name,
    -- For counts without busy time (cycles / task-clock), the time at that clock is what the cycles took.
    coalesce(busy_ns, @ratio(cycles, effective_ghz)) AS weight_ns
  FROM cpu_frequency
), judged AS (
  SELECT *, method <> 'cycles/task-clock' OR NOT bool_or(coalesce(method <> 'cycles/task-clock', false)) OVER (PARTITION BY name) AS is_sure
  FROM clocked
)
SELECT
  name AS cpu, @mean(CASE WHEN is_sure THEN effective_ghz END, weight_ns) AS effective_ghz, max(base_ghz) AS base_ghz, @total(busy_ns) AS busy_ns,
  @ratio(@total(busy_ns), @total_where(interval_ns, busy_ns IS NOT NULL)) AS run_ratio, @mean(used_ratio, interval_ns) AS used_ratio,
  string_agg(DISTINCT method, ', ' ORDER BY method) FILTER (is_sure) AS method
FROM judged
GROUP BY name
ORDER BY busy_ns DESC NULLS LAST, cpu
