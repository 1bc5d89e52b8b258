-- stuck_thread: A thread sleeps for seconds in a call that should not take so long
-- condition: a thread of the workload, not of the kernel nor of a helper that the kernel started (modprobe: who needs it waits,
--   and counts), was in uninterruptible sleep without a break for 2 s or longer, by its context switches or, where it did not run
--   at all, by snapshots that all say D with the same number of runs; or it slept for 2 s or longer in one call that is no wait for
--   work: a sync, a lock of a file, connect, a write to a socket, close, or a call about names, mappings or mounts. accept, poll,
--   reads of sockets, pipes and terminals, futex, sleeps, signals and children (vfork too) are waits for work. A warning, critical
--   from 10 s. The kernel itself reports such sleeps from 120 s (hung_task_timeout_secs in its documentation)
-- means: a disk, a file server or another holder of a lock does not answer. Signals, even SIGKILL, do not end an uninterruptible
--   sleep. All that need this thread, or a lock that it holds, wait as well
-- next: perfcase view slow_syscalls, syscall_log: the call and what came before
-- next: perfcase view off_cpu_by_stack: where it sleeps
-- next: perfcase view block_latency, disk_utilization, kernel_log: whether a disk is the cause
-- about: the disks that threads of the process waited for as long, and sleeps of the process
-- follows from: disk_peaks, disk_queueing, disk_slow, stopped, waits_above_disk
-- taught by: -
-- source: blame, block_device, descriptor, followed_state, frame_label, proc_thread, process, recorded_span, stack_entry, syscall,
--   thread, workload_thread
-- evidence: SELECT t.comm, t.tid, s.state, s.ts_ns, s.duration_ns, s.is_open, s.stack_id FROM followed_state AS s JOIN thread AS t USING (utid)
--   WHERE s.state = 'disk_sleep' AND s.duration_ns >= 2000000000 ORDER BY s.duration_ns DESC, s.ts_ns, t.tid
WITH threshold AS (
  SELECT 2000000000 AS asleep_ns, 10000000000 AS critical_ns
), of_kernel AS (
  -- 2097152 is PF_KTHREAD.
  SELECT utid, any_value(tid) AS tid FROM proc_thread WHERE flags & 2097152 <> 0 GROUP BY utid
), member AS (
  SELECT w.utid, w.tid, w.upid, w.pid, w.comm
  FROM workload_thread AS w
  WHERE w.utid NOT IN (SELECT utid FROM of_kernel)
    AND w.utid NOT IN (SELECT utid FROM proc_thread WHERE parent_pid IN (SELECT tid FROM of_kernel))
), slept AS (
  SELECT s.utid, s.ts_ns, s.ts_ns + s.duration_ns AS end_ns, s.duration_ns, s.is_open, s.stack_id
  FROM followed_state AS s
  CROSS JOIN threshold AS h
  WHERE s.state = 'disk_sleep' AND s.duration_ns >= h.asleep_ns AND s.utid IN (SELECT utid FROM member)
), entered AS (
  SELECT utid, name, ts_ns, coalesce(exit_ts_ns, 9223372036854775807) AS end_ns, descriptor_id
  FROM syscall
  WHERE pairing <> 'exit_only' AND utid IN (SELECT utid FROM slept)
), slept_in AS (
  SELECT s.*, CASE WHEN e.end_ns >= s.end_ns THEN e.name END AS name, CASE WHEN e.end_ns >= s.end_ns THEN e.descriptor_id END AS descriptor_id
  FROM slept AS s
  ASOF LEFT JOIN entered AS e ON e.utid = s.utid AND e.ts_ns <= s.ts_ns
), called AS (
  SELECT y.utid, y.name, y.ts_ns, coalesce(y.exit_ts_ns, c.end_ts_ns) AS end_ns, y.exit_ts_ns IS NULL AS is_open, y.descriptor_id
  FROM syscall AS y
  CROSS JOIN threshold AS h
  JOIN recorded_span AS c ON c.table_name = 'syscall'
  LEFT JOIN descriptor AS d USING (descriptor_id)
  WHERE (y.duration_ns >= h.asleep_ns OR y.pairing = 'enter_only' AND y.cut_at = 'end' AND c.end_ts_ns - y.ts_ns >= h.asleep_ns)
    AND y.utid IN (SELECT utid FROM member)
    AND (y.name IN ('fsync', 'fdatasync', 'sync', 'syncfs', 'sync_file_range', 'msync', 'flock', 'fcntl', 'fcntl64', 'close', 'fallocate', 'ftruncate',
        'truncate', 'stat', 'lstat', 'fstat', 'newfstatat', 'fstatat64', 'statx', 'statfs', 'fstatfs', 'access', 'faccessat', 'faccessat2', 'getdents', 'getdents64', 'unlink',
        'unlinkat', 'rename', 'renameat', 'renameat2', 'link', 'linkat', 'symlink', 'symlinkat', 'readlink', 'readlinkat', 'mkdir', 'mkdirat', 'rmdir', 'chdir',
        'mount', 'umount2', 'execve', 'execveat', 'mmap', 'mmap2', 'munmap', 'mremap', 'madvise', 'mprotect', 'brk')
      OR y.name = 'connect' AND coalesce(y.ret, 0) = 0
      OR y.name IN ('write', 'writev', 'send', 'sendto', 'sendmsg', 'sendmmsg', 'sendfile', 'sendfile64') AND d.kind = 'socket')
), called_asleep AS (
  SELECT y.utid, y.name, y.ts_ns, y.end_ns, y.is_open, y.descriptor_id, sum(s.duration_ns) AS asleep_ns,
    max(s.duration_ns) FILTER (s.state = 'disk_sleep') AS deaf_ns, arg_max(s.stack_id, s.duration_ns) AS stack_id
  FROM called AS y
  JOIN followed_state AS s ON s.utid = y.utid AND s.ts_ns >= y.ts_ns AND s.ts_ns < y.end_ns AND s.state IN ('sleeping', 'disk_sleep')
  GROUP BY y.utid, y.name, y.ts_ns, y.end_ns, y.is_open, y.descriptor_id
), seen AS (
  -- Who did not run between two readings has the same number of runs.
  SELECT utid, min(ts_ns) AS ts_ns, max(ts_ns) AS end_ns, max(snapshot) = (SELECT max(snapshot) FROM proc_thread) AS is_open
  FROM proc_thread
  WHERE run_count IS NOT NULL AND utid IN (SELECT utid FROM member) AND utid NOT IN (SELECT utid FROM slept UNION ALL SELECT utid FROM called)
  GROUP BY utid, run_count
  HAVING bool_and(state = 'D')
), stuck AS (
  SELECT utid, name, duration_ns, is_open, descriptor_id, stack_id, true AS is_deaf
  FROM slept_in
  WHERE coalesce(name, '') NOT IN ('vfork', 'clone', 'clone3')
  UNION ALL
  SELECT y.utid, y.name, y.asleep_ns, y.is_open, y.descriptor_id, y.stack_id, false
  FROM called_asleep AS y
  CROSS JOIN threshold AS h
  -- A sleep that counts by itself is in slept_in.
  WHERE y.asleep_ns >= h.asleep_ns AND coalesce(y.deaf_ns, 0) < h.asleep_ns
  UNION ALL
  SELECT s.utid, NULL, s.end_ns - s.ts_ns, s.is_open, NULL, NULL, true
  FROM seen AS s
  CROSS JOIN threshold AS h
  WHERE s.end_ns - s.ts_ns >= h.asleep_ns
), named AS (
  SELECT s.*, m.upid, m.pid, m.tid, m.comm, coalesce(p.name, m.comm) AS process, coalesce(d.peer, d.target, d.label) AS target
  FROM stuck AS s
  JOIN member AS m USING (utid)
  LEFT JOIN process AS p USING (upid)
  LEFT JOIN descriptor AS d USING (descriptor_id)
), total AS (
  SELECT upid, pid, process, name, target, is_deaf, count(*) AS time_count, count(DISTINCT utid) AS thread_count, sum(duration_ns) AS asleep_ns,
    max(duration_ns) AS longest_ns, count(*) FILTER (is_open) AS open_count,
    arg_max({comm: comm, tid: tid, stack_id: stack_id}, (duration_ns, tid)) AS longest
  FROM named
  GROUP BY upid, pid, process, name, target, is_deaf
), disk AS (
  SELECT t.upid, list(DISTINCT 'disk ' || v.device_name) AS disks
  FROM blame AS b
  JOIN thread AS t USING (utid)
  JOIN block_device AS v USING (device)
  CROSS JOIN threshold AS h
  WHERE b.cause = 'disk' AND b.duration_ns >= h.asleep_ns
  GROUP BY t.upid
), place AS (
  SELECT e.stack_id, list_filter(list(l.label ORDER BY e.position DESC), lambda f: NOT regexp_matches(f, 'schedule|sched_switch|perf_')) AS labels
  FROM stack_entry AS e
  JOIN frame_label AS l USING (frame_id)
  WHERE e.stack_id IN (SELECT longest.stack_id FROM total)
  GROUP BY e.stack_id
)
SELECT
  @severity(x.longest_ns >= h.critical_ns, true) AS severity,
  format('{} ({})', coalesce(x.process, '?'), coalesce(x.pid::VARCHAR, '?')) AS subject,
  format('{} {}{}{}: {}the longest {:.2f} s, of the thread {} ({}); {}{}',
    CASE x.thread_count WHEN 1 THEN 'a thread' ELSE x.thread_count || ' threads' END,
    CASE WHEN x.is_deaf THEN 'slept uninterruptibly' ELSE 'slept' END,
    CASE WHEN x.name IS NULL THEN '' ELSE ' in ' || x.name END,
    CASE WHEN x.target IS NULL THEN '' ELSE ' on ' || x.target END,
    CASE x.time_count WHEN 1 THEN '' ELSE x.time_count || ' times, ' END,
    x.longest_ns / 1e9, coalesce(x.longest.comm, '?'), x.longest.tid,
    CASE x.open_count WHEN 0 THEN CASE x.time_count WHEN 1 THEN 'it ended' ELSE 'all ended' END WHEN x.time_count THEN 'it had not ended when the recording did' ELSE x.open_count || ' had not ended when the recording did' END,
    CASE WHEN len(l.labels) > 0 THEN '; it slept in ' || array_to_string(l.labels[-4:], ' > ') ELSE '' END) AS message,
  @whole(x.asleep_ns) AS cost_ns, coalesce(k.disks, []) || ['sleeps of process ' || x.upid] AS about
FROM total AS x
CROSS JOIN threshold AS h
JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
LEFT JOIN disk AS k USING (upid)
LEFT JOIN place AS l ON l.stack_id = x.longest.stack_id
