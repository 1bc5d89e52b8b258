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
WITH taken AS (
  SELECT source_id, snapshot, sum(hash(snapshot::BIGINT + 1)) OVER w AS snapshots
  FROM (SELECT DISTINCT source_id, snapshot FROM proc_thread)
  WINDOW w AS (PARTITION BY source_id ORDER BY snapshot)
), used AS (
  SELECT n.*, t.upid, min(n.first_snapshot) OVER w AS begin_snapshot, max(n.last_snapshot) OVER w AS end_snapshot,
    sum(n.snapshots) OVER w AS seen_snapshots,
    dense_rank() OVER (ORDER BY n.source_id, n.pid, t.upid)::UINTEGER AS process_number,
    dense_rank() OVER (ORDER BY n.source_id, n.pid, t.upid, n.comm, n.state)::UINTEGER AS kind_number
  FROM (
    SELECT source_id, utid, pid, comm, state, min(snapshot) AS first_snapshot, max(snapshot) AS last_snapshot, sum(hash(snapshot::BIGINT + 1)) AS snapshots
    FROM proc_thread
    GROUP BY ALL
  ) AS n
  JOIN thread AS t USING (utid)
  WINDOW w AS (PARTITION BY n.source_id, n.pid, t.upid, n.comm)
), kind AS (
  -- A name is single if one thread of the process has it in each snapshot from the first to the last one with it: then each row of these
  -- threads is a row here. Where threads share a name, few rows remain when they are counted; where they do not, to count them takes more
  -- than all else. The hashes tell a name that is twice in one snapshot and not in the next; that of 0 is 0.
  SELECT u.source_id, u.utid, u.pid, u.upid, u.comm, u.state, u.process_number, u.kind_number,
    e.snapshots - b.snapshots + hash(b.snapshot::BIGINT + 1) = u.seen_snapshots AS is_single
  FROM used AS u
  -- Not an inner join, of which DuckDB joins the two to each other first.
  LEFT JOIN taken AS b ON b.source_id = u.source_id AND b.snapshot = u.begin_snapshot
  LEFT JOIN taken AS e ON e.source_id = u.source_id AND e.snapshot = u.end_snapshot
), whole AS (
  SELECT t.snapshot, n.process_number, count(*)::UINTEGER AS thread_count
  FROM proc_thread AS t
  JOIN (SELECT DISTINCT source_id, utid, pid, process_number FROM kind) AS n USING (source_id, utid, pid)
  GROUP BY ALL
), counted AS (
  SELECT t.source_id, t.snapshot, n.process_number, n.kind_number, n.upid, 1::UINTEGER AS thread_count, t.ts_ns AS first_ns, t.ts_ns AS last_ns,
    t.wait_channel
  FROM proc_thread AS t
  JOIN kind AS n USING (source_id, utid, pid, comm, state)
  WHERE n.is_single
  UNION ALL
  SELECT source_id, snapshot, process_number, kind_number, upid, sum(thread_count)::UINTEGER, min(first_ns), max(last_ns),
    -- The most frequent one, the least of several.
    arg_min(wait_channel, {thread_count: -thread_count, wait_channel: wait_channel}) FILTER (wait_channel IS NOT NULL)
  FROM (
    SELECT t.source_id, t.snapshot, n.process_number, n.kind_number, n.upid, t.wait_channel, count(*) AS thread_count,
      min(t.ts_ns) AS first_ns, max(t.ts_ns) AS last_ns
    FROM proc_thread AS t
    JOIN kind AS n USING (source_id, utid, pid, comm, state)
    WHERE NOT n.is_single
    GROUP BY ALL
  )
  GROUP BY source_id, snapshot, process_number, kind_number, upid
), process AS (
  SELECT *, row_number() OVER ()::UINTEGER AS number FROM process_name
)
SELECT
  first_ns AS ts_ns, snapshot, snapshot = last_snapshot AS is_last, kind.upid AS upid, kind.pid AS pid, process, kind.comm AS comm,
  kind.state AS state,
  @state_word(kind.state) AS state_name,
  thread_count::BIGINT AS thread_count, thread_count / whole_count AS thread_ratio, wait_channel
FROM (
  -- Names are numbers until all is sorted, and so half as long.
  SELECT c.*, s.last_snapshot, s.kinds[c.kind_number] AS kind, s.names[c.name_number] AS process
  FROM (
    SELECT c.first_ns, c.snapshot, c.kind_number, c.thread_count, c.wait_channel, w.thread_count AS whole_count, p.number AS name_number
    FROM counted AS c
    JOIN whole AS w USING (process_number, snapshot)
    LEFT JOIN process AS p ON p.upid = c.upid AND c.last_ns BETWEEN p.since_ts_ns AND p.until_ts_ns
    ORDER BY c.source_id, c.snapshot, c.process_number, c.thread_count DESC, c.kind_number
  ) AS c
  CROSS JOIN (
    SELECT (SELECT max(snapshot) FROM taken) AS last_snapshot, (SELECT list(name ORDER BY number) FROM process) AS names,
      (SELECT list(k ORDER BY kind_number) FROM (SELECT DISTINCT kind_number, upid, pid, comm, state FROM kind) AS k) AS kinds
  ) AS s
)
