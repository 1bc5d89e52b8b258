-- unreaped_children: A process does not wait for its children that have ended: they stay as zombies
-- condition: 10 or more children of a process had ended and were not waited for (state Z) in two readings of /proc that are a second or more apart. A
--   warning from 100 on, else a note. Without a cost: a zombie uses neither CPU nor memory. wait(2), NOTES: as long as it is not waited for, it "will
--   consume a slot in the kernel process table, and if this table fills, it will not be possible to create further processes". The pids limit of
--   a control group counts it, too
-- means: in the end the process, its control group or its user can start nothing more. The program lacks a wait for each child (a handler
--   of SIGCHLD, subprocess' wait), or it is the first process of a container and was not made for that: whose parent has ended is its child
-- next: perfcase view process_activity: the parent, and whether it still starts children
-- next: on the host: ps -eo stat,ppid,pid,comm | grep ^Z. They are gone when the parent ends
-- about: the tasks of the process that does not wait
-- taught by: -
-- source: proc_process, process, recorder_thread, thread
-- evidence: SELECT parent_pid, snapshot, min(ts_ns) AS ts_ns, count(*) AS zombie_count FROM proc_process WHERE state = 'Z' GROUP BY ALL ORDER BY parent_pid, snapshot
WITH threshold AS (
  SELECT 1000000000 AS unreaped_ns, 10 AS zombie_count, 100 AS warning_count
), zombie AS (
  SELECT source_id, upid, parent_pid, min(ts_ns) AS since_ns, max(ts_ns) AS until_ns, any_value(comm) AS comm
  FROM proc_process
  WHERE state = 'Z' AND upid IS NOT NULL AND parent_pid > 0
  GROUP BY source_id, upid, parent_pid
), counted AS (
  SELECT z.source_id, z.parent_pid, count(*) FILTER (z.until_ns - z.since_ns >= h.unreaped_ns) AS unreaped_count, mode(z.comm ORDER BY z.comm) AS comm
  FROM zombie AS z
  CROSS JOIN threshold AS h
  GROUP BY z.source_id, z.parent_pid
), reading AS (
  SELECT source_id, parent_pid, snapshot, min(ts_ns) AS ts_ns, count(*) AS zombie_count
  FROM proc_process
  WHERE state = 'Z' AND parent_pid > 0
  GROUP BY source_id, parent_pid, snapshot
), grown AS (
  SELECT source_id, parent_pid, arg_max(zombie_count, ts_ns) AS last_count, max(ts_ns) AS last_ns, arg_min(zombie_count, ts_ns) AS first_count, min(ts_ns) AS first_ns
  FROM reading
  GROUP BY source_id, parent_pid
), parent AS (
  SELECT pid, max(upid) AS upid FROM process GROUP BY pid
)
SELECT
  @severity(false, c.unreaped_count >= h.warning_count) AS severity, format('{} ({})', coalesce(p.name, '?'), c.parent_pid) AS subject,
  format('{} of its children were zombies at {:.2f} s, most of them {}: it does not wait for them; {} were so for a second or longer{}', @whole(g.last_count), g.last_ns / 1e9, coalesce(c.comm, '?'), @whole(c.unreaped_count),
    CASE WHEN g.last_count > g.first_count THEN format('; {:.1f} more per second', 1e9 * (g.last_count - g.first_count) / (g.last_ns - g.first_ns)) ELSE '' END) AS message,
  ['threads of process ' || o.upid] AS about
FROM counted AS c
JOIN grown AS g USING (source_id, parent_pid)
LEFT JOIN parent AS o ON o.pid = c.parent_pid
LEFT JOIN process AS p ON p.upid = o.upid
CROSS JOIN threshold AS h
WHERE c.unreaped_count >= h.zombie_count AND c.parent_pid NOT IN (SELECT t.pid FROM recorder_thread AS r JOIN thread AS t USING (utid) WHERE t.pid IS NOT NULL)
