-- thread_name_span: the names of each thread over time
-- grain: a thread and a name, for the time that it had this name
-- source: thread_name
-- caveat: a name counts from the moment that the capture saw it: from the exec or the change if that was recorded, else from the first event or snapshot with this name
-- caveat: if names have no times, a thread has its first and its last name only; sample.name_id says which one a sample had
-- diff no: names, no figures
-- keys: utid
-- as in thread_name: name_id
-- column since_ts_ns [ns]: when the name began; the first name also holds for the time before, so it has the smallest number there is
-- column until_ts_ns [ns]: the last moment with this name; the last name has the largest number there is
-- keys: comm
SELECT utid, name_id,
  CASE WHEN lag(ts_ns) OVER w IS NULL THEN -9223372036854775808 ELSE ts_ns END AS since_ts_ns,
  coalesce(lead(ts_ns) OVER w - 1, 9223372036854775807) AS until_ts_ns,
  comm
FROM thread_name
WINDOW w AS (PARTITION BY utid ORDER BY ts_ns, name_id)
QUALIFY lag(ts_ns) OVER w IS NULL OR lead(ts_ns) OVER w IS DISTINCT FROM ts_ns
ORDER BY utid, since_ts_ns
