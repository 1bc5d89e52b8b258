-- thread_census_by_state: how many threads there were in each state, all processes together
-- grain: a snapshot × state
-- source: proc_thread, thread, proc_load
-- caveat: a recording of some processes has only their threads: compare host_thread_count with seen_thread_count to see how many others there were
-- caveat: a state is that of a moment: a thread that runs now and then is mostly seen asleep
-- diff no: thread_census is compared, by process and name
-- plot: intervals thread_count by state_name
-- column ts_ns [ns]: when the first of these threads was read
-- keys: snapshot
-- column is_last: whether it is the last snapshot
-- column state: R, S, D, T, t, I, Z, X as in ps
-- column state_name: the state in a word
-- column thread_count [count]: threads in this state
-- column seen_thread_count [count]: threads of this snapshot in all states
-- column host_thread_count [count]: threads that the host had then, according to /proc/loadavg
-- column is_partial: true if host_thread_count is more than twice seen_thread_count: the capture then has only some processes
WITH counted AS (
  SELECT min(t.ts_ns) AS ts_ns, t.snapshot, t.state, @state_word(t.state) AS state_name, count(*) AS thread_count
  FROM proc_thread AS t
  JOIN thread AS th USING (utid)
  GROUP BY t.snapshot, t.state
), seen AS (
  SELECT *, snapshot = max(snapshot) OVER () AS is_last, (sum(thread_count) OVER (PARTITION BY snapshot))::BIGINT AS seen_count
  FROM counted
), host AS (
  SELECT snapshot, max(thread_count)::BIGINT AS thread_count FROM proc_load GROUP BY snapshot
)
SELECT c.ts_ns, c.snapshot, c.is_last, c.state, c.state_name, c.thread_count,
  c.seen_count AS seen_thread_count, h.thread_count AS host_thread_count, coalesce(h.thread_count > 2 * c.seen_count, false) AS is_partial
FROM seen AS c
LEFT JOIN host AS h USING (snapshot)
ORDER BY c.snapshot, c.thread_count DESC, c.state
