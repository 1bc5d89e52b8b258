-- disk_neighbour: Another process keeps a disk busy that this one waits for
-- condition: threads of a process (or of a server with its workers) that answers requests waited for disks for a quarter of the time of their requests or more, 1 s or more in all; and another
--   process, not a thread of the kernel, sent half or more of the requests to the disk to which the first one sent most of its own, while on average one thread or more of it waited for a
--   disk at any moment: the disk always had something of it to do. Critical from half of the time of the requests. Brendan Gregg, Systems Performance, 2nd edition, 9.5.1: who uses the disks
-- means: the requests of both stand in one queue. A backup, a copy or a scan that keeps several requests under way takes as much of the disk as
--   there is
-- next: perfcase view block_summary, block_latency: what the disk did
-- next: perfcase view blame_by_comm: in which calls, on which files the threads waited
-- next: on the host: give the other one a limit (io.max, ionice) or another time, or this one a disk of its own
-- about: the disk
-- taught by: -
-- source: blame, block_device, block_io, proc_thread, process, recorded_span, recorder_thread, request, service_process, thread
-- evidence: SELECT p.name, b.device, b.operation, count(*) AS request_count, sum(b.size_bytes) AS request_bytes FROM block_io AS b JOIN thread AS t USING (utid) JOIN process AS p USING (upid)
--   GROUP BY ALL ORDER BY request_count DESC, p.name, b.device, b.operation
-- judged when: SELECT EXISTS (FROM block_io)
-- not judged: who sends requests to a disk. It needs the events of block devices; perfcase-record takes them by default
WITH threshold AS (
  SELECT 0.25 AS waited_ratio, 0.5 AS critical_ratio, 1000000000 AS waited_ns, 0.5 AS sent_ratio, 1 AS outstanding
), served AS (
  SELECT f.service_upid AS upid, sum(r.duration_ns) AS total_ns
  FROM request AS r
  JOIN service_process AS f USING (upid)
  WHERE r.duration_ns IS NOT NULL AND r.writer_utid NOT IN (SELECT utid FROM recorder_thread)
  GROUP BY f.service_upid
), waited AS (
  SELECT f.service_upid AS upid, sum(b.duration_ns) AS thread_ns, sum(b.duration_ns::HUGEINT * b.work_count) FILTER (b.work = 'request') AS request_ns
  FROM blame AS b
  JOIN thread AS t USING (utid)
  JOIN service_process AS f ON f.upid = t.upid
  WHERE b.cause = 'disk' AND b.work <> 'call' AND b.utid NOT IN (SELECT utid FROM recorder_thread)
  GROUP BY f.service_upid
), of_kernel AS (
  -- 2097152 is PF_KTHREAD: the journal and the write-back work for others.
  SELECT DISTINCT t.upid FROM proc_thread AS x JOIN thread AS t USING (utid) WHERE x.flags & 2097152 <> 0 AND t.upid IS NOT NULL
), sent AS (
  SELECT b.device, f.service_upid AS upid, count(*) AS request_count
  FROM block_io AS b
  JOIN thread AS t USING (utid)
  JOIN service_process AS f ON f.upid = t.upid
  GROUP BY b.device, f.service_upid
), disk AS (
  SELECT device, upid, request_count, request_count / sum(request_count) OVER (PARTITION BY device) AS sent_ratio,
    row_number() OVER (PARTITION BY upid ORDER BY request_count DESC, device) = 1 AS is_main
  FROM sent
), found AS (
  SELECT w.upid, n.upid AS by_upid, d.device, w.request_ns, w.request_ns / s.total_ns AS waited_ratio, w.thread_ns, n.sent_ratio, o.thread_ns / c.duration_ns AS outstanding
  FROM waited AS w
  JOIN served AS s USING (upid)
  JOIN disk AS d ON d.upid = w.upid AND d.is_main
  JOIN disk AS n ON n.device = d.device AND n.upid <> w.upid AND n.upid NOT IN (SELECT upid FROM of_kernel)
  JOIN waited AS o ON o.upid = n.upid
  JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
  CROSS JOIN threshold AS h
  WHERE w.request_ns >= h.waited_ratio * s.total_ns AND w.thread_ns >= h.waited_ns AND n.sent_ratio >= h.sent_ratio AND o.thread_ns >= h.outstanding * c.duration_ns
)
SELECT
  @severity(f.waited_ratio >= h.critical_ratio, true) AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('its requests waited for a disk for {:.1f} % of their time; {:.1f} % of the requests to {} are of {} ({}), of which {:.1f} threads waited for a disk at any moment',
    100 * f.waited_ratio, 100 * f.sent_ratio, coalesce(v.device_name, f.device), coalesce(q.name, '?'), q.pid, f.outstanding) AS message,
  @whole(f.thread_ns) AS cost_ns, ['disk ' || coalesce(v.device_name, f.device)] AS about
FROM found AS f
JOIN process AS p USING (upid)
JOIN process AS q ON q.upid = f.by_upid
LEFT JOIN block_device AS v USING (device)
CROSS JOIN threshold AS h
