-- off_cpu_by_stack: where threads were when they left the CPU, and how long they stayed away
-- grain: a thread, a name that it had, a state and the callchain that it left the CPU with
-- source: followed_state, thread, thread_name, stack_folded, recorder_thread
-- caveat: only intervals with both ends in the capture count
-- caveat: stack is NULL where switches were recorded without callchains: short waits that came too often (--stacks long)
-- diff by: comm, state, stack
-- diff sum: off_cpu_ns, off_cpu_count
-- diff max: off_cpu_max_ns
-- diff weight: 0.6
-- keys: utid, tid, pid, comm
-- column state: sleeping, disk_sleep, runnable (the wait for a CPU after such a sleep), runnable_preempted, …
-- column stack: the callchain, root first, frames separated by semicolons
-- column off_cpu_ns [ns]: time in this state with this callchain
-- column off_cpu_count [count]: how many times
-- column off_cpu_max_ns [ns]: the longest time
-- keys: stack_id
SELECT
  t.utid, t.tid, t.pid, x.comm, x.state, f.folded AS stack,
  x.off_cpu_ns, x.off_cpu_count, x.off_cpu_max_ns, x.stack_id
FROM (
  SELECT s.utid, coalesce(n.comm, h.comm) AS comm, s.state, s.stack_id, @total(s.duration_ns) AS off_cpu_ns,
    count(*) AS off_cpu_count, max(s.duration_ns) AS off_cpu_max_ns
  FROM followed_state AS s
  JOIN thread AS h USING (utid)
  LEFT JOIN thread_name AS n ON n.name_id = s.name_id
  WHERE s.state NOT IN ('running', 'idle') AND NOT s.is_open
  GROUP BY s.utid, coalesce(n.comm, h.comm), s.state, s.stack_id
) AS x
JOIN thread AS t USING (utid)
LEFT JOIN stack_folded AS f USING (stack_id)
ORDER BY t.utid IN (SELECT utid FROM recorder_thread), x.off_cpu_ns DESC, t.utid, x.comm, x.state, x.stack_id
