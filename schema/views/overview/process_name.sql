-- process_name: the names of each process over time: those of its main thread
-- grain: a process and a name, for the time that it had this name
-- source: process, thread, thread_name
-- caveat: a name counts from the moment that the capture saw it: from the exec or the change if that was recorded, else from the first event or snapshot with this name
-- caveat: if names have no times, a thread has its first and its last name only; sample.name_id says which one a sample had
-- diff no: names, no figures
-- keys: upid, pid
-- column since_ts_ns [ns]: when the name began; the first name also holds for the time before, so it has the smallest number there is
-- column until_ts_ns [ns]: the last moment with this name; the last name has the largest number there is
-- column name: the name; NULL if the capture does not say
SELECT p.upid, p.pid,
  CASE WHEN lag(n.ts_ns) OVER w IS NULL THEN -9223372036854775808 ELSE n.ts_ns END AS since_ts_ns,
  coalesce(lead(n.ts_ns) OVER w - 1, 9223372036854775807) AS until_ts_ns,
  coalesce(n.comm, p.name) AS name
FROM process AS p
LEFT JOIN (
  SELECT t.upid, t.tid, n.ts_ns, n.comm, n.name_id FROM thread AS t JOIN thread_name AS n USING (utid)
) AS n ON n.upid = p.upid AND n.tid = p.pid
WINDOW w AS (PARTITION BY p.upid ORDER BY n.ts_ns, n.name_id)
-- A name that another follows at once was the process's at no time: names of a recording without times are so.
QUALIFY lag(n.ts_ns) OVER w IS NULL OR lead(n.ts_ns) OVER w IS DISTINCT FROM n.ts_ns
ORDER BY p.upid, since_ts_ns
