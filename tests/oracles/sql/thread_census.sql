-- What the view thread_census must hold, by definition: the threads of each snapshot, counted.
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
