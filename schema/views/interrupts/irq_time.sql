-- irq_time: how much time each CPU spent in handlers of device interrupts and in soft interrupts
-- grain: a CPU and an interrupt of one kind, number and name
-- source: irq_handler_entry, irq_handler_exit, softirq_entry, softirq_exit, source, capture
-- caveat: the time of a handler includes what interrupted it: if a device interrupt breaks into a soft interrupt, its time counts for the soft interrupt, too
-- caveat: on x86 the local timer and the interrupts between CPUs are other events (irq_vectors) and are not included
-- caveat: a recording of some processes sees only the interrupts that came while their threads ran
-- caveat: if two sources recorded the events, the source with more of them counts
-- diff by: kind, name
-- diff sum: duration_total_ns, handler_count
-- diff max: duration_max_ns
-- diff per cpu: duration_total_ns
-- column kind: irq (a handler of a device interrupt) or softirq
-- keys: cpu
-- column number: the interrupt's number; for a softirq its vector
-- column name: the device that requested the interrupt; for a softirq its name
-- column handler_count [count]: handlers with both ends in the capture
-- column duration_total_ns [ns]: time in these handlers
-- column duration_ratio [ratio]: duration_total_ns as a share of this CPU's time while these events were recorded
-- column duration_avg_ns [ns]: mean time in a handler
-- column duration_max_ns [ns]: longest time in a handler
-- column duration_max_ts_ns [ns]: when the longest began
-- column open_count [count]: entries without an end, and ends without an entry: cut by the capture's edge, or lost
WITH event AS (
  SELECT 'irq' AS kind, source_id, cpu, irq::BIGINT AS number, name, ts_ns, true AS is_entry FROM irq_handler_entry
  UNION ALL SELECT 'irq', source_id, cpu, irq, NULL, ts_ns, false FROM irq_handler_exit
  UNION ALL SELECT 'softirq', source_id, cpu, vec, NULL, ts_ns, true FROM softirq_entry
  UNION ALL SELECT 'softirq', source_id, cpu, vec, NULL, ts_ns, false FROM softirq_exit
), chosen AS (
  SELECT kind, source_id FROM event GROUP BY kind, source_id
  QUALIFY row_number() OVER (PARTITION BY kind ORDER BY count(*) DESC, source_id) = 1
), span AS (
  SELECT c.kind, coalesce(s.until_ts_ns - s.since_ts_ns, (SELECT max(duration_ns) FROM capture)) AS span_ns
  FROM chosen AS c
  LEFT JOIN source AS s USING (source_id)
), paired AS (
  SELECT kind, cpu, number, name, ts_ns, is_entry,
    -- At one time the entry comes first: a handler may take no time, but not less.
    lag(is_entry) OVER line AS after_entry,
    lead(is_entry) OVER line AS before_entry,
    lag(name) OVER line AS entry_name,
    lead(ts_ns) OVER line AS next_ts_ns
  FROM event
  JOIN chosen USING (kind, source_id)
  WINDOW line AS (PARTITION BY kind, cpu, number ORDER BY ts_ns, is_entry DESC)
), handler AS (
  SELECT kind, cpu, number, name, ts_ns, CASE WHEN NOT before_entry THEN next_ts_ns - ts_ns END AS duration_ns
  FROM paired WHERE is_entry
  UNION ALL
  SELECT kind, cpu, number, NULL, ts_ns, NULL FROM paired WHERE NOT is_entry AND NOT coalesce(after_entry, false)
), named AS (
  SELECT h.*,
    CASE kind
      WHEN 'irq' THEN coalesce(name, max(name) OVER (PARTITION BY kind, number))
      ELSE coalesce(['HI', 'TIMER', 'NET_TX', 'NET_RX', 'BLOCK', 'IRQ_POLL', 'TASKLET', 'SCHED', 'HRTIMER', 'RCU'][number + 1],
        number::VARCHAR)
    END AS label
  FROM handler AS h
)
SELECT
  kind, cpu, number, label AS name,
  count(duration_ns) AS handler_count,
  @total_or_zero(duration_ns, true) AS duration_total_ns,
  coalesce(sum(duration_ns), 0) / nullif(any_value(span_ns), 0) AS duration_ratio,
  avg(duration_ns) AS duration_avg_ns,
  max(duration_ns) AS duration_max_ns,
  -- If several took as long, the first.
  arg_max(ts_ns, (duration_ns, -ts_ns)) FILTER (duration_ns IS NOT NULL) AS duration_max_ts_ns,
  count(*) - count(duration_ns) AS open_count
FROM named
JOIN span USING (kind)
GROUP BY kind, cpu, number, label
ORDER BY duration_total_ns DESC, kind, cpu, number, name
