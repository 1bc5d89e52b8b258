-- process_name: what each process was called, and from when to when: the names of its main thread
-- grain: a process and a name, for as long as it had it
-- source: process, thread, thread_name
-- caveat: a name counts from when the capture saw it: from the exec or the change where that was recorded, else from the first event or snapshot that had it
-- caveat: names without times: it has the first and the last of a thread; sample.name_id says which one a sample had
-- diff no: names, no figures
-- keys: upid, pid
-- column since_ts_ns [ns]: from when on; what it was called first holds for the time before as well: the least number there is
-- column until_ts_ns [ns]: the last moment; of the last name the greatest number there is
-- column name: the name; NULL if the capture does not say
SELECT p.upid, p.pid,
  CASE WHEN lag(n.ts_ns) OVER w IS NULL THEN -9223372036854775808 ELSE n.ts_ns END AS since_ts_ns,
  coalesce(lead(n.ts_ns) OVER w - 1, 9223372036854775807) AS until_ts_ns,
  coalesce(n.comm, p.name) AS name
FROM process AS p
LEFT JOIN (thread AS t JOIN thread_name AS n USING (utid)) ON t.upid = p.upid AND t.tid = p.pid
WINDOW w AS (PARTITION BY p.upid ORDER BY n.ts_ns, n.name_id)
-- A name that another follows at once was the process's at no time: names of a recording without times are so.
QUALIFY lag(n.ts_ns) OVER w IS NULL OR lead(n.ts_ns) OVER w IS DISTINCT FROM n.ts_ns
ORDER BY p.upid, since_ts_ns
