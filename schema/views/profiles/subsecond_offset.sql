-- subsecond_offset: when in each second samples were taken: a column is a second, a row a fiftieth of it
-- grain: a sampled event that is no tracepoint, a second of the capture and a fiftieth of it, if it has samples
-- source: sample, perf_event, thread
-- caveat: samples of the idle task are left out; a second in which nothing ran has no rows
-- caveat: subsecond-offset heat maps are by Brendan Gregg (2017) and the FlameScope of Martin Spier and him (2018)
-- diff no: a picture; function_profile is compared
-- column event: the event's name
-- keys: ts_ns, interval_ns
-- column offset_min_ns [ns]: the fiftieth begins so long after the second
-- column offset_max_ns [ns]: the fiftieth ends before this
-- column sample_count [count]: samples
SELECT
  e.name AS event,
  s.ts_ns // 1000000000 * 1000000000 AS ts_ns,
  1000000000::BIGINT AS interval_ns,
  s.ts_ns % 1000000000 // 20000000 * 20000000 AS offset_min_ns,
  s.ts_ns % 1000000000 // 20000000 * 20000000 + 20000000 AS offset_max_ns,
  count(*) AS sample_count
FROM sample AS s
JOIN perf_event AS e USING (event_id)
LEFT JOIN thread AS t USING (utid)
WHERE s.ts_ns >= 0 AND NOT coalesce(e.is_tracepoint, false) AND coalesce(t.tid, 1) <> 0
GROUP BY ALL
ORDER BY event, ts_ns, offset_min_ns
