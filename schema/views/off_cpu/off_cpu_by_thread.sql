-- off_cpu_by_thread: how long each thread was off the CPU, by the state it was in
-- grain: a thread, a name that it had, and a state
-- source: followed_state, thread, thread_name, recorder_thread
-- caveat: only intervals with both ends in the capture count; what the capture's edges cut is in open_ns
-- caveat: the wait time of perf sched timehist is the sum over all states of a thread
-- diff by: comm, state
-- diff sum: off_cpu_ns, off_cpu_count
-- diff max: off_cpu_max_ns
-- diff weight: 0.6
-- keys: utid, tid, pid, comm
-- column state: the thread's state: sleeping, disk_sleep, runnable (woken, waiting for a CPU), runnable_preempted, …
-- column off_cpu_ns [ns]: time in this state
-- column off_cpu_count [count]: how many times
-- column off_cpu_max_ns [ns]: the longest time
-- column open_ns [ns]: time in this state that the end of the capture cut
SELECT
  t.utid, t.tid, t.pid, coalesce(n.comm, t.comm) AS comm, s.state,
  @total_or_zero(s.duration_ns, NOT s.is_open) AS off_cpu_ns,
  count(*) FILTER (NOT s.is_open) AS off_cpu_count,
  max(s.duration_ns) FILTER (NOT s.is_open) AS off_cpu_max_ns,
  @total_or_zero(s.duration_ns, s.is_open) AS open_ns
FROM followed_state AS s
JOIN thread AS t USING (utid)
LEFT JOIN thread_name AS n ON n.name_id = s.name_id
WHERE s.state NOT IN ('running', 'idle')
GROUP BY t.utid, t.tid, t.pid, coalesce(n.comm, t.comm), s.state
ORDER BY t.utid IN (SELECT utid FROM recorder_thread), off_cpu_ns DESC, t.utid, comm, s.state
