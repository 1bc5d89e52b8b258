-- off_cpu_by_thread: how long each thread was off the CPU, by the state it was in
-- grain: a thread and a state
-- source: followed_state, thread
-- caveat: only intervals whose both ends are in the capture count; what the capture's edges cut is in open_ns
-- caveat: the wait time of perf sched timehist is the sum over all states of a thread
-- diff by: comm, state
-- diff sum: off_cpu_ns, count
-- diff max: max_ns
-- diff weight: 0.6
-- column utid: the capture's own key of the thread
-- column tid: thread id, a label
-- column pid: process id, a label
-- column comm: the thread's last name
-- column state: what it was: sleeping, disk_sleep, runnable (woken, waiting for a CPU), runnable_preempted, …
-- column off_cpu_ns [ns]: time in this state
-- column count [count]: how many times
-- column max_ns [ns]: the longest time
-- column open_ns [ns]: time in this state that the end of the capture cut
SELECT
  t.utid, t.tid, t.pid, t.comm, s.state,
  coalesce(sum(s.duration_ns) FILTER (NOT s.is_open), 0)::BIGINT AS off_cpu_ns,
  count(*) FILTER (NOT s.is_open) AS count,
  max(s.duration_ns) FILTER (NOT s.is_open) AS max_ns,
  coalesce(sum(s.duration_ns) FILTER (s.is_open), 0)::BIGINT AS open_ns
FROM followed_state AS s
JOIN thread AS t USING (utid)
WHERE s.state NOT IN ('running', 'idle')
GROUP BY t.utid, t.tid, t.pid, t.comm, s.state
ORDER BY off_cpu_ns DESC, t.utid, s.state
