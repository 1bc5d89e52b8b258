-- preemptions: which thread took the CPU from which, how often, and what that cost
-- grain: a pair of a thread that left its CPU while it could have run on, and the thread that came next there, each under a name that it had
-- source: followed_state, thread, thread_name, recorder_thread
-- caveat: a thread that offers its CPU also counts: cond_resched and sched_yield are no preemptions in the kernel's strict sense, but the thread waits all the same
-- caveat: if the next switch on the CPU was lost, the thread that came is unknown: by_utid is NULL
-- caveat: the last wait of a thread may have been cut by the end of the capture: it counts up to that end
-- diff by: comm, by_comm
-- diff sum: lost_ns, preemption_count
-- diff max: lost_max_ns
-- diff weight: 0.4
-- keys: utid, tid, pid, comm
-- column by_utid: the capture's own key of the thread that came next
-- column by_tid: its thread id
-- column by_pid: its process id
-- column by_comm: its name when its own run ended
-- column preemption_count [count]: number of preemptions
-- column lost_ns [ns]: total time until the thread ran again
-- column lost_max_ns [ns]: the longest time until the thread ran again
-- column by_on_cpu_ns [ns]: total time that the other thread ran there each time it came
WITH on_cpu AS (
  SELECT utid, name_id, ts_ns + duration_ns AS end_ns, next_state, is_open,
    lead(utid) OVER w AS by_utid, lead(name_id) OVER w AS by_name_id, lead(duration_ns) OVER w AS by_ns, lead(is_ambiguous) OVER w AS is_doubtful,
    lead(ts_ns) OVER w = ts_ns + duration_ns AS is_next
  FROM followed_state
  WHERE state IN ('running', 'idle') AND cpu IS NOT NULL
  WINDOW w AS (PARTITION BY cpu ORDER BY ts_ns + duration_ns, ts_ns)
), taken AS (
  SELECT utid, name_id, end_ns,
    CASE WHEN is_next AND NOT is_doubtful THEN by_utid END AS by_utid,
    CASE WHEN is_next AND NOT is_doubtful THEN by_name_id END AS by_name_id,
    CASE WHEN is_next AND NOT is_doubtful THEN by_ns END AS by_ns
  FROM on_cpu
  WHERE next_state = 'runnable_preempted' AND utid <> 0
), wait AS (
  SELECT utid, ts_ns, duration_ns FROM followed_state WHERE state = 'runnable_preempted'
)
SELECT
  k.utid, t.tid, t.pid, coalesce(n.comm, t.comm) AS comm, k.by_utid, b.tid AS by_tid, b.pid AS by_pid, coalesce(m.comm, b.comm) AS by_comm,
  count(*) AS preemption_count,
  @total(w.duration_ns) AS lost_ns,
  max(w.duration_ns) AS lost_max_ns,
  @total(k.by_ns) AS by_on_cpu_ns
FROM taken AS k
JOIN thread AS t ON t.utid = k.utid
LEFT JOIN wait AS w ON w.utid = k.utid AND w.ts_ns = k.end_ns
LEFT JOIN thread AS b ON b.utid = k.by_utid
LEFT JOIN thread_name AS n ON n.name_id = k.name_id
LEFT JOIN thread_name AS m ON m.name_id = k.by_name_id
GROUP BY ALL
ORDER BY bool_or(k.utid IN (SELECT utid FROM recorder_thread)), lost_ns DESC NULLS LAST, k.utid, k.by_utid, comm, by_comm
