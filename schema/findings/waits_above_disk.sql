-- waits_above_disk: Calls wait for data to be on a disk while no disk has anything to do: something above it holds them
-- condition: a thread slept in writes of files and in syncs (calls of 1 ms or more), and for a tenth of the recording or more of that no disk had a
--   request: its sleeps, less all the time in which any disk was busy, by /proc/diskstats. That time is half of the sleeps or more. A disk
--   with a request in flight at a snapshot counts as busy on both sides of it, and all disks are added up, so the figure is the least
--   that it can be. A sleep that a thread of a program ended does not count: that thread explains it. Critical from half of the
--   recording. It says who else slept at the same place for a tenth of it, and who else sent half of the requests or bytes that the process's disk got, where they were traced (biotop)
--   and are as many bytes as it wrote
-- means: a faster disk changes nothing. The request was not given to the disk yet, or the answer was there: a limit of the control group (io.max), the limit of
--   dirty pages (balance_dirty_pages), the journal of the file system, which one commit after the other goes through, a frozen file
--   system, a queue above the device, or a file system of the network, which has no disk here. Where the thread slept tells
-- next: perfcase view off_cpu_by_stack: where it slept
-- next: perfcase view disk_utilization, cgroup_activity: what the disks did meanwhile, and the group's I/O pressure
-- about: the disks that threads of the process waited for
-- taught by: -
-- source: blame, block_device, block_io, descriptor, disk_by_process, disk_utilization, followed_state, frame_label, proc_disk, proc_thread, process, recorded_span,
--   recorder_thread, stack_entry, syscall, thread, workload_thread
-- evidence: SELECT t.comm, t.tid, s.name, count(*) AS call_count, sum(s.duration_ns) AS duration_total_ns, max(s.duration_ns) AS duration_max_ns FROM syscall AS s
--   JOIN thread AS t USING (utid) WHERE s.name IN ('fsync', 'fdatasync', 'syncfs', 'sync', 'sync_file_range', 'msync', 'write', 'pwrite64', 'writev', 'pwritev')
--   AND s.duration_ns >= 1000000 GROUP BY ALL ORDER BY duration_total_ns DESC, t.tid, s.name
-- judged when: SELECT count(*) > 0 FROM disk_utilization
-- not judged: what the disks did. It needs two snapshots of /proc/diskstats; perfcase-record takes them by default
WITH threshold AS (
  SELECT 1000000 AS call_ns, 0.1 AS recording_ratio, 0.5 AS critical_ratio, 0.5 AS gap_ratio, 0.5 AS sent_ratio
), interval_busy AS (
  SELECT u.ts_ns, u.interval_ns, CASE WHEN u.in_flight_count > 0 OR b.in_flight_count > 0 THEN u.interval_ns ELSE least(u.busy_ns, u.interval_ns) END AS busy_ns
  FROM disk_utilization AS u
  ASOF LEFT JOIN proc_disk AS b ON b.device = u.device AND b.ts_ns <= u.ts_ns
), disks AS (
  SELECT min(ts_ns) AS ts_ns, max(ts_ns + interval_ns) AS end_ns, @total(busy_ns) AS busy_ns FROM interval_busy
), of_kernel AS (
  -- 2097152 is PF_KTHREAD.
  SELECT utid FROM proc_thread WHERE flags & 2097152 <> 0
), called AS (
  SELECT s.utid, s.name, s.ts_ns, s.exit_ts_ns, s.duration_ns, coalesce(d.target, d.label) AS target, CASE WHEN s.name LIKE '%write%' AND s.ret > 0 THEN s.ret ELSE 0 END AS bytes
  FROM syscall AS s
  CROSS JOIN threshold AS h
  LEFT JOIN descriptor AS d USING (descriptor_id)
  WHERE s.duration_ns >= h.call_ns AND s.utid IN (SELECT utid FROM workload_thread) AND (s.name IN ('fsync', 'fdatasync', 'sync', 'syncfs', 'sync_file_range', 'msync')
    OR d.kind = 'file' AND s.name IN ('write', 'writev', 'pwrite64', 'pwritev', 'pwritev2'))
), slept AS (
  SELECT s.utid, s.ts_ns, s.duration_ns, s.stack_id
  FROM followed_state AS s
  CROSS JOIN disks AS k
  LEFT JOIN thread AS w ON w.utid = s.waker_utid AND s.waker_context = 'task'
  WHERE s.state IN ('sleeping', 'disk_sleep') AND NOT s.is_open AND s.ts_ns >= k.ts_ns AND s.ts_ns + s.duration_ns <= k.end_ns
    AND s.utid IN (SELECT utid FROM called) AND (w.upid IS NULL OR w.utid IN (SELECT utid FROM of_kernel))
), waited AS (
  SELECT c.utid, c.name, c.target, c.ts_ns, any_value(c.duration_ns) AS duration_ns, any_value(c.bytes) AS bytes, sum(s.duration_ns) AS asleep_ns,
    arg_max(s.stack_id, s.duration_ns) AS stack_id, max(s.duration_ns) AS longest_ns
  FROM slept AS s
  ASOF JOIN called AS c ON c.utid = s.utid AND c.ts_ns <= s.ts_ns
  WHERE s.ts_ns + s.duration_ns <= c.exit_ts_ns
  GROUP BY c.utid, c.name, c.target, c.ts_ns
), per_thread AS (
  SELECT utid, count(*) AS call_count, sum(duration_ns) AS duration_ns, sum(bytes) AS bytes, sum(asleep_ns) AS asleep_ns, max(duration_ns) AS longest_ns,
    arg_max({name: name, target: target}, (duration_ns, ts_ns)) AS most, arg_max(stack_id, longest_ns) AS stack_id
  FROM waited
  GROUP BY utid
), requested AS (
  SELECT utid, count(*) AS request_count, sum(latency_ns) AS latency_ns FROM block_io WHERE latency_ns IS NOT NULL AND utid IN (SELECT utid FROM per_thread) GROUP BY utid
), held AS (
  SELECT w.upid, w.pid, t.*, t.asleep_ns - k.busy_ns AS gap_ns, k.busy_ns, c.duration_ns AS recorded_ns, r.request_count, r.latency_ns
  FROM per_thread AS t
  JOIN workload_thread AS w USING (utid)
  CROSS JOIN disks AS k
  CROSS JOIN threshold AS h
  JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
  LEFT JOIN requested AS r USING (utid)
  WHERE t.asleep_ns - k.busy_ns >= h.recording_ratio * c.duration_ns AND t.asleep_ns - k.busy_ns >= h.gap_ratio * t.asleep_ns
), total AS (
  SELECT upid, pid, count(*) AS thread_count, sum(call_count) AS call_count, sum(duration_ns) AS duration_ns, sum(bytes) AS bytes, max(longest_ns) AS longest_ns, sum(asleep_ns) AS asleep_ns,
    sum(gap_ns) AS gap_ns, max(gap_ns) AS most_ns, any_value(busy_ns) AS busy_ns, any_value(recorded_ns) AS recorded_ns, sum(request_count) AS request_count,
    sum(latency_ns) AS latency_ns, arg_max(most, (longest_ns, utid)) AS most, arg_max(stack_id, (longest_ns, utid)) AS stack_id
  FROM held
  GROUP BY upid, pid
), disk AS (
  -- As answers_wait names them, also those whose request was not seen.
  SELECT t.upid, list(DISTINCT 'disk ' || coalesce(v.device_name, b.device, 'a block device')) AS disks
  FROM blame AS b
  JOIN thread AS t USING (utid)
  LEFT JOIN block_device AS v ON v.device = b.device
  WHERE b.cause = 'disk' AND t.upid IN (SELECT upid FROM total)
  GROUP BY t.upid
), main_disk AS (
  SELECT upid, device FROM disk_by_process WHERE upid IN (SELECT upid FROM total) QUALIFY row_number() OVER (PARTITION BY upid ORDER BY request_count DESC, device) = 1
), neighbour AS (
  SELECT m.upid, format('; meanwhile {} ({}) sent {:.1f} % of the {:,} requests to {} that were traced, {:.1f} % of {}', coalesce(d.title, d.process, '?'), d.pid,
    100 * d.request_ratio, @whole(d.request_count / d.request_ratio), coalesce(d.device_name, d.device), coalesce(100 * d.bytes_ratio, 0), @size(coalesce(d.request_bytes / d.bytes_ratio, 0))) AS text
  FROM main_disk AS m
  JOIN total AS x USING (upid)
  JOIN disk_by_process AS d USING (device)
  CROSS JOIN threshold AS h
  -- A disk that got less than those calls wrote is not theirs.
  WHERE coalesce(d.request_bytes / d.bytes_ratio, 0) >= h.sent_ratio * x.bytes AND greatest(d.request_ratio, d.bytes_ratio) >= h.sent_ratio AND d.upid NOT IN (SELECT upid FROM total) AND d.upid NOT IN (SELECT upid FROM recorder_thread WHERE upid IS NOT NULL)
  QUALIFY row_number() OVER (PARTITION BY m.upid ORDER BY d.request_count DESC, d.upid) = 1
), place AS (
  SELECT e.stack_id, list_filter(list(l.label ORDER BY e.position DESC), lambda f: NOT regexp_matches(f, 'schedule|sched_switch|perf_')) AS labels
  FROM stack_entry AS e
  JOIN frame_label AS l USING (frame_id)
  WHERE e.stack_id IN (SELECT stack_id FROM waited)
  GROUP BY e.stack_id
), slept_at AS (
  SELECT t.upid, any_value(t.pid) AS pid, l.labels[-1] AS label, sum(w.asleep_ns) AS asleep_ns
  FROM waited AS w
  JOIN workload_thread AS t USING (utid)
  JOIN place AS l USING (stack_id)
  GROUP BY t.upid, l.labels[-1]
), too AS (
  -- Who slept at the same place for a tenth of the recording or more: what holds one holds all (io.max, dirty pages, a journal).
  SELECT x.upid, string_agg(format('{} ({}) for {:.2f} s', coalesce(p.name, '?'), o.pid, o.asleep_ns / 1e9), ', ' ORDER BY o.asleep_ns DESC, o.upid) AS text
  FROM total AS x
  JOIN place AS l USING (stack_id)
  JOIN slept_at AS o ON o.label = l.labels[-1] AND o.upid <> x.upid
  JOIN process AS p ON p.upid = o.upid
  CROSS JOIN threshold AS h
  WHERE o.asleep_ns >= h.recording_ratio * x.recorded_ns
  GROUP BY x.upid
)
SELECT
  @severity(x.most_ns >= h.critical_ratio * x.recorded_ns, true) AS severity,
  format('{} ({})', coalesce(p.name, '?'), coalesce(x.pid::VARCHAR, '?')) AS subject,
  format('{}{} of {}{} took {:.2f} s, the longest {:.1f} ms, and slept for {:.2f} s of that; all disks together were busy for {:.2f} s{}: {:.2f} s at least passed above them{}',
    x.call_count, CASE x.call_count WHEN 1 THEN ' call' ELSE ' calls' END, x.most.name, CASE WHEN x.most.target IS NULL THEN '' ELSE ' on ' || x.most.target END,
    x.duration_ns / 1e9, x.longest_ns / 1e6, x.asleep_ns / 1e9, x.busy_ns / 1e9,
    CASE WHEN x.request_count IS NULL THEN '' ELSE format(' (those {} of its requests that were traced: {:.2f} ms)', x.request_count, x.latency_ns / 1e6) END,
    x.gap_ns / 1e9, CASE WHEN len(l.labels) > 0 THEN '; it slept in ' || array_to_string(l.labels[-4:], ' > ') ELSE '' END || coalesce('; there slept, too: ' || o.text, '') || coalesce(n.text, '')) AS message,
  @whole(x.gap_ns) AS cost_ns, k.disks AS about
FROM total AS x
CROSS JOIN threshold AS h
LEFT JOIN process AS p USING (upid)
LEFT JOIN disk AS k USING (upid)
LEFT JOIN neighbour AS n USING (upid)
LEFT JOIN too AS o USING (upid)
LEFT JOIN place AS l ON l.stack_id = x.stack_id
