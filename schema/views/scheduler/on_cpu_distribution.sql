-- on_cpu_distribution: how long threads stayed on a CPU each time they got one (cpudist), as a histogram in powers of two
-- grain: a power of two, a process and a name that it had
-- source: followed_state, thread, thread_name, process_name
-- caveat: only stays with both ends in the capture count
-- caveat: threads of unknown processes are together in one row with a NULL upid
-- diff by: process
-- diff sum: on_cpu_ns, run_count, involuntary_count
-- diff median: bucket_min_ns by run_count
-- diff apart: bucket_min_ns
-- diff weight: 0.42
-- chart histograms 2: Time on a CPU at a stretch: run_count as stretches by process
-- keys: upid, pid
-- column process: the process's name when the thread left the CPU
-- column bucket_min_ns [ns]: the range begins at this value: 0, 2, 4, 8, …
-- column bucket_max_ns [ns]: the range ends before this value: 2, 4, 8, 16, …
-- column run_count [count]: number of stays on a CPU
-- column involuntary_count [count]: how many of them ended while the thread could have run on
-- column on_cpu_ns [ns]: time of these stays together
SELECT
  t.upid, p.pid, CASE WHEN t.tid = p.pid THEN coalesce(n.comm, p.name) ELSE p.name END AS process,
  @bucket_min(s.duration_ns) AS bucket_min_ns,
  @bucket_max(s.duration_ns) AS bucket_max_ns,
  count(*) AS run_count,
  count(*) FILTER (s.next_state IN ('runnable', 'runnable_preempted')) AS involuntary_count,
  @total(s.duration_ns) AS on_cpu_ns
FROM followed_state AS s
JOIN thread AS t USING (utid)
ASOF LEFT JOIN process_name AS p ON p.upid = t.upid AND p.since_ts_ns <= s.ts_ns + s.duration_ns
LEFT JOIN thread_name AS n ON n.name_id = s.name_id
WHERE s.state = 'running' AND NOT s.is_open
GROUP BY ALL
ORDER BY t.upid, process, bucket_min_ns
