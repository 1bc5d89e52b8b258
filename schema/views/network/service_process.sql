-- service_process: which service each process belongs to: a worker or a session of a server belongs to the process of the same name that is above it
-- grain: a process
-- source: process, proc_thread, thread
-- caveat: a process above that was not recorded is not known: then each worker is by itself
-- diff no: names, no figures
-- as in process: upid
-- column service_upid: the topmost process of this name above it, over three at most; itself if the one above it has another name, or is not known
WITH seen AS (
  SELECT t.upid, arg_max(x.parent_pid, x.ts_ns) AS parent_pid
  FROM proc_thread AS x
  JOIN thread AS t USING (utid)
  WHERE x.tid = x.pid AND x.parent_pid > 0 AND t.upid IS NOT NULL
  GROUP BY t.upid
), holder AS (
  SELECT pid, max(upid) AS upid FROM process GROUP BY pid HAVING count(*) = 1
), above AS (
  SELECT p.upid, a.upid AS above_upid
  FROM process AS p
  LEFT JOIN seen AS s USING (upid)
  LEFT JOIN holder AS h ON h.pid = s.parent_pid
  JOIN process AS a ON a.upid = coalesce(p.parent_upid, h.upid) AND a.name = p.name AND a.upid <> p.upid
)
SELECT p.upid, coalesce(c.above_upid, b.above_upid, a.above_upid, p.upid) AS service_upid
FROM process AS p
LEFT JOIN above AS a USING (upid)
LEFT JOIN above AS b ON b.upid = a.above_upid
LEFT JOIN above AS c ON c.upid = b.above_upid
ORDER BY upid
