-- fd_history: what each descriptor of each process was, and from when to when
-- grain: a descriptor of a process while it was the same thing
-- source: descriptor
-- caveat: made from the snapshots of /proc/PID/fd and from the calls in the trace that make and close descriptors; a snapshot also holds for the time before it, back to the call that made the descriptor
-- caveat: pipe and socketpair write their descriptors to memory, which the trace does not have. A descriptor is taken for one of theirs if it was not open before, is used or listed after, and only one such call came in between; for a number that was never seen before, its neighbour decides (the kernel takes the lowest free numbers). For all others, and for descriptors that SCM_RIGHTS brings, only what a snapshot or the use tells is known
-- caveat: execve's closing of descriptors is known only if the capture has seen their close-on-exec flag, here or in the parent
-- caveat: a path is known from a snapshot only: the trace has its address, not its text
-- diff no: names, no figures
-- keys: upid, pid, fd
-- as in descriptor: ts_ns, end_ts_ns, kind, target, inode, local, peer, label, opened_by, known_from, end_known_from
SELECT
  upid, pid, fd, ts_ns, end_ts_ns, kind, target, inode, local, peer, label, opened_by, known_from, end_known_from
FROM descriptor
-- A scope has the names of others.
WHERE upid IS NOT NULL
ORDER BY upid, fd, ts_ns NULLS FIRST
