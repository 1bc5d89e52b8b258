-- numa_placement: on which NUMA nodes each process has its memory, and where it ran meanwhile
-- grain: a snapshot × process × node on which it has memory or ran
-- source: proc_numa, followed_state, thread, process_name, cpu_node
-- caveat: recorded on request only (perfcase-record --numa-maps); it is the resident memory of all mappings, including file pages that other processes map, too
-- caveat: on_cpu_ns covers the whole capture and is the same for every snapshot; NULL if switches were not recorded or the CPUs' nodes are not known
-- caveat: if a process has memory on one node and runs on another, its accesses are remote only if it uses that memory: this view cannot show which memory is in use
-- diff by: comm, node
-- diff level: resident_bytes, on_cpu_ns
-- as in proc_numa: ts_ns, snapshot, upid, pid
-- column comm: its name at the snapshot
-- as in proc_numa: node, resident_bytes
-- column resident_ratio [ratio]: resident_bytes as a share of its resident memory on all nodes
-- column on_cpu_ns [ns]: time its threads ran on CPUs of the node
-- column on_cpu_ratio [ratio]: on_cpu_ns as a share of the time that they ran on any CPU
WITH ran AS (
  SELECT t.upid, n.node, @total(s.duration_ns) AS on_cpu_ns
  FROM followed_state AS s
  JOIN thread AS t USING (utid)
  JOIN cpu_node AS n USING (cpu)
  WHERE s.state = 'running' AND t.upid IS NOT NULL
  GROUP BY t.upid, n.node
), ran_of AS (
  SELECT upid, sum(on_cpu_ns) AS on_cpu_ns FROM ran GROUP BY upid
), reading AS (
  SELECT source_id, snapshot, upid, any_value(pid) AS pid, min(ts_ns) AS ts_ns, sum(resident_bytes) AS resident_bytes
  FROM proc_numa
  GROUP BY source_id, snapshot, upid
), place AS (
  SELECT source_id, snapshot, upid, node, @total(resident_bytes) AS resident_bytes
  FROM (
    SELECT source_id, snapshot, upid, node, resident_bytes FROM proc_numa
    UNION ALL
    SELECT g.source_id, g.snapshot, g.upid, r.node, 0 FROM reading AS g JOIN ran AS r USING (upid)
  )
  GROUP BY source_id, snapshot, upid, node
)
SELECT
  g.ts_ns, x.snapshot, x.upid, g.pid, p.name AS comm, x.node, x.resident_bytes,
  @ratio(x.resident_bytes, g.resident_bytes) AS resident_ratio,
  CASE WHEN o.on_cpu_ns IS NOT NULL THEN coalesce(r.on_cpu_ns, 0) END AS on_cpu_ns,
  @ratio(coalesce(r.on_cpu_ns, 0), o.on_cpu_ns) AS on_cpu_ratio
FROM place AS x
JOIN reading AS g USING (source_id, snapshot, upid)
ASOF LEFT JOIN process_name AS p ON p.upid = x.upid AND p.since_ts_ns <= g.ts_ns
LEFT JOIN ran AS r ON r.upid = x.upid AND r.node = x.node
LEFT JOIN ran_of AS o ON o.upid = x.upid
ORDER BY g.ts_ns, x.source_id, g.pid, x.upid, x.node
