-- process_command: how each recorded process was started: command line, control group, network namespace, parent, as ps -ef shows it
-- grain: a process, from the time at which it was first seen with this command line, control group and network namespace
-- source: proc_command, process, process_name
-- caveat: these files are read at a lower rate than the other snapshots: a short-lived process has no row, and a change has the time at which it was seen
-- caveat: some programs write into their command line what they do (PostgreSQL's update_process_title): a change that no snapshot saw has no row
-- caveat: arguments are joined by spaces and cut at 4 KiB; kernel threads have none
-- diff no: names, no figures
-- column ts_ns [ns]: when this was first seen
-- column until_ts_ns [ns]: when something else was first seen; NULL: never
-- keys: upid, pid
-- column comm: its name when this was first seen
-- as in process: parent_upid
-- column parent_pid: the parent's process id
-- column parent_comm: the parent's name then
-- as in process: start_ts_ns, end_ts_ns
-- as in proc_command: command_line, cgroup, netns_inode
SELECT
  c.ts_ns, lead(c.ts_ns) OVER w AS until_ts_ns, c.upid, c.pid, n.name AS comm,
  p.parent_upid, q.pid AS parent_pid, q.name AS parent_comm, p.start_ts_ns, p.end_ts_ns, c.command_line, c.cgroup, c.netns_inode
FROM proc_command AS c
LEFT JOIN process AS p ON p.upid = c.upid
ASOF LEFT JOIN process_name AS n ON n.upid = c.upid AND n.since_ts_ns <= c.ts_ns
ASOF LEFT JOIN process_name AS q ON q.upid = p.parent_upid AND q.since_ts_ns <= c.ts_ns
WINDOW w AS (PARTITION BY c.source_id, c.upid ORDER BY c.ts_ns, c.snapshot)
ORDER BY c.pid, c.upid, c.source_id, c.ts_ns, c.snapshot
