-- file_system: how full each file system is, as df and df -i print it
-- grain: a snapshot that asked × file system
-- source: proc_file_system
-- caveat: those of a network, of programs (FUSE) and ZFS are never asked, nor is more than 128 of the others; import_issue says how many are missing
-- caveat: an overlay shows the figures of the file system that its changes go to
-- diff no: how full they are, at two moments of a recording
-- plot: none
-- as in proc_file_system: ts_ns, mount_point, file_system, device, is_read_only, total_bytes
-- column used_bytes [bytes]: in use
-- as in proc_file_system: available_bytes
-- column used_ratio [ratio]: used_bytes as a share of used_bytes and available_bytes, as df prints it; NULL without a limit
-- as in proc_file_system: inode_count
-- column used_inode_count [count]: inodes in use
-- column inode_used_ratio [ratio]: used_inode_count as a share of inode_count; NULL where as many fit as there is space for
SELECT ts_ns, mount_point, file_system, device, is_read_only, total_bytes, total_bytes - free_bytes AS used_bytes, available_bytes,
  CASE WHEN total_bytes > 0 THEN @ratio(total_bytes - free_bytes, total_bytes::HUGEINT - free_bytes + available_bytes) END AS used_ratio,
  inode_count, inode_count - free_inode_count AS used_inode_count,
  CASE WHEN inode_count > 0 THEN @ratio(inode_count - free_inode_count, inode_count) END AS inode_used_ratio
FROM proc_file_system
ORDER BY ts_ns, source_id, mount_point
