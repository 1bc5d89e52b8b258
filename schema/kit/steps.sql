-- steps: the steps that a view of events is cut into: step_ns (the parameter interval_ns, 1 s by default, at most 100,000 of them), and the
--   recorded time from start_ns to end_ns
-- takes: table_name
SELECT greatest(coalesce(getvariable('interval_ns'), 1000000000), 1, max(end_ts_ns) // 100000)::BIGINT AS step_ns,
  max(start_ts_ns) AS start_ns, max(end_ts_ns) AS end_ns
FROM recorded_span
WHERE table_name = $table_name
