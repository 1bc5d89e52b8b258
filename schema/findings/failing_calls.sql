-- failing_calls: System calls of a process fail, with errors that a program cannot expect
-- condition: 3 calls or more found no descriptor, disk space, quota, memory, local port or process left, or the device failed
--   (EMFILE, ENFILE, ENOSPC, EDQUOT, EIO; ENOMEM of mmap, brk, mremap, fork and exec; EADDRNOTAVAIL of connect and bind; EAGAIN of fork, and of connect to a Unix socket);
--   or more than half of its connects, 10 or more, were refused or found no way (a name with two addresses is tried twice, so that half
--   is usual); or a tenth of its reads or writes on connections, 10 or more, met a connection that was reset or closed; or nine in ten
--   of its calls of one kind, 10 or more, were not permitted (EACCES); or half of them, 10 or more, met a file system that is read-only (EROFS; not of mkdir: programs in
--   read-only containers try to make folders for their caches). Critical where half of these calls failed because something was used up,
--   or nine in ten of the connects failed. TCP connections count by what the kernel says became of them, where that was recorded: also those
--   whose connect did not wait (EINPROGRESS), and those that the process gave up. What failed before the first connection to the same end
--   was made (a start), or over IPv6 where the same port was reached over IPv4, makes a note at most. A file or peer is named that had a tenth of the errors or more.
--   What these errors say is in the manual page of each call
-- means: the work that needed the call was not done, or was done again. A program that swallows the error says nothing in its log
-- next: perfcase view connection: each end that was connected to, how many connections failed, and when
-- next: perfcase view syscall_error: each error with the descriptor, the peer, and when it began
-- next: perfcase view syscall_log: the calls before the first one
-- next: on the host, of files that cannot be made: df -i beside df. A file system may have space left and no inode (open(2), ENOSPC)
-- next: on the host, of a call that takes a path: strace -f -e status=failed -e trace=%file -p PID. A recording has no names of files that could not be opened
-- about: what the process has too little of, and those who are not answered if it cannot accept them
-- follows from: fd_leak, thread_leak, unreaped_children
-- taught by: A tale of ten bugs (3)
-- source: syscall_error, connection, file_system, service_address, workload_thread
-- evidence: SELECT process, pid, name, errno_name, target, peer, error_count, call_count, error_ratio, first_ts_ns FROM syscall_error
--   WHERE errno_name NOT IN ('EAGAIN', 'EINTR', 'ENOENT', 'EINPROGRESS')
--   UNION ALL SELECT process, pid, 'connect', NULL, NULL, peer_address || ' port ' || peer_port, failed_count + given_up_count, connection_count,
--   (failed_count + given_up_count) / connection_count, first_failed_ts_ns FROM connection WHERE failed_count + given_up_count > 0
--   ORDER BY error_count DESC
WITH threshold AS (
  SELECT 3 AS wanting_count, 0.5 AS wanting_critical, 10 AS error_count, 0.5 AS connect_ratio, 0.9 AS connect_critical, 0.1 AS reset_ratio,
    0.9 AS denied_ratio, 0.5 AS read_only_ratio, 0.1 AS about_ratio
), sorted AS (
  SELECT *, CASE WHEN kind = 'socket' THEN peer ELSE target END AS about,
    CASE
      WHEN errno_name IN ('EMFILE', 'ENFILE', 'ENOSPC', 'EDQUOT', 'EIO')
        OR errno_name = 'ENOMEM' AND name IN ('mmap', 'mmap2', 'brk', 'mremap', 'clone', 'clone3', 'fork', 'vfork', 'execve', 'execveat')
        OR errno_name = 'EADDRNOTAVAIL' AND name IN ('connect', 'bind')
        OR errno_name = 'EAGAIN' AND name IN ('clone', 'clone3', 'fork', 'vfork', 'connect') THEN 'wanting'
      WHEN name = 'connect' AND errno_name IN ('ECONNREFUSED', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH') THEN 'connect'
      WHEN errno_name IN ('ECONNRESET', 'EPIPE') OR errno_name = 'ETIMEDOUT' AND kind = 'socket' AND name <> 'connect' THEN 'reset'
      WHEN errno_name = 'EACCES' THEN 'denied'
      WHEN errno_name = 'EROFS' AND name NOT IN ('mkdir', 'mkdirat') THEN 'read_only'
    END AS class
  FROM syscall_error
  WHERE upid IN (SELECT upid FROM workload_thread)
), totalled AS (
  SELECT upid, pid, process, name, class, sum(error_count) AS error_count, max(call_count) AS call_count,
    arg_max(errno_name, (error_count, errno_name)) AS errno_name, min(first_ts_ns) AS first_ns,
    arg_max(about, (error_count, about)) FILTER (about IS NOT NULL) AS about, max(error_count) FILTER (about IS NOT NULL) AS about_count
  FROM sorted
  WHERE class IS NOT NULL
  GROUP BY upid, pid, process, name, class
), attempt AS (
  SELECT c.*, failed_count + given_up_count AS error_count, format(CASE WHEN contains(peer_address, ':') THEN '[{}]:{}' ELSE '{}:{}' END,
      peer_address, peer_port) AS peer,
    -- It waited until the other end was ready, or it tried the addresses of a name one after the other.
    coalesce(last_failed_ts_ns < first_connected_ts_ns, false) OR contains(peer_address, ':') AND bool_or(connected_count > 0
      AND peer_address NOT LIKE '%:%') OVER (PARTITION BY upid, pid, process, peer_port) AS is_expected
  FROM connection AS c
  WHERE upid IN (SELECT upid FROM workload_thread)
), connected AS (
  SELECT upid, pid, process, 'connect' AS name, 'connection' AS class, sum(error_count) AS error_count, sum(connection_count) AS call_count,
    sum(error_count) FILTER (NOT is_expected) AS unexpected_count, min(first_failed_ts_ns) AS first_ns,
    arg_max(peer, (error_count, peer)) AS about, count(*) AS peer_count, arg_max(failed_avg_ns, (error_count, peer)) AS failed_ns
  FROM attempt
  GROUP BY upid, pid, process
), failing AS (
  SELECT c.*, @ratio(c.unexpected_count, c.call_count - c.error_count + c.unexpected_count) AS judged_ratio,
    coalesce(c.unexpected_count >= h.error_count AND judged_ratio > h.connect_ratio, false) AS is_enough
  FROM connected AS c
  CROSS JOIN threshold AS h
  WHERE c.error_count >= h.error_count AND c.error_count / c.call_count > h.connect_ratio
), read_only AS (
  SELECT string_agg(DISTINCT mount_point, ', ' ORDER BY mount_point) AS mount_points
  FROM file_system
  WHERE is_read_only AND file_system NOT IN ('cramfs', 'erofs', 'iso9660', 'overlay', 'squashfs')
), without_inode AS (
  SELECT string_agg(DISTINCT mount_point, ', ' ORDER BY mount_point) AS mount_points FROM file_system WHERE inode_count > 0 AND used_inode_count >= inode_count AND NOT is_read_only
), judged AS (
  SELECT t.*, t.error_count / t.call_count AS error_ratio FROM totalled AS t
  -- What is known of the connections says more.
  WHERE t.class <> 'connect' OR NOT EXISTS (FROM failing AS f WHERE f.upid = t.upid AND f.error_count >= t.error_count)
)
SELECT
  @severity(CASE j.class WHEN 'wanting' THEN j.error_ratio >= h.wanting_critical WHEN 'read_only' THEN j.error_ratio >= h.denied_ratio WHEN 'connect' THEN j.error_ratio >= h.connect_critical ELSE false END, true) AS severity,
  format('{} ({})', coalesce(j.process, '?'), coalesce(j.pid::VARCHAR, '?')) AS subject,
  format('{} of {} calls of {} failed ({:.1f} %), the first at {:.2f} s: {}, {}{}', @whole(j.error_count), @whole(j.call_count), j.name, 100 * j.error_ratio,
    j.first_ns / 1e9, j.errno_name,
    CASE j.errno_name
      WHEN 'EMFILE' THEN 'the process has no descriptor left'
      WHEN 'ENFILE' THEN 'the host has no descriptor left'
      WHEN 'ENOSPC' THEN CASE WHEN j.name IN ('open', 'openat', 'openat2', 'creat', 'mkdir', 'mkdirat', 'mknod', 'mknodat', 'symlink', 'symlinkat') THEN 'no inode or no space left for a new file'
          || coalesce(' (no inode left on this host: ' || (SELECT mount_points FROM without_inode) || ')', '') ELSE 'no space left on the device' END
      WHEN 'EDQUOT' THEN 'the quota of disk space is used up'
      WHEN 'EIO' THEN 'the device failed'
      WHEN 'EROFS' THEN 'the file system is read-only' || coalesce(' (read-only on this host: ' || (SELECT mount_points FROM read_only) || ')', '')
      WHEN 'ENOMEM' THEN 'no memory left, or a limit of it'
      WHEN 'EADDRNOTAVAIL' THEN 'no local port left, or an address that the host does not have'
      WHEN 'EAGAIN' THEN CASE j.name WHEN 'connect' THEN 'the accept queue of the Unix socket is full' ELSE 'no process or thread left: a limit' END
      WHEN 'ECONNREFUSED' THEN 'nobody listens there'
      WHEN 'ETIMEDOUT' THEN 'nobody answered'
      WHEN 'EHOSTUNREACH' THEN 'no way to the host'
      WHEN 'ENETUNREACH' THEN 'no way to the network'
      WHEN 'ECONNRESET' THEN 'the peer reset the connection'
      WHEN 'EPIPE' THEN 'the other end was closed'
      ELSE 'not permitted'
    END,
    CASE WHEN j.about_count >= h.about_ratio * j.error_count THEN ', most often ' || j.about ELSE '' END) AS message,
  least(1, j.error_ratio)::DOUBLE AS failed_ratio,
  [CASE WHEN j.errno_name = 'EMFILE' THEN 'descriptors' WHEN j.errno_name = 'EAGAIN' AND j.name <> 'connect' THEN 'threads' WHEN j.errno_name = 'ENOMEM' THEN 'memory' END || ' of process ' || j.upid] ||
    CASE WHEN j.name IN ('accept', 'accept4') THEN coalesce((SELECT list('peer ' || a.address) FROM service_address AS a WHERE a.upid = j.upid), []) ELSE [] END AS about
FROM judged AS j
CROSS JOIN threshold AS h
WHERE CASE j.class
    WHEN 'wanting' THEN j.error_count >= h.wanting_count
    WHEN 'connect' THEN j.error_count >= h.error_count AND j.error_ratio > h.connect_ratio
    WHEN 'reset' THEN j.error_count >= h.error_count AND j.error_ratio >= h.reset_ratio
    WHEN 'read_only' THEN j.error_count >= h.error_count AND j.error_ratio >= h.read_only_ratio
    ELSE j.error_count >= h.error_count AND j.error_ratio >= h.denied_ratio
  END
UNION ALL
SELECT
  @severity(f.is_enough AND f.judged_ratio >= h.connect_critical, f.is_enough) AS severity,
  format('{} ({})', coalesce(f.process, '?'), coalesce(f.pid::VARCHAR, '?')) AS subject,
  format('{} of {} connections{} failed ({:.1f} %), the first at {:.2f} s{}, after {:.2f} ms on average{}', @whole(f.error_count), @whole(f.call_count),
    CASE WHEN f.peer_count = 1 THEN ' to ' || f.about ELSE '' END, 100 * f.error_count / f.call_count, f.first_ns / 1e9,
    CASE WHEN f.peer_count = 1 THEN '' ELSE ', most often to ' || f.about END, f.failed_ns / 1e6,
    CASE WHEN f.is_enough THEN '' ELSE '; most of them before the other end was ready, or over IPv6 where IPv4 worked' END) AS message,
  least(1, f.error_count / f.call_count)::DOUBLE AS failed_ratio, []::VARCHAR[] AS about
FROM failing AS f
CROSS JOIN threshold AS h
