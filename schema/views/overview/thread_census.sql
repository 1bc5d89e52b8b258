-- thread_census: how many threads of each process have which name and state, as ps -T -o stat,comm | sort | uniq -c counts them
-- grain: a snapshot × process × name × state
-- source: proc_thread, thread, process_name
-- caveat: a state is that of a moment: a thread that runs now and then is mostly seen asleep. off_cpu_by_thread has the states over time, from events
-- caveat: a sleeping thread that has not run is read in every fourth snapshot only: until then, a thread that was woken and waits for a CPU still counts as sleeping
-- caveat: wait_channel needs a kernel that shows it (CONFIG_STACKTRACE and root)
-- diff by: process, comm, state_name
-- diff level: thread_count
-- diff weight: 0.9
-- column ts_ns [ns]: when the first of these threads was read
-- keys: snapshot
-- column is_last: whether it is the last snapshot
-- keys: upid, pid
-- column process: the process's name when they were read
-- column comm: the threads' name
-- as in proc_thread: state
-- column state_name: the state in a word
-- column thread_count [count]: threads with this name and state
-- column thread_ratio [ratio]: thread_count as a share of the process's threads
-- column wait_channel: the kernel function in which most of them sleep
SELECT
  min(t.ts_ns) AS ts_ns, t.snapshot, t.snapshot = max(t.snapshot) OVER () AS is_last, th.upid, t.pid, arg_max(p.name, t.ts_ns) AS process, t.comm, t.state,
  CASE t.state
    WHEN 'R' THEN 'running or runnable' WHEN 'S' THEN 'sleeping' WHEN 'D' THEN 'disk_sleep' WHEN 'T' THEN 'stopped'
    WHEN 't' THEN 'traced' WHEN 'I' THEN 'idle' WHEN 'Z' THEN 'zombie' WHEN 'X' THEN 'dead' WHEN 'P' THEN 'parked'
  END AS state_name,
  count(*) AS thread_count,
  count(*) / sum(count(*)) OVER (PARTITION BY t.source_id, t.snapshot, t.pid, th.upid) AS thread_ratio,
  -- mode() takes the first of several that are equally frequent: the least here.
  mode(t.wait_channel ORDER BY t.wait_channel) AS wait_channel
FROM proc_thread AS t
JOIN thread AS th USING (utid)
ASOF LEFT JOIN process_name AS p ON p.upid = th.upid AND p.since_ts_ns <= t.ts_ns
GROUP BY t.source_id, t.snapshot, t.pid, th.upid, t.comm, t.state
ORDER BY t.source_id, t.snapshot, t.pid, th.upid, thread_count DESC, t.comm, t.state
