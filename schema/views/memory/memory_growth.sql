-- memory_growth: which processes grow in memory: size at the first and last snapshot, and the straight line through all snapshots
-- grain: a process that is in two or more snapshots
-- source: proc_process, proc_thread, thread, process_name, recorder_thread
-- caveat: a slope from a few seconds says little about an hour: look at fit_ratio, snapshot_count and duration_ns; a warm-up looks like a leak
-- caveat: resident memory includes shared pages; pss_bytes divides them among their users, and anonymous memory is what malloc grows. allocation_by_stack says which stacks make a process grow, if system calls or page faults were recorded
-- caveat: fit_ratio is 1 for a size that never changed
-- diff by: comm
-- diff sum: resident_grown_bytes
-- diff level: swap_last_bytes
-- diff weight: 0.4
-- keys: upid, pid
-- column comm: its name at the last snapshot
-- column snapshot_count [count]: snapshots with its resident memory
-- column duration_ns [ns]: time between the first and the last of these snapshots
-- column resident_first_bytes [bytes]: resident memory at the first snapshot
-- column resident_last_bytes [bytes]: resident memory at the last snapshot
-- column resident_max_bytes [bytes]: the most resident memory in any snapshot
-- column resident_grown_bytes [bytes]: resident_last_bytes less resident_first_bytes; negative if the process shrank
-- column resident_bytes_per_h [bytes/h]: slope of the line through all snapshots
-- column fit_ratio [ratio]: how much of the variation of resident memory the line explains (R²)
-- column anon_first_bytes [bytes]: resident anonymous memory at its first snapshot
-- column anon_last_bytes [bytes]: resident anonymous memory at its last snapshot
-- column anon_bytes_per_h [bytes/h]: slope of the line of anonymous memory
-- column anon_fit_ratio [ratio]: R² of the line of anonymous memory
-- column pss_first_bytes [bytes]: proportional share of memory (PSS) at its first snapshot
-- column pss_last_bytes [bytes]: proportional share of memory (PSS) at its last snapshot
-- column pss_bytes_per_h [bytes/h]: slope of the line of the proportional share
-- column pss_fit_ratio [ratio]: R² of the line of the proportional share
-- column swap_last_bytes [bytes]: swapped out at the last snapshot
WITH seen AS (
  SELECT source_id, snapshot, upid, ts_ns, resident_bytes, coalesce(resident_anon_bytes, anonymous_bytes) AS anon_bytes,
    pss_bytes, swap_bytes
  FROM proc_process
  UNION ALL
  SELECT t.source_id, t.snapshot, th.upid, t.ts_ns, t.resident_bytes, t.resident_anon_bytes, NULL, t.swap_bytes
  FROM proc_thread AS t
  JOIN thread AS th USING (utid)
  WHERE t.tid = t.pid
), size AS (
  SELECT upid, min(ts_ns) AS ts_ns, max(resident_bytes) AS resident_bytes, max(anon_bytes) AS anon_bytes,
    max(pss_bytes) AS pss_bytes, max(swap_bytes) AS swap_bytes
  FROM seen
  WHERE upid IS NOT NULL
  GROUP BY source_id, snapshot, upid
), line AS (
  SELECT upid, count(resident_bytes) AS snapshot_count, max(ts_ns) AS last_ts_ns,
    max(ts_ns) FILTER (resident_bytes IS NOT NULL) - min(ts_ns) FILTER (resident_bytes IS NOT NULL) AS duration_ns,
    arg_min(resident_bytes, ts_ns) AS resident_first_bytes, arg_max(resident_bytes, ts_ns) AS resident_last_bytes,
    max(resident_bytes) AS resident_max_bytes,
    regr_slope(resident_bytes, ts_ns / 3.6e12) AS resident_bytes_per_h,
    regr_r2(resident_bytes, ts_ns / 3.6e12) AS fit_ratio,
    arg_min(anon_bytes, ts_ns) AS anon_first_bytes, arg_max(anon_bytes, ts_ns) AS anon_last_bytes,
    regr_slope(anon_bytes, ts_ns / 3.6e12) AS anon_bytes_per_h, regr_r2(anon_bytes, ts_ns / 3.6e12) AS anon_fit_ratio,
    arg_min(pss_bytes, ts_ns) AS pss_first_bytes, arg_max(pss_bytes, ts_ns) AS pss_last_bytes,
    regr_slope(pss_bytes, ts_ns / 3.6e12) AS pss_bytes_per_h, regr_r2(pss_bytes, ts_ns / 3.6e12) AS pss_fit_ratio,
    arg_max(swap_bytes, ts_ns) AS swap_last_bytes
  FROM size
  GROUP BY upid
)
SELECT
  line.upid, p.pid, p.name AS comm, line.snapshot_count, line.duration_ns,
  resident_first_bytes, resident_last_bytes, resident_max_bytes, resident_last_bytes - resident_first_bytes AS resident_grown_bytes,
  resident_bytes_per_h, fit_ratio, anon_first_bytes, anon_last_bytes, anon_bytes_per_h, anon_fit_ratio,
  pss_first_bytes, pss_last_bytes, pss_bytes_per_h, pss_fit_ratio, swap_last_bytes
FROM line
ASOF LEFT JOIN process_name AS p ON p.upid = line.upid AND p.since_ts_ns <= line.last_ts_ns
WHERE line.snapshot_count >= 2
ORDER BY line.upid IN (SELECT upid FROM recorder_thread WHERE upid IS NOT NULL) IS TRUE, resident_last_bytes - resident_first_bytes DESC, p.pid, line.upid
