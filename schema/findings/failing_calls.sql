-- failing_calls: System calls of a process fail, with errors that a program cannot expect
-- condition: 3 calls or more found no descriptor, disk space, quota, memory, local port or process left, or the device failed
--   (EMFILE, ENFILE, ENOSPC, EDQUOT, EIO; ENOMEM of mmap, brk, mremap, fork and exec; EADDRNOTAVAIL of connect and bind; EAGAIN of fork);
--   or more than half of its connects, 10 or more, were refused or found no way (a name with two addresses is tried twice, so that half
--   is usual); or a tenth of its reads or writes on connections, 10 or more, met a connection that was reset or closed; or nine in ten
--   of its calls of one kind, 10 or more, were not permitted (EACCES). Critical where half of these calls failed because something was used up,
--   or nine in ten of the connects failed. What these errors say is in the manual page of each call
-- means: the work that needed the call was not done, or was done again. A program that swallows the error says nothing in its log
-- next: perfcase view syscall_error: each error with the descriptor, the peer, and when it began
-- next: perfcase view syscall_log: the calls before the first one
-- about: what the process has too little of
-- follows from: fd_leak, thread_leak
-- taught by: A tale of ten bugs (3)
-- source: syscall_error, workload_thread
-- evidence: SELECT process, pid, name, errno_name, target, peer, error_count, call_count, error_ratio, first_ts_ns FROM syscall_error
--   WHERE errno_name NOT IN ('EAGAIN', 'EINTR', 'ENOENT', 'EINPROGRESS') ORDER BY error_count DESC
WITH threshold AS (
  SELECT 3 AS wanting_count, 0.5 AS wanting_critical, 10 AS error_count, 0.5 AS connect_ratio, 0.9 AS connect_critical, 0.1 AS reset_ratio,
    0.9 AS denied_ratio
), sorted AS (
  SELECT *, CASE WHEN kind = 'socket' THEN peer ELSE target END AS about,
    CASE
      WHEN errno_name IN ('EMFILE', 'ENFILE', 'ENOSPC', 'EDQUOT', 'EIO')
        OR errno_name = 'ENOMEM' AND name IN ('mmap', 'mmap2', 'brk', 'mremap', 'clone', 'clone3', 'fork', 'vfork', 'execve', 'execveat')
        OR errno_name = 'EADDRNOTAVAIL' AND name IN ('connect', 'bind')
        OR errno_name = 'EAGAIN' AND name IN ('clone', 'clone3', 'fork', 'vfork') THEN 'wanting'
      WHEN name = 'connect' AND errno_name IN ('ECONNREFUSED', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH') THEN 'connect'
      WHEN errno_name IN ('ECONNRESET', 'EPIPE') OR errno_name = 'ETIMEDOUT' AND kind = 'socket' AND name <> 'connect' THEN 'reset'
      WHEN errno_name = 'EACCES' THEN 'denied'
    END AS class
  FROM syscall_error
  WHERE upid IN (SELECT upid FROM workload_thread)
), totalled AS (
  SELECT upid, pid, process, name, class, sum(error_count) AS error_count, max(call_count) AS call_count,
    arg_max(errno_name, (error_count, errno_name)) AS errno_name, min(first_ts_ns) AS first_ns,
    arg_max(about, (error_count, about)) FILTER (about IS NOT NULL) AS about
  FROM sorted
  WHERE class IS NOT NULL
  GROUP BY upid, pid, process, name, class
), judged AS (
  SELECT t.*, t.error_count / t.call_count AS error_ratio FROM totalled AS t
)
SELECT
  @severity(CASE j.class WHEN 'wanting' THEN j.error_ratio >= h.wanting_critical WHEN 'connect' THEN j.error_ratio >= h.connect_critical ELSE false END, true) AS severity,
  format('{} ({})', coalesce(j.process, '?'), coalesce(j.pid::VARCHAR, '?')) AS subject,
  format('{} of {} calls of {} failed ({:.1f} %), the first at {:.2f} s: {}, {}{}', @whole(j.error_count), @whole(j.call_count), j.name, 100 * j.error_ratio,
    j.first_ns / 1e9, j.errno_name,
    CASE j.errno_name
      WHEN 'EMFILE' THEN 'the process has no descriptor left'
      WHEN 'ENFILE' THEN 'the host has no descriptor left'
      WHEN 'ENOSPC' THEN 'no space left on the device'
      WHEN 'EDQUOT' THEN 'the quota of disk space is used up'
      WHEN 'EIO' THEN 'the device failed'
      WHEN 'ENOMEM' THEN 'no memory left, or a limit of it'
      WHEN 'EADDRNOTAVAIL' THEN 'no local port left, or an address that the host does not have'
      WHEN 'EAGAIN' THEN 'no process or thread left: a limit'
      WHEN 'ECONNREFUSED' THEN 'nobody listens there'
      WHEN 'ETIMEDOUT' THEN 'nobody answered'
      WHEN 'EHOSTUNREACH' THEN 'no way to the host'
      WHEN 'ENETUNREACH' THEN 'no way to the network'
      WHEN 'ECONNRESET' THEN 'the peer reset the connection'
      WHEN 'EPIPE' THEN 'the other end was closed'
      ELSE 'not permitted'
    END,
    CASE WHEN j.about IS NULL THEN '' ELSE ', most often ' || j.about END) AS message,
  least(1, j.error_ratio)::DOUBLE AS failed_ratio,
  [CASE j.errno_name WHEN 'EMFILE' THEN 'descriptors' WHEN 'EAGAIN' THEN 'threads' WHEN 'ENOMEM' THEN 'memory' END || ' of process ' || j.upid] AS about
FROM judged AS j
CROSS JOIN threshold AS h
WHERE CASE j.class
    WHEN 'wanting' THEN j.error_count >= h.wanting_count
    WHEN 'connect' THEN j.error_count >= h.error_count AND j.error_ratio > h.connect_ratio
    WHEN 'reset' THEN j.error_count >= h.error_count AND j.error_ratio >= h.reset_ratio
    ELSE j.error_count >= h.error_count AND j.error_ratio >= h.denied_ratio
  END
