-- network_namespace: the network namespaces that recorded processes were in, each with the process that tells best what it is
-- grain: a network namespace
-- source: proc_command, process
-- caveat: from files that are read at a lower rate than the other snapshots: a process that ended before has no row, and its namespace may have none
-- caveat: proc_net_counter and proc_sockstat have NULL for the recorder's own, as a rule the host's, which is here with its inode
-- diff no: names, no figures
-- as in proc_command: netns_inode
-- column process: the name that most of its processes have; of several, that of the process which began last: who makes a namespace for others comes first
-- column pid: the first process of this name
-- column process_count [count]: its processes, those that ended among them
WITH member AS (
  SELECT DISTINCT c.netns_inode, c.upid, c.pid, p.name, p.start_ts_ns
  FROM proc_command AS c
  LEFT JOIN process AS p USING (upid)
  WHERE c.netns_inode IS NOT NULL
), named AS (
  SELECT netns_inode, name, count(*) AS process_count, arg_min(pid, (coalesce(start_ts_ns, -9223372036854775808), pid)) AS pid,
    max(coalesce(start_ts_ns, -9223372036854775808)) AS last_ns, max(pid) AS last_pid
  FROM member
  GROUP BY netns_inode, name
)
SELECT netns_inode, arg_max(name, (name IS NOT NULL, process_count, last_ns, last_pid)) AS process,
  arg_max(pid, (name IS NOT NULL, process_count, last_ns, last_pid)) AS pid, sum(process_count)::BIGINT AS process_count
FROM named
GROUP BY netns_inode
ORDER BY netns_inode
