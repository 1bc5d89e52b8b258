-- syscall_error: which system calls failed, with which error, on which descriptor and peer
-- grain: a process, a system call, an error, and what the descriptor was (of calls with a descriptor)
-- source: syscall, descriptor, thread, process, recorder_thread
-- caveat: many errors are no fault: a file that a program looks for in several places (ENOENT), a call that would wait (EAGAIN), one that a signal interrupted (EINTR)
-- caveat: a connect that does not wait (EINPROGRESS) says its error later, by getsockopt, whose answer is not recorded; the view connection has it, of TCP
-- diff by: process, name, errno_name
-- diff sum: error_count
-- diff weight: 0.7
-- keys: upid, pid
-- column process: its name; the name of a thread if the process is not known
-- as in syscall: name, errno_name
-- as in descriptor: kind, target, peer
-- column error_count [count]: calls that failed like this
-- column call_count [count]: all calls of this name by the process that returned
-- column error_ratio [ratio]: error_count as a share of call_count
-- column duration_total_ns [ns]: time in the calls that failed
-- column first_ts_ns [ns]: when the first of them began
-- column last_ts_ns [ns]: when the last of them began
WITH ended AS (
  SELECT t.upid, t.pid, coalesce(p.name, t.comm) AS process, s.name, s.errno, coalesce(s.errno_name, 'errno ' || s.errno) AS errno_name,
    s.descriptor_id, count(*) AS n, sum(s.duration_ns::HUGEINT) AS ns, min(s.ts_ns) AS first_ns, max(s.ts_ns) AS last_ns,
    any_value(s.utid) AS utid
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  LEFT JOIN process AS p USING (upid)
  WHERE s.ret IS NOT NULL
  GROUP BY ALL
), counted AS (
  SELECT upid, pid, process, name, sum(n) AS n FROM ended GROUP BY ALL
)
SELECT
  e.upid, e.pid, e.process, e.name, e.errno_name, d.kind, d.target, d.peer,
  sum(e.n)::BIGINT AS error_count, any_value(c.n)::BIGINT AS call_count, sum(e.n) / any_value(c.n) AS error_ratio,
  @whole(sum(e.ns)) AS duration_total_ns, min(e.first_ns) AS first_ts_ns, max(e.last_ns) AS last_ts_ns
FROM ended AS e
JOIN counted AS c
  ON c.upid IS NOT DISTINCT FROM e.upid AND c.pid IS NOT DISTINCT FROM e.pid AND c.process IS NOT DISTINCT FROM e.process AND c.name = e.name
LEFT JOIN descriptor AS d USING (descriptor_id)
WHERE e.errno IS NOT NULL
GROUP BY e.upid, e.pid, e.process, e.name, e.errno_name, d.kind, d.target, d.peer
ORDER BY bool_and(e.utid IN (SELECT utid FROM recorder_thread)), error_count DESC, e.upid, e.pid, e.process, e.name, e.errno_name, d.kind, d.target, d.peer
