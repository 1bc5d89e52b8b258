-- function_profile: where the samples of each event were taken, by function
-- grain: an event and a function
-- source: sample_weight, perf_event, frame_label, stack_entry
-- caveat: total counts a sample once for a function, however often the function is in its callchain (recursion)
-- caveat: ratios are shares of the event's period (time, or counted events), as in perf report's overhead; self and total are also there in samples and in periods
-- caveat: without callchains total equals self
-- caveat: an inlined function has total but no self: its samples are the self of the function that it was inlined into, as perf report counts them
-- diff by: event, symbol, dso
-- diff sum: self_period, total_period, self_count
-- diff where: event NOT IN (SELECT name FROM perf_event WHERE type = 'tracepoint')
-- diff weight: 0.8
-- column event: the event's name
-- column symbol: the function; if it has no name, the object and the address in it
-- as in frame_label: dso, is_kernel
-- column is_idle: whether an idle CPU is sampled in this function of the kernel: its share says how idle the CPUs were, not where time goes
-- column address: the address within the object, for a function without a name; NULL for one with a name
-- column self_count [count]: samples taken in the function itself
-- column total_count [count]: samples taken in the function or in what it called
-- column self_period: what these self samples stand for, in the event's unit (ns for cpu-clock)
-- column total_period: what these total samples stand for
-- column self_ratio [ratio]: self_period as a share of the event's whole period
-- column total_ratio [ratio]: total_period as a share of the event's whole period
WITH weight AS (
  SELECT event_id, frame_id, stack_id, sample_count AS samples, period FROM sample_weight
), self AS (
  SELECT w.event_id, l.label, l.dso, l.is_kernel, @total(w.samples) AS samples, @total_period(w.period) AS period
  FROM weight AS w JOIN frame_label AS l USING (frame_id)
  GROUP BY ALL
), touched AS (
  SELECT w.event_id, w.frame_id, w.stack_id, w.samples, w.period, l.label, l.dso, l.is_kernel, l.unnamed_address AS address
  FROM weight AS w JOIN frame_label AS l USING (frame_id)
  UNION
  SELECT w.event_id, w.frame_id, w.stack_id, w.samples, w.period, l.label, l.dso, l.is_kernel, l.unnamed_address AS address
  FROM weight AS w
  JOIN stack_entry AS e USING (stack_id)
  JOIN frame_label AS l ON l.frame_id = e.frame_id
), total AS (
  SELECT event_id, label, dso, is_kernel, address, @total(samples) AS samples, @total_period(period) AS period
  FROM touched
  GROUP BY ALL
), everything AS (
  SELECT event_id, sum(period) AS period FROM weight GROUP BY event_id
)
SELECT
  v.name AS event, t.label AS symbol, t.dso, t.is_kernel,
  t.is_kernel IS TRUE AND t.label IN (
    'acpi_idle_do_entry', 'acpi_safe_halt', 'arch_cpu_idle', 'cpu_do_idle', 'cpuidle_enter_state', 'default_idle', 'intel_idle', 'intel_idle_irq',
    'intel_idle_xstate', 'mwait_idle', 'native_safe_halt', 'poll_idle', 'psw_idle', 'pv_native_safe_halt'
  ) AS is_idle,
  t.address,
  coalesce(s.samples, 0) AS self_count,
  t.samples AS total_count,
  coalesce(s.period, 0)::UBIGINT AS self_period,
  t.period AS total_period,
  coalesce(s.period, 0) / a.period AS self_ratio,
  t.period / a.period AS total_ratio
FROM total AS t
JOIN everything AS a USING (event_id)
JOIN perf_event AS v USING (event_id)
LEFT JOIN self AS s
  ON s.event_id = t.event_id AND s.label = t.label AND s.dso = t.dso AND s.is_kernel = t.is_kernel
ORDER BY v.name, self_period DESC, total_period DESC, t.label, t.dso, t.is_kernel
