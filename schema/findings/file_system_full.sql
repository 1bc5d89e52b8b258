-- file_system_full: A file system is nearly full
-- condition: at the first or the last snapshot 90 % or more of its space, or of its inodes, were in use (the alerts disk_space_usage and disk_inode_usage of netdata). A warning from 98 %,
--   with less than 5 GB left where it is space, if calls of the workload failed because there was none (ENOSPC, EDQUOT: 3 or more); else a note. One that is read-only
--   is not judged, and an overlay only where the file system that its changes go to is not judged itself. Its cost is not told: until it is full it costs nothing
-- means: when it is full, each write fails with ENOSPC: databases stop, logs end, files are cut. Without inodes no file can be made although there is space
-- next: perfcase view file_system: the space and the inodes at both moments
-- next: perfcase view syscall_error: which calls failed with ENOSPC, and of which file
-- next: du -x MOUNT_POINT on the host; files that are deleted and still open (perfcase view file_descriptor: targets that end with deleted) take space, too
-- taught by: -
-- source: file_system, syscall_error, workload_thread
-- evidence: SELECT mount_point, file_system, device, ts_ns, total_bytes, used_bytes, available_bytes, used_ratio, inode_count, inode_used_ratio FROM file_system ORDER BY mount_point, ts_ns
-- judged when: SELECT count(*) > 0 FROM file_system
-- not judged: how full they are. perfcase-record asks those on devices of the host by default
WITH threshold AS (
  SELECT 0.9 AS note_ratio, 0.98 AS warning_ratio, 5000000000 AS available_bytes, 3 AS failed_count
), failed AS (
  SELECT coalesce(sum(error_count), 0) AS failed_count
  FROM syscall_error
  WHERE errno_name IN ('ENOSPC', 'EDQUOT') AND upid IN (SELECT upid FROM workload_thread)
), writable AS (
  SELECT *, file_system = 'overlay' AS is_overlay
  FROM file_system
  WHERE NOT is_read_only
), own AS (
  -- All overlays of one file system show its figures.
  SELECT * FROM writable
  QUALIFY NOT is_overlay OR row_number() OVER (PARTITION BY ts_ns, total_bytes, inode_count ORDER BY is_overlay, mount_point) = 1
), part AS (
  SELECT mount_point, file_system, device, ts_ns, 'space' AS kind, used_ratio, available_bytes, format('{} of {} left', @size(available_bytes), @size(total_bytes)) AS room
  FROM own
  UNION ALL
  SELECT mount_point, file_system, device, ts_ns, 'inodes', inode_used_ratio, 0, format('{} of {} left', inode_count - used_inode_count, inode_count)
  FROM own
), most AS (
  SELECT mount_point, kind, arg_max(file_system, ts_ns) AS file_system, arg_max(device, ts_ns) AS device, max(used_ratio) AS used_ratio, arg_max(ts_ns, (used_ratio, ts_ns)) AS ts_ns,
    arg_max(available_bytes, (used_ratio, ts_ns)) AS available_bytes, arg_max(room, (used_ratio, ts_ns)) AS room
  FROM part
  WHERE used_ratio IS NOT NULL
  GROUP BY mount_point, kind
)
SELECT
  @severity(false, m.used_ratio >= h.warning_ratio AND m.available_bytes < h.available_bytes AND f.failed_count >= h.failed_count) AS severity,
  m.mount_point AS subject,
  format('{:.1f} % of its {} were in use at {:.2f} s: {} ({} on {}){}', 100 * m.used_ratio, m.kind, m.ts_ns / 1e9, m.room, m.file_system, m.device,
    CASE WHEN f.failed_count > 0 THEN format('; {} calls of the workload found no space left', @whole(f.failed_count)) ELSE '' END) AS message
FROM most AS m
CROSS JOIN failed AS f
CROSS JOIN threshold AS h
WHERE m.used_ratio >= h.note_ratio
