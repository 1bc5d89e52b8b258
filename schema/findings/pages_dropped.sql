-- pages_dropped: A process has files dropped from the page cache that another one reads
-- condition: a process told the kernel 20 times or more that it needs the data of a file no more (fadvise64 with POSIX_FADV_DONTNEED, which drops pages that others use, too:
--   posix_fadvise(2)); threads of another service slept in reads of files for a disk, a tenth of the recording or more all together; and at snapshots both had files of one folder open. A warning
-- means: what was in memory is read from the disk again. Backups and copies are told so, that they leave the page cache as it was (rsync's --drop-cache, nocache), but they drop what was
--   there before them as well. If these reads go on without it, they are of other files, or memory is too small
-- next: do not have it drop pages; read past the cache (O_DIRECT), or in a control group with a limit of memory
-- next: perfcase view blame_by_comm: who waits for reads of files
-- next: perfcase-record --with page-cache: which files are read again
-- about: the disks that the reads waited for
-- taught by: -
-- source: blame, block_device, proc_fd, process, recorded_span, service_process, syscall, workload_thread
-- evidence: SELECT t.comm, t.pid, d.target, count(*) AS call_count FROM syscall AS s JOIN thread AS t USING (utid) LEFT JOIN descriptor AS d USING (descriptor_id)
--   WHERE s.name = 'fadvise64' AND s.args[4] = 4 GROUP BY ALL ORDER BY call_count DESC, t.comm, t.pid, d.target
WITH threshold AS (
  SELECT 20 AS call_count, 0.1 AS recording_ratio
), dropper AS (
  SELECT w.upid, count(*) AS call_count
  FROM syscall AS s
  JOIN workload_thread AS w USING (utid)
  CROSS JOIN threshold AS h
  WHERE s.name = 'fadvise64' AND s.args[4] = 4 AND s.ret = 0
  GROUP BY w.upid, h.call_count
  HAVING count(*) >= h.call_count
), reader AS (
  SELECT f.service_upid AS upid, sum(b.duration_ns) AS wait_ns, list(DISTINCT 'disk ' || coalesce(v.device_name, b.device, 'a block device')) AS disks
  FROM blame AS b
  JOIN workload_thread AS w USING (utid)
  JOIN service_process AS f ON f.upid = w.upid
  CROSS JOIN threshold AS h
  JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
  LEFT JOIN block_device AS v USING (device)
  WHERE b.cause = 'disk' AND b.depth = 0 AND b.call IN ('read', 'readv', 'pread64', 'preadv', 'preadv2') AND EXISTS (FROM dropper)
  GROUP BY f.service_upid, c.duration_ns, h.recording_ratio
  HAVING sum(b.duration_ns) >= h.recording_ratio * c.duration_ns
), folder AS (
  SELECT DISTINCT f.service_upid AS upid, regexp_extract(o.target, '^(/.+)/[^/]*$', 1) AS folder
  FROM proc_fd AS o
  JOIN service_process AS f USING (upid)
  WHERE o.target LIKE '/_%/%' AND NOT regexp_matches(o.target, '^/(dev|proc|sys)/')
), found AS (
  SELECT r.upid, d.upid AS dropper_upid, any_value(d.call_count) AS call_count, any_value(r.wait_ns) AS wait_ns, any_value(r.disks) AS disks, min(m.folder) AS folder
  FROM dropper AS d
  JOIN service_process AS s ON s.upid = d.upid
  JOIN reader AS r ON r.upid <> s.service_upid
  JOIN folder AS m ON m.upid = s.service_upid
  JOIN folder AS n ON n.upid = r.upid AND n.folder = m.folder
  GROUP BY r.upid, d.upid
)
SELECT
  'warning' AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('it had files dropped from the page cache {} times (fadvise64, POSIX_FADV_DONTNEED); {} ({}), which has files of {} open too, waited for {:.2f} s in reads for a disk', @whole(f.call_count),
    coalesce(q.name, '?'), q.pid, f.folder, f.wait_ns / 1e9) AS message,
  @whole(f.wait_ns) AS cost_ns, f.disks AS about
FROM found AS f
JOIN process AS p ON p.upid = f.dropper_upid
JOIN process AS q ON q.upid = f.upid
