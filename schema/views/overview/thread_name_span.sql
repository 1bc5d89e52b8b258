-- thread_name_span: what each thread was called, and from when to when
-- grain: a thread and a name, for as long as it had it
-- source: thread_name
-- caveat: a name counts from when the capture saw it: from the exec or the change where that was recorded, else from the first event or snapshot that had it
-- caveat: names without times: it has the first and the last of a thread; sample.name_id says which one a sample had
-- diff no: names, no figures
-- keys: utid
-- as in thread_name: name_id
-- column since_ts_ns [ns]: from when on; what it was called first holds for the time before as well: the least number there is
-- column until_ts_ns [ns]: the last moment; of the last name the greatest number there is
-- keys: comm
SELECT utid, name_id,
  CASE WHEN lag(ts_ns) OVER w IS NULL THEN -9223372036854775808 ELSE ts_ns END AS since_ts_ns,
  coalesce(lead(ts_ns) OVER w - 1, 9223372036854775807) AS until_ts_ns,
  comm
FROM thread_name
WINDOW w AS (PARTITION BY utid ORDER BY ts_ns, name_id)
QUALIFY lag(ts_ns) OVER w IS NULL OR lead(ts_ns) OVER w IS DISTINCT FROM ts_ns
ORDER BY utid, since_ts_ns
