-- disk_by_process: who sent requests to each disk
-- grain: a block device and a process that sent requests to it; the kernel's own threads, which write back for others, have no process and are together
-- source: block_io, block_device, thread, process, proc_command, service_process
-- caveat: as biotop (Gregg): a write that the kernel keeps in the page cache is sent later by a thread of the kernel; only a sync or a full log sends it at once, as its own
-- caveat: only requests that were traced: of a recording of some processes these are theirs
-- diff by: device_name, process
-- diff sum: request_count, request_bytes
-- diff weight: 0.5
-- column device: major,minor
-- column device_name: its name, if /proc/diskstats was recorded
-- column process: the name of the process; NULL for threads without one
-- keys: pid, upid
-- column title: what the process wrote into its command line, where that is another one than its service has (PostgreSQL: checkpointer); NULL if it wrote nothing
-- column request_count [count]: requests that it sent
-- column request_ratio [ratio]: their share of all that were traced of this device
-- column request_bytes [bytes]: the sum of their sizes
-- column bytes_ratio [ratio]: its share of all bytes
WITH command AS (
  SELECT upid, trim(arg_max(command_line, ts_ns)) AS command_line FROM proc_command WHERE command_line IS NOT NULL GROUP BY upid
), titled AS (
  SELECT c.upid, c.command_line
  FROM command AS c
  JOIN service_process AS f USING (upid)
  JOIN command AS s ON s.upid = f.service_upid
  WHERE f.service_upid <> c.upid AND s.command_line <> c.command_line
), sent AS (
  SELECT b.device, t.upid, count(*) AS request_count, @total(b.size_bytes) AS request_bytes
  FROM block_io AS b
  LEFT JOIN thread AS t USING (utid)
  GROUP BY b.device, t.upid
)
SELECT s.device, n.device_name, p.name AS process, p.pid, s.upid, c.command_line AS title, s.request_count, @ratio(s.request_count, sum(s.request_count) OVER g) AS request_ratio,
  s.request_bytes, @ratio(s.request_bytes, sum(s.request_bytes) OVER g) AS bytes_ratio
FROM sent AS s
LEFT JOIN process AS p USING (upid)
LEFT JOIN block_device AS n USING (device)
LEFT JOIN titled AS c USING (upid)
WINDOW g AS (PARTITION BY s.device)
ORDER BY s.device, s.request_count DESC, s.request_bytes DESC, p.pid, s.upid
