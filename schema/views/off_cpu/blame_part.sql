-- blame_part: each part of a wait of a thread with work, what it is due to in words, and who ended the wait
-- grain: a part of a wait
-- source: blame, thread, thread_name, descriptor, block_device
-- caveat: a wait is replaced by what its waker did meanwhile, and so on, over at most 20 wakers; of waits without known work only those are here that a running thread, a taken CPU or a disk kept up
-- diff no: single waits; blame_by_comm adds them up
-- as in blame: ts_ns, duration_ns, utid
-- keys: tid, pid
-- column comm: the name of the thread then
-- as in blame: work, call
-- column target: what the call was about: a connection's other end, a file; NULL where it was about nothing, or it is not known
-- as in blame: stack_id
-- column waker_utid: the thread that ended the wait; NULL where an interrupt or nobody did, or it is not known
-- column waker_tid: its thread id
-- column waker_comm: its last known name
-- column kind: the kind of cause: thread (another ran), lock (the same, while utid was in futex, flock or another call that waits for a lock), run_queue, disk, peer (data of another end), timer (a sleep that was asked for, or a time that ran out), idle (a thread with nothing to do), other (a device without a name, a stop, no end in the capture, what is not known)
-- as in blame: cause
-- column due: what the time is due to, in words
-- as in blame: on_utid
-- column on_tid: the thread id of the thread in on_utid
-- column on_comm: the name of the thread in on_utid then
-- as in blame: on_call
-- column on_target: what on_call was about: a connection's other end, a file, a block device
-- as in blame: on_cpu, depth
SELECT b.ts_ns, b.duration_ns, b.utid, t.tid, t.pid, coalesce(n.comm, t.comm) AS comm, b.work, b.call, coalesce(e.peer, e.target, e.kind) AS target,
  b.stack_id, w.utid AS waker_utid, w.tid AS waker_tid, w.comm AS waker_comm,
  CASE
    WHEN b.cause = 'running' AND b.call IN ('futex', 'futex_wait', 'futex_waitv', 'flock', 'fcntl', 'semop', 'semtimedop') THEN 'lock'
    WHEN b.cause = 'running' THEN 'thread'
    WHEN b.cause IN ('cpu_taken', 'cpu_idle', 'quota') THEN 'run_queue'
    WHEN b.cause = 'disk' THEN 'disk'
    WHEN b.cause = 'network' THEN 'peer'
    WHEN b.cause IN ('sleep', 'timeout', 'alarm') THEN 'timer'
    WHEN b.cause = 'no_work' THEN 'idle'
    ELSE 'other'
  END AS kind,
  b.cause,
  @due(coalesce(n.comm, t.comm), b.cause, coalesce(k.comm, o.comm),
    CASE WHEN b.device IS NOT NULL THEN coalesce(v.device_name, b.device) ELSE coalesce(d.peer, d.target, d.kind) END, b.on_call) AS due,
  b.on_utid, o.tid AS on_tid, coalesce(k.comm, o.comm) AS on_comm, b.on_call,
  CASE WHEN b.device IS NOT NULL THEN coalesce(v.device_name, b.device) ELSE coalesce(d.peer, d.target, d.kind) END AS on_target,
  b.on_cpu, b.depth
FROM blame AS b
JOIN thread AS t USING (utid)
LEFT JOIN thread_name AS n ON n.name_id = b.name_id
-- At depth 0 the waker is only the thread that was interrupted.
LEFT JOIN thread AS w ON w.utid = b.waker_utid AND b.depth > 0
LEFT JOIN thread AS o ON o.utid = b.on_utid
LEFT JOIN thread_name AS k ON k.name_id = b.on_name_id
LEFT JOIN descriptor AS e ON e.descriptor_id = b.descriptor_id
LEFT JOIN descriptor AS d ON d.descriptor_id = b.on_descriptor_id
LEFT JOIN block_device AS v ON v.device = b.device
