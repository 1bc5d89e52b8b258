-- stopped: A process was stopped: by a signal, a debugger or the freezer of its control group
-- condition: a thread of the workload was stopped (state T: SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU in signal(7)) or traced (state t: ptrace(2), as by a debugger or
--   strace), or slept as the freezer of a control group told it (docker pause; the callchain of who woke it before or after says so, or a snapshot of where it waits: cgroups/freezer-subsystem.rst, cgroup-v2.rst of the kernel) for 1 s or longer without a break, or again and again for a tenth of the recording and 1 s in all (as
--   cpulimit does), or by who traces it 100 times a second or more, however short: strace stops it twice at each system call (PTRACE_SYSCALL), where a person at a debugger does not; by its context switches or, where it did not run at all, by snapshots after the first one that all say so with the same
--   number of runs. A warning; critical if others waited for it for a tenth of the workload's time; a note if nobody was seen to wait for it, as for a job that its user has suspended. Each waited
--   for it as far as blame follows the wait to it
-- means: it does nothing and answers nobody until it is continued (SIGCONT). Connections to it are accepted by the kernel and requests queue up
--   there, so that its clients see no error
-- next: perfcase view blame_by_comm: who waited for it
-- next: perfcase sql: the evidence: when, and which thread continued it
-- next: on the host: ps -o pid,ppid,stat,comm; TracerPid in /proc/PID/status names a debugger
-- about: the requests at its addresses, and sleeps of the process
-- taught by: -
-- source: blame, followed_state, frame, proc_thread, process, recorded_span, service_address, stack_entry, thread, workload_thread, workload_time
-- evidence: SELECT t.comm, t.tid, s.state, s.ts_ns, s.duration_ns, s.is_open, w.comm AS continued_by FROM followed_state AS s JOIN thread AS t USING (utid)
--   LEFT JOIN thread AS w ON w.utid = s.waker_utid WHERE s.state IN ('stopped', 'traced') ORDER BY s.duration_ns DESC, s.ts_ns, t.tid
WITH threshold AS (
  SELECT 1000000000 AS stopped_ns, 0.1 AS often_ratio, 100 AS traced_per_s, 0.1 AS critical_ratio, 10000000 AS freezing_ns
), freezer AS (
  SELECT DISTINCT e.stack_id
  FROM stack_entry AS e
  JOIN frame AS f USING (frame_id)
  WHERE f.symbol IN ('freeze_task', '__thaw_task', 'unfreeze_cgroup', 'cgroup_freeze_task', 'cgroup_do_freeze')
), asleep AS (
  SELECT s.*
  FROM followed_state AS s
  CROSS JOIN threshold AS h
  WHERE s.state IN ('disk_sleep', 'sleeping') AND s.duration_ns >= h.stopped_ns AND s.utid IN (SELECT utid FROM workload_thread)
), seen_frozen AS (
  -- Version 1 and version 2 of control groups: kernel/freezer.c, kernel/signal.c.
  SELECT utid, ts_ns FROM proc_thread WHERE wait_channel IN ('__refrigerator', 'do_freezer_trap')
), often AS (
  SELECT s.utid, s.state, min(s.ts_ns) AS ts_ns, sum(s.duration_ns) AS duration_ns, false AS is_open,
    mode(s.waker_utid ORDER BY s.waker_utid) AS waker_utid, count(*) AS stop_count
  FROM followed_state AS s
  CROSS JOIN threshold AS h
  WHERE s.state IN ('stopped', 'traced') AND s.utid IN (SELECT utid FROM workload_thread)
  GROUP BY s.utid, s.state
  HAVING max(s.duration_ns) < any_value(h.stopped_ns) AND (sum(s.duration_ns) >= any_value(h.stopped_ns)
      AND sum(s.duration_ns) >= any_value(h.often_ratio) * (SELECT max(duration_ns) FROM recorded_span WHERE table_name = 'thread_state')
    OR s.state = 'traced' AND count(*) >= any_value(h.traced_per_s) * (SELECT max(duration_ns) FROM recorded_span WHERE table_name = 'thread_state') / 1e9)
), held AS (
  FROM often
  UNION ALL
  SELECT s.utid, s.state, s.ts_ns, s.duration_ns, s.is_open, s.waker_utid, 1
  FROM followed_state AS s
  CROSS JOIN threshold AS h
  WHERE s.state IN ('stopped', 'traced') AND s.duration_ns >= h.stopped_ns AND s.utid IN (SELECT utid FROM workload_thread)
  UNION ALL
  SELECT s.utid, 'frozen', s.ts_ns, s.duration_ns, s.is_open, s.waker_utid, 1
  FROM asleep AS s
  ASOF LEFT JOIN (SELECT utid, ts_ns + duration_ns AS end_ns FROM followed_state WHERE waker_stack_id IN (SELECT stack_id FROM freezer)) AS b
    ON b.utid = s.utid AND b.end_ns <= s.ts_ns
  CROSS JOIN threshold AS h
  -- The freezer wakes it so that it freezes at once, or it thaws it.
  WHERE s.ts_ns - b.end_ns < h.freezing_ns OR s.waker_stack_id IN (SELECT stack_id FROM freezer)
    OR EXISTS (FROM seen_frozen AS r WHERE r.utid = s.utid AND r.ts_ns BETWEEN s.ts_ns AND s.ts_ns + s.duration_ns)
  UNION ALL
  -- Who did not run between two readings has the same number of runs. Who was stopped before the first reading was so before the incident: a suspended
  -- job, or one that is held until the recording begins.
  SELECT utid, CASE min(state) WHEN 'T' THEN 'stopped' ELSE 'traced' END, min(ts_ns), max(ts_ns) - min(ts_ns), max(snapshot) = (SELECT max(snapshot) FROM proc_thread), NULL, 1
  FROM proc_thread
  WHERE run_count IS NOT NULL AND utid IN (SELECT utid FROM workload_thread)
    AND utid NOT IN (SELECT utid FROM followed_state WHERE state IN ('stopped', 'traced'))
  GROUP BY utid, run_count
  HAVING min(snapshot) > (SELECT min(snapshot) FROM proc_thread) AND bool_and(state IN ('T', 't')) AND min(state) = max(state) AND max(ts_ns) - min(ts_ns) >= (SELECT stopped_ns FROM threshold)
), of_process AS (
  SELECT t.upid, s.state, count(DISTINCT s.utid) AS thread_count, max(s.duration_ns) AS longest_ns, arg_max(s.ts_ns, (s.duration_ns, -s.ts_ns)) AS ts_ns,
    arg_max(s.is_open, (s.duration_ns, -s.ts_ns)) AS is_open, arg_max(s.stop_count, (s.duration_ns, -s.ts_ns, s.stop_count)) AS stop_count,
    arg_max(w.comm || ' (' || w.tid || ')', (s.duration_ns, -s.ts_ns, w.tid)) AS continued_by
  FROM held AS s
  JOIN thread AS t USING (utid)
  LEFT JOIN thread AS w ON w.utid = s.waker_utid
  WHERE t.upid IS NOT NULL
  GROUP BY t.upid, s.state
), waited AS (
  SELECT o.upid, sum(b.duration_ns) AS wait_ns, arg_max(t.comm, (b.duration_ns, t.comm)) AS comm
  FROM blame AS b
  JOIN thread AS t USING (utid)
  JOIN thread AS o ON o.utid = b.on_utid
  WHERE b.cause = 'stopped' AND b.utid <> b.on_utid AND b.utid IN (SELECT utid FROM workload_thread)
  GROUP BY o.upid
  UNION ALL
  -- Blame follows a frozen thread to who thawed it.
  SELECT f.upid, sum(b.duration_ns), arg_max(t.comm, (b.duration_ns, t.comm))
  FROM of_process AS f
  JOIN thread AS o ON o.upid = f.upid
  JOIN blame AS b ON b.waker_utid = o.utid AND b.utid <> o.utid
  JOIN thread AS t ON t.utid = b.utid
  WHERE f.state = 'frozen' AND b.utid IN (SELECT utid FROM workload_thread) AND b.ts_ns < f.ts_ns + f.longest_ns AND b.ts_ns + b.duration_ns > f.ts_ns
  GROUP BY f.upid
)
SELECT
  @severity(w.wait_ns >= h.critical_ratio * x.total_ns, w.wait_ns > 0) AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} {} {:.2f} s{}, from {:.2f} s on{}{}{}', CASE f.state WHEN 'stopped' THEN 'it was stopped' WHEN 'frozen' THEN 'it was frozen with its control group' ELSE 'it was stopped by who traces it' END,
    CASE WHEN f.stop_count = 1 THEN 'for' ELSE format('{} times,', @whole(f.stop_count)) END, f.longest_ns / 1e9, CASE WHEN f.stop_count = 1 THEN '' ELSE ' in all' END, f.ts_ns / 1e9,
    CASE WHEN f.thread_count = 1 THEN '' ELSE format(' ({} of its threads)', f.thread_count) END,
    CASE WHEN f.is_open THEN ', and still was when the recording ended' ELSE coalesce(CASE WHEN f.stop_count = 1 THEN ', until ' ELSE ', each time until ' END || f.continued_by || ' continued it', '') END,
    CASE WHEN w.wait_ns > 0 THEN format('; others waited {:.2f} s for it, most {}', w.wait_ns / 1e9, w.comm) ELSE '; nobody was seen to wait for it' END) AS message,
  @whole(coalesce(w.wait_ns, 0)) AS cost_ns, coalesce((SELECT list('requests of ' || a.address) FROM service_address AS a WHERE a.upid = f.upid), []) || ['sleeps of process ' || f.upid] AS about
FROM of_process AS f
JOIN process AS p USING (upid)
LEFT JOIN (SELECT upid, sum(wait_ns) AS wait_ns, arg_max(comm, (wait_ns, comm)) AS comm FROM waited GROUP BY upid) AS w USING (upid)
CROSS JOIN threshold AS h
LEFT JOIN workload_time AS x ON true
