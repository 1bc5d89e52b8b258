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
WITH counted AS (
  SELECT source_id, snapshot, pid, upid, comm, state, sum(thread_count)::BIGINT AS thread_count, min(first_ns) AS first_ns,
    max(last_ns) AS last_ns,
    -- The most frequent one, the least of several.
    arg_min(wait_channel, {thread_count: -thread_count, wait_channel: wait_channel}) FILTER (wait_channel IS NOT NULL) AS wait_channel
  FROM (
    SELECT t.source_id, t.snapshot, t.pid, th.upid, t.comm, t.state, t.wait_channel, count(*) AS thread_count,
      min(t.ts_ns) AS first_ns, max(t.ts_ns) AS last_ns
    FROM proc_thread AS t
    JOIN thread AS th USING (utid)
    GROUP BY ALL
  )
  GROUP BY ALL
), whole AS (
  SELECT t.source_id, t.snapshot, t.pid, th.upid, count(*) AS thread_count
  FROM proc_thread AS t
  JOIN thread AS th USING (utid)
  GROUP BY ALL
)
SELECT
  c.first_ns AS ts_ns, c.snapshot, c.snapshot = (SELECT max(snapshot) FROM whole) AS is_last, c.upid, c.pid, p.name AS process,
  c.comm, c.state,
  @state_word(c.state) AS state_name,
  c.thread_count, c.thread_count / w.thread_count AS thread_ratio, c.wait_channel
FROM counted AS c
JOIN whole AS w ON w.source_id = c.source_id AND w.snapshot = c.snapshot AND w.pid = c.pid AND w.upid IS NOT DISTINCT FROM c.upid
LEFT JOIN process_name AS p ON p.upid = c.upid AND c.last_ns BETWEEN p.since_ts_ns AND p.until_ts_ns
ORDER BY c.source_id, c.snapshot, c.pid, c.upid, c.thread_count DESC, c.comm, c.state
