-- fd_call: each system call on a descriptor, with what the descriptor was at that time
-- grain: a system call with a descriptor among its arguments
-- source: syscall, thread, descriptor
-- caveat: if a call has several descriptors, the first is meant
-- diff no: events; syscall_by_fd and peer_wait add them up
-- as in syscall: ts_ns, exit_ts_ns, duration_ns, utid, name_id
-- keys: upid
-- as in syscall: name, fd, ret, errno
-- column since_ts_ns [ns]: when the descriptor became this; NULL if that was before the capture or is not known
-- as in descriptor: kind, target, local, peer
SELECT
  s.ts_ns, s.exit_ts_ns, s.duration_ns, s.utid, s.name_id, t.upid, s.name, s.fd, s.ret, s.errno,
  d.ts_ns AS since_ts_ns, d.kind, d.target, d.local, d.peer
FROM syscall AS s
JOIN thread AS t USING (utid)
LEFT JOIN descriptor AS d USING (descriptor_id)
WHERE s.fd IS NOT NULL
ORDER BY s.ts_ns, s.utid, s.fd, s.name
