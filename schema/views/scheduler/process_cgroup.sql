-- process_cgroup: in which control group each process was, and since when
-- grain: a process × control group that it was in
-- source: proc_command, process
-- caveat: from files that are read at a lower rate than the other snapshots: a change has the time at which it was seen
-- caveat: if a process ended before it was looked at, it counts in the group of the process that forked it: that is right if it was not moved (a service that has just been started is moved by the process that started it)
-- diff no: names, no figures
-- keys: upid
-- column since_ts_ns [ns]: when it was first seen in the group; the first group also holds for the time before, so it has the smallest number there is
-- as in proc_command: cgroup
-- column is_inherited: true if the group is that of the process's nearest ancestor that was looked at
WITH RECURSIVE known AS (
  SELECT upid, cgroup, CASE WHEN row_number() OVER w = 1 THEN -9223372036854775808 ELSE ts_ns END AS since_ts_ns
  FROM proc_command
  WHERE cgroup IS NOT NULL
  WINDOW w AS (PARTITION BY upid ORDER BY ts_ns, source_id, snapshot)
), ancestor (upid, above) AS (
  SELECT p.upid, p.parent_upid
  FROM process AS p
  ANTI JOIN known AS k ON k.upid = p.upid
  WHERE p.parent_upid IS NOT NULL
  UNION
  SELECT a.upid, p.parent_upid
  FROM ancestor AS a
  JOIN process AS p ON p.upid = a.above
  ANTI JOIN known AS k ON k.upid = a.above
  WHERE p.parent_upid IS NOT NULL
), child AS (
  SELECT a.upid, a.above, coalesce(p.start_ts_ns, -9223372036854775808) AS start_ns
  FROM ancestor AS a
  JOIN process AS p ON p.upid = a.upid
)
SELECT upid, since_ts_ns, cgroup, false AS is_inherited FROM known
UNION ALL
SELECT c.upid, -9223372036854775808 AS since_ts_ns, k.cgroup, true AS is_inherited
FROM child AS c
ASOF JOIN known AS k ON k.upid = c.above AND k.since_ts_ns <= c.start_ns
ORDER BY upid, since_ts_ns
