-- syscall_by_fd: on which descriptors each thread made which calls, and what the descriptors were
-- grain: a thread, a name that it had, a call, a descriptor and what it was
-- source: fd_call, thread, thread_name, recorder_thread
-- caveat: if a call has several descriptors (dup2, sendfile, epoll_ctl), the first is meant; poll and select have theirs in memory and are not here, but peer_wait has them
-- caveat: fd_history says what a descriptor is: NULL means that it is not known
-- diff by: comm, name, kind, target
-- diff sum: duration_total_ns, call_count, error_count, moved_bytes
-- diff max: duration_max_ns
-- diff weight: 0.7
-- keys: utid, tid, pid, comm
-- as in fd_call: name, fd, kind, target, local, peer
-- column call_count [count]: calls that were entered within the capture
-- column error_count [count]: how many of them returned an error
-- column duration_total_ns [ns]: time of the calls with both ends in the capture
-- column duration_avg_ns [ns]: mean time of these calls
-- column duration_max_ns [ns]: the longest time of these calls
-- column moved_bytes [bytes]: bytes that calls which read or write moved; NULL for other calls
-- column open_count [count]: how many of them had not returned when the capture ended
SELECT
  c.utid, t.tid, t.pid, coalesce(n.comm, t.comm) AS comm, c.name, c.fd, c.kind, c.target, c.local, c.peer,
  count(*) AS call_count,
  count(*) FILTER (c.errno IS NOT NULL) AS error_count,
  @total_or_zero(c.duration_ns, true) AS duration_total_ns,
  avg(c.duration_ns) AS duration_avg_ns,
  max(c.duration_ns) AS duration_max_ns,
  CASE WHEN c.name IN ('read', 'readv', 'pread64', 'preadv', 'preadv2', 'recv', 'recvfrom', 'recvmsg', 'write', 'writev',
      'pwrite64', 'pwritev', 'pwritev2', 'send', 'sendto', 'sendmsg', 'sendfile', 'sendfile64', 'splice', 'copy_file_range')
    THEN @total_or_zero(c.ret, c.ret > 0) END AS moved_bytes,
  count(*) FILTER (c.ret IS NULL) AS open_count
FROM fd_call AS c
JOIN thread AS t USING (utid)
LEFT JOIN thread_name AS n ON n.name_id = c.name_id
GROUP BY c.utid, t.tid, t.pid, coalesce(n.comm, t.comm), c.name, c.fd, c.kind, c.target, c.local, c.peer
ORDER BY c.utid IN (SELECT utid FROM recorder_thread), duration_total_ns DESC, c.utid, comm, c.name, c.fd, c.kind, c.target, c.local, c.peer
