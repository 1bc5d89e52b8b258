-- thread_census_by_state: how many threads there were in each state, all processes together
-- grain: a snapshot × state
-- source: thread_census, proc_load
-- caveat: a recording of some processes has only their threads: compare host_thread_count with seen_thread_count to see how many others there were
-- caveat: a state is that of a moment: a thread that runs now and then is mostly seen asleep
-- diff no: thread_census is compared, by process and name
-- plot: intervals thread_count by state_name
-- as in thread_census: ts_ns
-- keys: snapshot
-- as in thread_census: is_last
-- column state: R, S, D, T, t, I, Z, X as in ps
-- as in thread_census: state_name
-- column thread_count [count]: threads in this state
-- column seen_thread_count [count]: threads of this snapshot in all states
-- column host_thread_count [count]: threads that the host had then, according to /proc/loadavg
-- column is_partial: true if host_thread_count is more than twice seen_thread_count: the capture then has only some processes
WITH counted AS (
  SELECT min(ts_ns) AS ts_ns, snapshot, state, state_name, bool_or(is_last) AS is_last, @total(thread_count) AS thread_count
  FROM thread_census
  GROUP BY snapshot, state, state_name
), seen AS (
  SELECT *, (sum(thread_count) OVER (PARTITION BY snapshot))::BIGINT AS seen_count FROM counted
), host AS (
  SELECT snapshot, max(thread_count)::BIGINT AS thread_count FROM proc_load GROUP BY snapshot
)
SELECT c.ts_ns, c.snapshot, c.is_last, c.state, c.state_name, c.thread_count,
  c.seen_count AS seen_thread_count, h.thread_count AS host_thread_count, coalesce(h.thread_count > 2 * c.seen_count, false) AS is_partial
FROM seen AS c
LEFT JOIN host AS h USING (snapshot)
ORDER BY c.snapshot, c.thread_count DESC, c.state
