-- limit_use: how much of what the kernel limits is in use: memory, swap, open files, processes, tracked connections, TCP memory, orphaned sockets; and of what control groups may have
-- grain: a snapshot × thing that is limited × control group
-- source: proc_sysctl, machine_fact, proc_load, proc_sockstat, memory, cgroup_activity
-- caveat: tracked connections are those of the recorder's network namespace; TCP memory and orphaned sockets are of all namespaces together
-- caveat: the limit is the one at the recording's end, except those of open files and control groups
-- diff no: its sources are compared
-- keys: ts_ns
-- column limited: memory, swap, open files, processes and threads, tracked connections, TCP memory, orphaned TCP sockets, tasks of a control group, memory of a control group
-- as in cgroup_activity: cgroup
-- column used_value [varies]: what is in use: memory of the host that is not available, memory of a group that is no page cache
-- column limit_value [varies]: the most that there can be
-- column unit: count, bytes or pages, of both
-- column used_ratio [ratio]: used_value as a share of limit_value
-- column setting: what sets the limit; NULL for the size of the memory and of the swap space
WITH setting AS (
  SELECT TRY_CAST(max(value) FILTER (key = 'sysctl.net.netfilter.nf_conntrack_max') AS BIGINT) AS conntrack_count,
    least(TRY_CAST(max(value) FILTER (key = 'sysctl.kernel.pid_max') AS BIGINT), TRY_CAST(max(value) FILTER (key = 'sysctl.kernel.threads-max') AS BIGINT)) AS thread_count,
    TRY_CAST(split_part(max(value) FILTER (key = 'sysctl.net.ipv4.tcp_mem'), ' ', 3) AS BIGINT) AS tcp_pages,
    TRY_CAST(max(value) FILTER (key = 'sysctl.net.ipv4.tcp_max_orphans') AS BIGINT) AS orphan_count
  FROM machine_fact
), file AS (
  SELECT source_id, snapshot, min(ts_ns) AS ts_ns, max(value) FILTER (place = 0) - max(value) FILTER (place = 1) AS open_count,
    max(value) FILTER (place = 2) AS limit_count
  FROM proc_sysctl
  WHERE name = 'fs.file-nr'
  GROUP BY source_id, snapshot
), found AS (
  SELECT ts_ns, 'memory' AS limited, NULL AS cgroup, memory_bytes - available_bytes AS used_value, memory_bytes AS limit_value, 'bytes' AS unit, NULL AS setting
  FROM memory
  UNION ALL SELECT ts_ns, 'swap', NULL, swap_used_bytes, swap_total_bytes, 'bytes', NULL FROM memory
  UNION ALL SELECT ts_ns, 'open files', NULL, open_count, limit_count, 'count', 'fs.file-max' FROM file
  UNION ALL
  SELECT l.ts_ns, 'processes and threads', NULL, l.thread_count, s.thread_count, 'count', 'kernel.pid_max and kernel.threads-max'
  FROM proc_load AS l
  CROSS JOIN setting AS s
  UNION ALL
  SELECT c.ts_ns, 'tracked connections', NULL, c.value, s.conntrack_count, 'count', 'net.netfilter.nf_conntrack_max'
  FROM proc_sysctl AS c
  CROSS JOIN setting AS s
  WHERE c.name = 'net.netfilter.nf_conntrack_count' AND c.place = 0
  UNION ALL
  SELECT c.ts_ns, CASE c.name WHEN 'mem' THEN 'TCP memory' ELSE 'orphaned TCP sockets' END, NULL, c.value,
    CASE c.name WHEN 'mem' THEN s.tcp_pages ELSE s.orphan_count END, CASE c.name WHEN 'mem' THEN 'pages' ELSE 'count' END,
    CASE c.name WHEN 'mem' THEN 'net.ipv4.tcp_mem' ELSE 'net.ipv4.tcp_max_orphans' END
  FROM proc_sockstat AS c
  CROSS JOIN setting AS s
  WHERE c.protocol = 'TCP' AND c.name IN ('mem', 'orphan') AND c.netns_inode IS NULL
  UNION ALL SELECT ts_ns + interval_ns, 'tasks of a control group', cgroup, task_count, task_limit_count, 'count', 'pids.max' FROM cgroup_activity
  UNION ALL
  SELECT ts_ns + interval_ns, 'memory of a control group', cgroup, memory_bytes - coalesce(file_bytes, 0), memory_limit_bytes, 'bytes', 'memory.max'
  FROM cgroup_activity
)
SELECT ts_ns, limited, cgroup, used_value::BIGINT AS used_value, limit_value::BIGINT AS limit_value, unit, @ratio(used_value, limit_value) AS used_ratio, setting
FROM found
WHERE used_value >= 0 AND limit_value > 0
ORDER BY ts_ns, limited, cgroup
