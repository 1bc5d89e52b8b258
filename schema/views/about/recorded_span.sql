-- recorded_span: when the recording of a table's rows began and ended; rates and shares of time are relative to this length
-- grain: a table of what happened: thread_state, syscall, block_io, sample
-- source: capture, source
-- caveat: sources do not begin at the same moment, and may end before the capture does, or some ms after it: each source has its own first and last moment
-- caveat: a table without a source of its own has the span of all sources of the other tables together; if there are none, the span of the capture
-- diff no: it says what a share is a share of, not what the machine did
-- column table_name: the table
-- column source_id: the source of its rows; NULL if none is known
-- column start_ts_ns [ns]: when recording began, but not before the beginning of the capture
-- column end_ts_ns [ns]: when it ended
-- column duration_ns [ns]: time from start_ts_ns to end_ts_ns; NULL if nothing was recorded
WITH part AS (
  SELECT 'thread_state' AS table_name, source_id, since_ts_ns, until_ts_ns FROM source WHERE is_timeline
  UNION ALL
  SELECT 'syscall', source_id, since_ts_ns, until_ts_ns FROM source WHERE is_syscall_source
  UNION ALL
  SELECT 'block_io', source_id, since_ts_ns, until_ts_ns FROM source WHERE is_block_source
  UNION ALL
  SELECT 'sample', source_id, since_ts_ns, until_ts_ns FROM source WHERE kind IN ('perf_data', 'perf_script')
), known AS (
  SELECT t.table_name, min(p.source_id) AS source_id,
    coalesce(min(p.since_ts_ns), (SELECT min(since_ts_ns) FROM part)) AS since_ts_ns,
    coalesce(max(p.until_ts_ns), (SELECT max(until_ts_ns) FROM part)) AS until_ts_ns
  FROM (VALUES ('thread_state'), ('syscall'), ('block_io'), ('sample')) AS t(table_name)
  LEFT JOIN part AS p USING (table_name)
  GROUP BY t.table_name
), bounded AS (
  SELECT k.table_name, k.source_id,
    CASE WHEN k.since_ts_ns > 0 THEN k.since_ts_ns ELSE 0 END AS start_ts_ns,
    coalesce(k.until_ts_ns, c.duration_ns) AS end_ts_ns
  FROM known AS k
  CROSS JOIN capture AS c
)
SELECT table_name, source_id, start_ts_ns, end_ts_ns, CASE WHEN end_ts_ns > start_ts_ns THEN end_ts_ns - start_ts_ns END AS duration_ns
FROM bounded
ORDER BY table_name
