-- recorded_span: from when to when the events of a table were recorded: the length that a share of their time is a share of
-- grain: a table that one source's events are the rows of: thread_state, syscall
-- source: capture, source
-- caveat: the recorder starts its sources one after the other, so tracing begins after the capture does: at the source's first event. A recording of some processes sees none while these sleep, so that 2 s are taken for the start at most
-- diff no: it tells what a share is a share of, not what the machine did
-- column table_name: the table
-- column source_id: the source that its rows are of; NULL where none is known
-- column start_ts_ns [ns]: when recording began
-- column end_ts_ns [ns]: when it ended: with the capture
-- column duration_ns [ns]: from the one to the other; NULL where nothing was recorded
WITH part AS (
  SELECT 'thread_state' AS table_name, source_id, first_ts_ns FROM source WHERE is_timeline
  UNION ALL
  SELECT 'syscall', source_id, first_ts_ns FROM source WHERE is_syscall_source
), begun AS (
  -- A table without a source of its own is empty; a rule that asks for it may ask for another one, too.
  SELECT t.table_name, any_value(p.source_id) AS source_id,
    least(greatest(coalesce(min(p.first_ts_ns), (SELECT min(first_ts_ns) FROM part), 0), 0), 2000000000) AS start_ts_ns
  FROM (VALUES ('thread_state'), ('syscall')) AS t(table_name)
  LEFT JOIN part AS p USING (table_name)
  GROUP BY t.table_name
)
SELECT b.table_name, b.source_id, b.start_ts_ns, c.duration_ns AS end_ts_ns,
  CASE WHEN c.duration_ns > b.start_ts_ns THEN c.duration_ns - b.start_ts_ns END AS duration_ns
FROM begun AS b
CROSS JOIN capture AS c
ORDER BY b.table_name
