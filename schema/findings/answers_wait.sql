-- answers_wait: The answers of a service wait, most of the time for one thing
-- condition: a process, or a server with its workers (service_process), answered 20 requests or more in 10 ms or more on average, or 5 or more in 100 ms
--   or more, or 2 in a second or more (who is slow answers few: Little's law, L = λ W), and at any moment half a request or more was under way on average; more than half of the
--   time of all its requests was due to one cause other than its own work: another thread that ran, a CPU that another process had, a CPU quota that was
--   used up, a block device, the answer of another service, a sleep, a timeout or an alarm, a timer or device that has no name, a process that was
--   stopped, or a thread that held what was needed and had nothing to do itself. The cause is found by following each wait to what its waker did meanwhile
--   (blame). Where more than half of that time was spent in flock or fcntl, it says so and names the file: LOCK_EX of flock(2) and F_SETLKW of fcntl(2)
--   sleep until the holder gives the lock back. Critical from 100 ms on average. A note if an event loop's own timer decides: the poll that it ends names
--   no peer. Such a service holds answers back until there is news (long polling in RFC 6202, BLPOP of Redis), and nobody was asked in vain. A lock that
--   another of its threads had, which ran, is a note from 1 ms on average: the threads of a service are there so that it need not wait for itself. A sleep
--   between two equally long questions to one peer, of which the first was answered or refused, is a retry with back-off ("Site Reliability Engineering",
--   chapter 22): the peer is named. Where no one cause has that much, what one other process did meanwhile counts as one: that it ran, waited for a CPU (also one that processes had which were not recorded), a quota or a disk, and what is not
--   known of it, if that is less than half. All processes of one program that the service started count as one, and so do those threads of its own with one name that had a lock (priority inversion: Sha,
--   Rajkumar, Lehoczky, 1990). This is what the critical path of Perfetto's standard library has of a waker. The parts are told.
--   Where another process ended more than half of those waits, or they were in one call that is not a wait for any news, the message says so: these are the edges of the critical path (Yang, Miller, 1988);
--   and where another process was in the call that waits for the disk (wPerf, OSDI 2018: waiting is passed on).
--   Where somebody with nothing to do was waited for on connections on which neither end had sent a byte yet, it says so: each may wait for the other's first word (a protocol in which the server greets first,
--   RFC 5321, 3.1, behind a proxy that looks at what the client says first).
--   Where a service waits for what another one does, that one's line says so, too. A disk whose request was not seen to end is the one to which those who waited sent half as many requests as they waited.
--   Requests that have no answer by the end of the recording, although one was due (unanswered_ns of request), have waited at least that long: they count apart, if the longest waited 2 s or more, and more than half of their time was due to one cause
--   other than work. Critical where half or more of the threads that read requests of the service have one.
--   For a disk it says who else sent half of what it got (USE method; biotop), where requests to it were traced. If a service waits, by way of another one,
--   for its own address, both wait for each other (a circle in the graph of waits)
-- means: a faster service changes nothing: what it waits for decides. Where a timer decides, it may be meant to. A thread that had nothing to do and still made others wait
--   holds something (a lock, a row of a database, a slot of a pool) until its own client says more. Its client stands there, where that
--   was recorded, with what it waited for itself, and its command line at the moments at which it was read meanwhile: some programs write into it what they do (PostgreSQL's update_process_title: idle in transaction). One lock for all
--   threads (the interpreter's lock of CPython and Ruby) lets one of them run at a time: another process does what computes
-- next: perfcase view process_command: all command lines, if programs write into them what they do
-- next: perfcase view blame_by_comm: all causes, with the call and the other end of each
-- next: perfcase view request_summary: what the slowest requests have that the usual ones have not
-- next: perfcase flamegraph --blame: where in the program it waits
-- about: what the answers wait for: the CPUs, a quota, a disk, a peer, or what a process waited for in vain; the requests at the service's addresses; those without an answer
-- follows from: calls_time_out, connection_queue, connections_not_kept, cpu_quota, cpu_saturation, delayed_ack, disk_peaks, disk_queueing, disk_slow, gives_up,
--   head_of_line, large_answers, large_segments_lost, link_shared, name_search, noisy_neighbour, pages_dropped, pool_full, service_asleep, slow_peer, small_send_buffer,
--   standing_queue, unanswered_requests, waits_above_disk
-- taught by: Identifying an off-CPU bottleneck
-- source: blame, block_device, descriptor, disk_by_process, followed_state, frame_label, proc_command, proc_process, process,
--   recorded_span, recorder_thread, request, service_address, service_process, socket_turn, stack, syscall, thread
-- evidence: SELECT comm, call, cause, on_comm, on_call, on_target, wait_ns, wait_ratio, wait_count, wait_max_ns FROM blame_by_comm
--   WHERE work = 'request' ORDER BY wait_ns DESC, comm, cause, on_comm, on_target
WITH threshold AS (
  SELECT 20 AS request_count, 5 AS slow_count, 2 AS long_count, 1000000000 AS long_ns, 10000000 AS request_ns, 100000000 AS critical_ns, 1000000 AS lock_ns, 0.5 AS share_ratio, 0.5 AS outstanding, 0.5 AS unknown_ratio, 0.1 AS waiter_ratio, 2000000000 AS open_ns, 80 AS shown_count, 200 AS longest_count, 10 AS samples, 1000 AS call_count
), owner AS MATERIALIZED (
  -- Worked out once: the view reads all threads.
  SELECT upid, service_upid FROM service_process
), served AS (
  SELECT f.service_upid AS upid, count(*) AS request_count, avg(r.duration_ns) AS request_ns_avg, sum(r.duration_ns) AS total_ns,
    sum(r.duration_ns) / any_value(c.duration_ns) AS outstanding
  FROM request AS r
  JOIN owner AS f USING (upid)
  JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
  WHERE r.duration_ns IS NOT NULL AND r.writer_utid NOT IN (SELECT utid FROM recorder_thread)
  GROUP BY f.service_upid
), unanswered AS (
  -- Each by its thread: one that is stuck has one.
  SELECT f.service_upid AS upid, r.utid, r.ts_ns, r.unanswered_ns
  FROM request AS r
  JOIN owner AS f USING (upid)
  WHERE r.unanswered_ns IS NOT NULL AND r.utid NOT IN (SELECT utid FROM recorder_thread)
), hanging AS (
  SELECT u.upid, count(*) AS request_count, max(u.unanswered_ns) AS longest_ns, sum(u.unanswered_ns) AS total_ns, count(DISTINCT u.utid) AS thread_count,
    (SELECT count(DISTINCT r.utid) FROM request AS r JOIN owner AS f USING (upid) WHERE f.service_upid = u.upid) AS reader_count
  FROM unanswered AS u
  GROUP BY u.upid
), hung AS (
  SELECT u.upid, b.cause, b.on_call, coalesce(d.peer, d.target) AS on_target, CASE WHEN b.depth > 0 THEN format('{} ({})', coalesce(o.comm, '?'), o.pid) END AS on_shown, sum(b.duration_ns) AS wait_ns
  FROM unanswered AS u
  JOIN blame AS b ON b.utid = u.utid AND b.work = 'request' AND b.ts_ns >= u.ts_ns
  LEFT JOIN thread AS o ON o.utid = b.on_utid
  LEFT JOIN descriptor AS d ON d.descriptor_id = b.on_descriptor_id
  WHERE b.cause NOT IN ('cpu_taken', 'cpu_idle', 'interrupt', 'not_recorded', 'not_followed') AND NOT (b.cause = 'running' AND b.depth = 0)
  GROUP BY ALL
), service AS (
  SELECT DISTINCT peer FROM socket_turn WHERE is_client AND peer IS NOT NULL
), address AS (
  -- Where it is asked, if that is one place.
  SELECT f.service_upid AS upid, min(a.address) AS address
  FROM service_address AS a
  JOIN owner AS f USING (upid)
  GROUP BY f.service_upid
  HAVING count(DISTINCT a.address) = 1
), own_client AS (
  SELECT DISTINCT f.service_upid AS upid, g.service_upid AS client_upid
  FROM (SELECT DISTINCT upid, peer FROM socket_turn WHERE is_client) AS t
  JOIN service_address AS a ON a.address = @plain_address(t.peer)
  JOIN owner AS f ON f.upid = a.upid
  JOIN owner AS g ON g.upid = t.upid
), due AS (
  SELECT f.service_upid AS upid, b.cause, coalesce(g.service_upid, o.upid) AS on_upid, o.upid AS done_upid, b.depth, o.upid <> t.upid AND g.service_upid = f.service_upid AS is_sibling,
    CASE WHEN b.cause = 'disk' THEN coalesce(v.device_name, b.device, 'a block device') WHEN b.cause IN ('network', 'timeout', 'sleep') THEN coalesce(d.peer, d.target) END AS on_target,
    CASE WHEN b.cause = 'no_work' THEN coalesce(d.peer, d.target) END AS idle_target, CASE WHEN b.cause = 'disk' AND d.kind = 'file' THEN d.target END AS file,
    CASE WHEN b.cause IN ('running', 'quota', 'no_work', 'sleep', 'timeout', 'alarm', 'interrupt', 'stopped') THEN o.comm END AS on_comm, b.on_call,
    b.cause = 'timeout' AND d.peer IS NULL AND b.on_call IN ('poll', 'ppoll', 'ppoll_time64', 'select', '_newselect', 'pselect6', 'pselect6_time64',
      'epoll_wait', 'epoll_pwait', 'epoll_pwait2') AS is_timer,
    -- Its waker, of the same process, gave it what it waited for.
    starts_with(b.call, 'futex') AND b.depth > 0 AND o.upid = t.upid AS is_handed,
    b.depth > 0 AND coalesce(b.call IN ('flock', 'fcntl', 'fcntl64'), false) AS is_locked, w.target AS locked_file,
    b.work_count > 1 AND b.call IN ('poll', 'ppoll', 'ppoll_time64', 'select', '_newselect', 'pselect6', 'pselect6_time64', 'epoll_wait',
      'epoll_pwait', 'epoll_pwait2') AS is_one_of_many,
    coalesce(k.frame_ids[k.kernel_depth + 1], k.frame_ids[1]) AS frame_id, b.duration_ns::HUGEINT * b.work_count AS wait_ns, b.duration_ns AS thread_ns,
    -- Who ended its wait, and in which call it was, if that is not one that waits for any news.
    CASE WHEN b.depth > 0 AND x.upid <> t.upid THEN coalesce(y.service_upid, x.upid) END AS way_upid, b.depth > 0 AND o.upid <> t.upid AS is_of_other,
    CASE WHEN b.depth > 0 AND (w.kind = 'file' OR b.call IN ('open', 'openat', 'stat', 'newfstatat', 'statx', 'access', 'faccessat', 'faccessat2', 'execve', 'wait4', 'waitid', 'vfork', 'semop', 'semtimedop', 'unlink', 'unlinkat', 'rename',
      'renameat2', 'close', 'mmap', 'munmap', 'mprotect', 'madvise', 'connect')) THEN b.call || coalesce(' of ' || CASE WHEN w.kind = 'file' THEN w.target END, '') END AS way_call
  FROM blame AS b
  JOIN thread AS t USING (utid)
  JOIN owner AS f ON f.upid = t.upid
  LEFT JOIN thread AS o ON o.utid = b.on_utid
  LEFT JOIN thread AS x ON x.utid = b.waker_utid
  LEFT JOIN owner AS y ON y.upid = x.upid
  LEFT JOIN owner AS g ON g.upid = o.upid
  LEFT JOIN descriptor AS d ON d.descriptor_id = b.on_descriptor_id
  LEFT JOIN descriptor AS w ON w.descriptor_id = b.descriptor_id
  LEFT JOIN block_device AS v ON v.device = b.device
  LEFT JOIN stack AS k ON k.stack_id = b.on_stack_id AND b.cause = 'running'
  WHERE b.work = 'request' AND b.cause IN ('running', 'cpu_taken', 'quota', 'disk', 'network', 'no_work', 'sleep', 'timeout', 'alarm', 'interrupt', 'stopped')
    AND NOT EXISTS (FROM unanswered AS u WHERE u.utid = b.utid AND b.ts_ns >= u.ts_ns)
), disk_file AS (
  SELECT upid, on_target, file, sum(wait_ns) AS wait_ns
  FROM due
  WHERE cause = 'disk' AND file IS NOT NULL
  GROUP BY upid, on_target, file
  QUALIFY row_number() OVER (PARTITION BY upid, on_target ORDER BY sum(wait_ns) DESC, file) = 1
), disk_waiter AS (
  -- Those that have a tenth of it or more. The others are not what that queue consists of.
  SELECT upid, on_target, done_upid, count(*) AS wait_count
  FROM due
  CROSS JOIN threshold AS h
  WHERE cause = 'disk'
  GROUP BY upid, on_target, done_upid
  QUALIFY sum(wait_ns) >= any_value(h.waiter_ratio) * sum(sum(wait_ns)) OVER (PARTITION BY upid, on_target)
), disk AS (
  -- Where the end of a request was not seen, the disk is the one to which those who waited sent most.
  SELECT w.upid, w.on_target, d.device,
    -- Its name, if those who waited sent half as many requests there as they waited, or more (the forced flow law of operational analysis, Denning and Buzen).
    CASE WHEN w.on_target = 'a block device' AND sum(d.request_count) >= any_value(h.share_ratio) * sum(w.wait_count) THEN any_value(d.device_name) END AS likely_name
  FROM disk_waiter AS w
  JOIN disk_by_process AS d ON d.upid = w.done_upid AND w.on_target IN (d.device_name, d.device, 'a block device')
  CROSS JOIN threshold AS h
  GROUP BY w.upid, w.on_target, d.device
  QUALIFY row_number() OVER (PARTITION BY w.upid, w.on_target ORDER BY sum(d.request_count) DESC, d.device) = 1
), neighbour AS (
  -- Who else kept that disk busy meanwhile: the one that sent half of its requests or of its bytes.
  SELECT k.upid, k.on_target, format('; meanwhile {} ({}) sent {:.1f} % of the {:,} requests to {} that were traced, {:.1f} % of {}', coalesce(d.title, d.process, '?'), d.pid,
    100 * d.request_ratio, @whole(d.request_count / d.request_ratio), coalesce(d.device_name, d.device), coalesce(100 * d.bytes_ratio, 0), @size(coalesce(d.request_bytes / d.bytes_ratio, 0))) AS text
  FROM disk AS k
  JOIN disk_by_process AS d USING (device)
  CROSS JOIN threshold AS h
  WHERE greatest(d.request_ratio, d.bytes_ratio) >= h.share_ratio AND d.upid NOT IN (SELECT upid FROM recorder_thread WHERE upid IS NOT NULL)
    AND NOT EXISTS (FROM disk_waiter AS w WHERE w.upid = k.upid AND w.on_target = k.on_target AND w.done_upid = d.upid)
  QUALIFY row_number() OVER (PARTITION BY k.upid, k.on_target ORDER BY d.request_count DESC, d.upid) = 1
), told AS (
  SELECT *
  FROM due
  -- Who waits in a poll without a question of its own waits for any of its clients.
  WHERE (cause <> 'network' OR on_target IN (SELECT peer FROM service)) AND (cause <> 'no_work' OR depth > 0)
    AND (cause <> 'cpu_taken' OR on_upid IS DISTINCT FROM upid)
    -- A client that says nothing: what it is sent later answers others (a chat, a subscription). Where several requests are under way, the
    -- next one, which ends a wait for any of them, does not answer the others: its client may have slept before it.
    AND NOT ((cause = 'no_work' OR cause IN ('sleep', 'timeout', 'alarm') AND is_one_of_many) AND EXISTS (FROM own_client AS c WHERE c.upid = due.upid AND c.client_upid = due.on_upid))
), locked AS (
  -- How long locks of files were waited for, how long where the file is known, and for which file most.
  SELECT upid, cause, is_timer, on_upid, on_target, sum(wait_ns) AS wait_ns, sum(wait_ns) FILTER (locked_file IS NOT NULL) AS known_ns,
    arg_max(locked_file, (wait_ns, locked_file)) FILTER (locked_file IS NOT NULL) AS locked_file, max(wait_ns) FILTER (locked_file IS NOT NULL) AS file_ns
  FROM (
    SELECT upid, cause, is_timer, CASE WHEN cause <> 'disk' THEN on_upid END AS on_upid, on_target, locked_file, sum(wait_ns) AS wait_ns
    FROM told
    WHERE is_locked
    GROUP BY ALL
  )
  GROUP BY ALL
), cause AS (
  SELECT upid, cause, is_timer, CASE WHEN cause <> 'disk' THEN on_upid END AS on_upid, on_target, arg_max(on_comm, (comm_ns, on_comm)) AS on_comm,
    mode(on_call ORDER BY on_call) AS on_call, mode(idle_target ORDER BY idle_target) AS idle_target, sum(wait_ns) AS wait_ns, sum(thread_ns) AS thread_ns,
    coalesce(sum(wait_ns) FILTER (is_handed), 0) AS handed_ns, coalesce(sum(wait_ns) FILTER (is_sibling), 0) AS sibling_ns,
    mode(frame_id ORDER BY frame_id) AS frame_id, count(frame_id) AS sample_count
  FROM (
    -- The thread of a process that took most time is named.
    SELECT *, sum(wait_ns) OVER (PARTITION BY upid, cause, is_timer, CASE WHEN cause <> 'disk' THEN on_upid END, on_target, on_comm) AS comm_ns FROM told
  )
  GROUP BY upid, cause, is_timer, CASE WHEN cause <> 'disk' THEN on_upid END, on_target
), way AS (
  -- Which process ended those waits, and the call that they were in: the edges of the critical path (Yang, Miller, 1988).
  SELECT upid, cause, is_timer, on_upid, on_target, arg_max(way_upid, (way_ns, way_upid)) AS way_upid, max(way_ns) AS way_ns,
    arg_max(way_call, (call_ns, way_call)) AS way_call, max(call_ns) AS call_ns, sum(other_ns) AS other_ns
  FROM (
    SELECT *, CASE WHEN way_upid IS NOT NULL THEN sum(wait_ns) OVER (PARTITION BY upid, cause, is_timer, on_upid, on_target, way_upid) END AS way_ns,
      CASE WHEN way_call IS NOT NULL THEN sum(wait_ns) OVER (PARTITION BY upid, cause, is_timer, on_upid, on_target, way_call) END AS call_ns
    FROM (
      SELECT upid, cause, is_timer, CASE WHEN cause <> 'disk' THEN on_upid END AS on_upid, on_target, way_upid, way_call, sum(wait_ns) AS wait_ns, sum(wait_ns) FILTER (is_of_other) AS other_ns
      FROM told
      GROUP BY ALL
    )
  )
  GROUP BY ALL
), circle AS (
  -- A service whose requests wait, by way of another one, for an answer of itself.
  SELECT c.upid, c.on_upid, min(a.address) AS address
  FROM cause AS c
  JOIN served AS s USING (upid)
  JOIN service_address AS a ON a.address = @plain_address(c.on_target)
  JOIN owner AS f ON f.upid = a.upid AND f.service_upid = c.upid
  CROSS JOIN threshold AS h
  WHERE c.cause IN ('network', 'timeout') AND c.on_upid <> c.upid AND c.wait_ns > h.share_ratio * s.total_ns
  GROUP BY c.upid, c.on_upid
), named AS (
  SELECT c.*, CASE WHEN 2 * f.wait_ns > c.wait_ns THEN
      CASE WHEN 2 * f.file_ns > f.wait_ns THEN f.locked_file || ' (flock, fcntl)' WHEN 2 * f.file_ns > f.known_ns THEN f.locked_file || ' (flock, fcntl; where the file is known)' ELSE 'a file (flock, fcntl)' END END AS lock, c.cause = 'running' AND 2 * c.handed_ns > c.wait_ns AND c.on_upid = c.upid AS is_own_lock,
    CASE WHEN c.sample_count >= h.samples AND l.unnamed_address IS NULL THEN format(', most often in {}', l.label) ELSE '' END AS place,
    CASE WHEN 2 * x.call_ns > c.wait_ns THEN '; they were in ' || x.way_call ELSE '' END AS way_call,
    CASE WHEN 2 * x.way_ns > c.wait_ns AND x.way_upid <> c.upid AND x.way_upid IS DISTINCT FROM c.on_upid THEN x.way_upid END AS way_upid,
    -- A lock that another one has while it waits for the disk.
    CASE WHEN c.cause = 'disk' AND 2 * x.other_ns > c.wait_ns THEN format('; for {:.1f} % of it they waited for {}, which was in that call', 100 * x.other_ns / c.wait_ns,
      CASE WHEN 2 * c.sibling_ns > c.wait_ns THEN 'another of its processes' ELSE 'another process' END) ELSE '' END AS holder
  FROM cause AS c
  CROSS JOIN threshold AS h
  LEFT JOIN way AS x ON x.upid = c.upid AND x.cause = c.cause AND x.is_timer = c.is_timer AND x.on_upid IS NOT DISTINCT FROM c.on_upid AND x.on_target IS NOT DISTINCT FROM c.on_target
  LEFT JOIN frame_label AS l USING (frame_id)
  LEFT JOIN locked AS f ON f.upid = c.upid AND f.cause = c.cause AND f.is_timer = c.is_timer AND f.on_upid IS NOT DISTINCT FROM c.on_upid
    AND f.on_target IS NOT DISTINCT FROM c.on_target
), too AS (
  -- Services that wait for what another one does: told there, as it is one cause (symptoms and causes in "Site Reliability Engineering", chapter 6).
  SELECT n.on_upid AS upid, n.cause, list({name: format('{} ({})', coalesce(p.name, '?'), p.pid), request_count: s.request_count} ORDER BY n.wait_ns DESC, p.upid) AS waiting
  FROM named AS n
  JOIN served AS s USING (upid)
  JOIN process AS p USING (upid)
  CROSS JOIN threshold AS h
  WHERE n.on_upid <> n.upid AND n.cause IN ('running', 'sleep', 'quota', 'stopped', 'alarm') AND n.wait_ns > h.share_ratio * s.total_ns AND s.request_ns_avg >= h.request_ns AND s.outstanding >= h.outstanding
  GROUP BY n.on_upid, n.cause
), reading AS (
  -- proc_command has changes; proc_process has a row for each time at which these files were read.
  SELECT r.upid, r.ts_ns, c.command_line
  FROM proc_process AS r
  ASOF JOIN proc_command AS c ON c.source_id = r.source_id AND c.upid = r.upid AND c.ts_ns <= r.ts_ns
  WHERE c.command_line IS NOT NULL
), own_title AS (
  -- Who writes into it what it does, as PostgreSQL does (UPDATE waiting).
  SELECT f.service_upid AS upid, mode(r.command_line ORDER BY r.command_line) AS command_line
  FROM blame AS b
  JOIN thread AS t USING (utid)
  JOIN owner AS f ON f.upid = t.upid
  JOIN reading AS r ON r.upid = t.upid AND r.ts_ns BETWEEN b.ts_ns AND b.ts_ns + b.duration_ns
  WHERE b.work = 'request' AND b.cause NOT IN ('running', 'cpu_taken', 'cpu_idle')
    AND t.upid IN (SELECT upid FROM proc_command GROUP BY upid HAVING count(DISTINCT command_line) > 1)
  GROUP BY f.service_upid
), hung_title AS (
  SELECT u.upid, mode(r.command_line ORDER BY r.command_line) AS command_line
  FROM unanswered AS u
  JOIN thread AS t USING (utid)
  JOIN reading AS r ON r.upid = t.upid AND r.ts_ns BETWEEN u.ts_ns AND u.ts_ns + u.unanswered_ns
  WHERE t.upid IN (SELECT upid FROM proc_command GROUP BY upid HAVING count(DISTINCT command_line) > 1)
  GROUP BY u.upid
), helper AS (
  -- Programs that a service starts again and again count as one.
  SELECT p.upid, min(p.upid) OVER same AS first_upid, count(*) OVER same AS process_count
  FROM process AS p
  JOIN owner AS f ON f.upid = p.parent_upid
  WHERE p.name IS NOT NULL AND p.upid NOT IN (SELECT upid FROM request)
  WINDOW same AS (PARTITION BY f.service_upid, p.name)
), unseen AS (
  SELECT * FROM blame WHERE work = 'request' AND depth > 0 AND cause = 'not_recorded'
), ready AS (
  SELECT utid, ts_ns, ts_ns + duration_ns AS end_ns
  FROM followed_state
  WHERE state IN ('runnable', 'runnable_preempted') AND utid IN (SELECT on_utid FROM unseen)
), followed AS (
  -- Who could run had no CPU, also where nobody knows who had it: processes that were not recorded, if some only were.
  SELECT u.utid, u.call, u.on_utid, u.work_count, u.duration_ns, u.depth, CASE WHEN r.end_ns > u.ts_ns THEN 'cpu' ELSE u.cause END AS cause
  FROM unseen AS u
  ASOF LEFT JOIN ready AS r ON r.utid = u.on_utid AND r.ts_ns <= u.ts_ns
  UNION ALL
  SELECT utid, call, CASE WHEN cause <> 'cpu_taken' THEN on_utid WHEN depth = 1 THEN waker_utid END, work_count, duration_ns, depth,
    CASE WHEN cause IN ('cpu_taken', 'cpu_idle') THEN 'cpu' ELSE cause END
  FROM blame
  WHERE work = 'request' AND depth > 0 AND cause IN ('running', 'cpu_taken', 'cpu_idle', 'quota', 'disk')
), awaited_part AS (
  -- What was done meanwhile by the one that was waited for: a process of its own, a service with its workers, or a thread that had a lock. If a CPU was waited for, only the waker
  -- itself is known.
  SELECT f.service_upid AS upid, coalesce(k.first_upid, CASE WHEN g.service_upid <> f.service_upid THEN g.service_upid ELSE w.upid END) AS on_upid, CASE WHEN w.upid = t.upid THEN w.comm END AS on_comm, b.cause, sum(b.duration_ns::HUGEINT * b.work_count) AS wait_ns, sum(b.duration_ns) AS thread_ns,
    coalesce(bool_or(g.service_upid = f.service_upid AND w.upid <> t.upid), false) AS is_sibling, max(k.process_count) AS process_count
  FROM followed AS b
  JOIN thread AS t USING (utid)
  JOIN owner AS f ON f.upid = t.upid
  JOIN thread AS w ON w.utid = b.on_utid
  LEFT JOIN owner AS g ON g.upid = w.upid
  LEFT JOIN helper AS k ON k.upid = w.upid
  WHERE w.upid <> t.upid OR w.utid <> t.utid AND starts_with(b.call, 'futex')
  GROUP BY ALL
), awaited AS (
  SELECT a.upid, a.on_upid, a.on_comm, any_value(a.is_sibling) AS is_sibling, sum(a.wait_ns) AS wait_ns, sum(a.thread_ns) AS thread_ns, max(a.process_count) AS process_count,
    string_agg(format(CASE a.cause WHEN 'running' THEN 'ran for {:.1f} %' WHEN 'cpu' THEN 'waited for a CPU for {:.1f} %' WHEN 'quota' THEN 'had used up its CPU quota for {:.1f} %'
      WHEN 'disk' THEN 'waited for a disk for {:.1f} %' ELSE 'did for {:.1f} % what was not recorded' END, 100 * a.wait_ns / s.total_ns), ', ' ORDER BY a.wait_ns DESC, a.cause)
      FILTER (a.wait_ns >= 0.001 * s.total_ns) AS parts
  FROM awaited_part AS a
  JOIN served AS s USING (upid)
  CROSS JOIN threshold AS h
  GROUP BY a.upid, a.on_upid, a.on_comm
  HAVING sum(a.wait_ns) > any_value(h.share_ratio * s.total_ns) AND coalesce(sum(a.wait_ns) FILTER (a.cause = 'not_recorded'), 0) < any_value(h.unknown_ratio) * sum(a.wait_ns)
), idle_wait AS (
  -- Waits of requests for somebody that had nothing to do.
  SELECT f.service_upid AS upid, coalesce(g.service_upid, o.upid) AS on_upid, o.upid AS idle_upid, b.utid, b.ts_ns, b.duration_ns, b.descriptor_id, b.on_descriptor_id
  FROM blame AS b
  JOIN thread AS t USING (utid)
  JOIN owner AS f ON f.upid = t.upid
  JOIN thread AS o ON o.utid = b.on_utid
  LEFT JOIN owner AS g ON g.upid = o.upid
  WHERE b.work = 'request' AND b.cause = 'no_work' AND b.depth > 0
), title AS (
  SELECT upid, on_upid, mode(command_line ORDER BY command_line) AS command_line
  FROM (
    SELECT DISTINCT w.upid, w.on_upid, r.ts_ns, r.command_line
    FROM idle_wait AS w
    JOIN reading AS r ON r.upid = w.idle_upid AND r.ts_ns BETWEEN w.ts_ns AND w.ts_ns + w.duration_ns
  )
  GROUP BY upid, on_upid
), awaited_title AS (
  -- For programs that write into it what they do.
  SELECT upid, on_upid, mode(command_line ORDER BY command_line) AS command_line
  FROM (
    SELECT DISTINCT a.upid, a.on_upid, r.ts_ns, r.command_line
    FROM awaited AS a
    JOIN owner AS f ON f.service_upid = a.upid
    JOIN thread AS t ON t.upid = f.upid
    JOIN blame AS b ON b.utid = t.utid AND b.work = 'request' AND b.depth > 0 AND b.cause IN ('running', 'disk', 'not_recorded')
    JOIN thread AS o ON o.utid = b.on_utid
    JOIN owner AS g ON g.upid = o.upid AND a.on_upid = CASE WHEN a.is_sibling THEN o.upid ELSE g.service_upid END
    JOIN reading AS r ON r.upid = o.upid AND r.ts_ns BETWEEN b.ts_ns AND b.ts_ns + b.duration_ns
    WHERE o.upid IN (SELECT upid FROM proc_command GROUP BY upid HAVING count(DISTINCT command_line) > 1)
  )
  GROUP BY upid, on_upid
), held AS (
  -- The longest of them, in which it held what was needed, and the connection of its client.
  SELECT w.upid, w.on_upid, w.ts_ns, w.ts_ns + w.duration_ns AS end_ns, w.duration_ns, @plain_address(d.peer) AS local, @plain_address(d.local) AS peer
  FROM idle_wait AS w
  JOIN descriptor AS d ON d.descriptor_id = w.on_descriptor_id
  CROSS JOIN threshold AS h
  WHERE d.peer IS NOT NULL
  QUALIFY row_number() OVER (PARTITION BY w.upid, w.on_upid ORDER BY w.duration_ns DESC, w.ts_ns, w.utid) <= h.longest_count
), first_word AS (
  -- When the first byte came or went on each connection that was made in the recording, and that they waited on.
  SELECT d.descriptor_id, min(s.exit_ts_ns) FILTER (s.ret > 0 AND s.name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg', 'write', 'writev', 'send', 'sendto', 'sendmsg', 'sendfile', 'sendfile64', 'splice')) AS ts_ns
  FROM descriptor AS d
  JOIN syscall AS s USING (descriptor_id)
  WHERE d.kind = 'socket' AND d.ts_ns IS NOT NULL AND d.descriptor_id IN (SELECT descriptor_id FROM idle_wait)
  GROUP BY d.descriptor_id
), mute AS (
  SELECT w.upid, w.on_upid
  FROM idle_wait AS w
  LEFT JOIN first_word AS d USING (descriptor_id)
  GROUP BY w.upid, w.on_upid
  HAVING 2 * coalesce(sum(w.duration_ns) FILTER (d.descriptor_id IS NOT NULL AND coalesce(d.ts_ns > w.ts_ns, true)), 0) > sum(w.duration_ns)
), asker AS (
  -- The threads that ask over it.
  SELECT DISTINCT @plain_address(local) AS local, @plain_address(peer) AS peer, upid, utid FROM socket_turn WHERE is_client
), awaited_client AS (
  -- Who asked it for what it did, if that was one client for most of the time.
  SELECT a.upid, a.on_upid, k.upid AS client_upid
  FROM awaited AS a
  JOIN request AS r ON r.upid = a.on_upid AND r.duration_ns IS NOT NULL
  LEFT JOIN (SELECT DISTINCT local, peer, upid FROM asker) AS k
    ON k.local = @plain_address(r.peer) AND (k.peer = @plain_address(r.local) OR r.local IS NULL) AND k.upid NOT IN (a.upid, a.on_upid)
  WHERE a.is_sibling
  GROUP BY a.upid, a.on_upid, k.upid
  QUALIFY k.upid IS NOT NULL AND 2 * sum(r.duration_ns) > sum(sum(r.duration_ns)) OVER (PARTITION BY a.upid, a.on_upid)
), called AS (
  -- What else than computing it may have done for most of the time that it ran: a system call, 1,000 times or more.
  SELECT k.first_upid AS upid, s.name, @whole(sum(s.call_count)) AS call_count, @whole(sum(s.error_count)) AS error_count
  FROM (
    SELECT utid, name, count(*) AS call_count, count(errno) AS error_count
    FROM syscall
    GROUP BY utid, name
  ) AS s
  JOIN thread AS t USING (utid)
  JOIN helper AS k USING (upid)
  CROSS JOIN threshold AS h
  WHERE k.first_upid IN (SELECT on_upid FROM awaited)
  GROUP BY k.first_upid, s.name
  HAVING sum(s.call_count) >= any_value(h.call_count)
  QUALIFY row_number() OVER (PARTITION BY k.first_upid ORDER BY sum(s.call_count) DESC, s.name) = 1
), known AS (
  SELECT a.*, CASE WHEN a.on_comm IS NOT NULL THEN 'a lock or condition (futex) that its thread ' || a.on_comm || ' had' WHEN a.process_count > 1 THEN format('{} processes {}', a.process_count, coalesce(q.name, '?'))
      ELSE format('{} ({})', coalesce(q.name, '?'), q.pid) END AS shown,
    coalesce(format('; {} {} {:,} times{}', CASE WHEN a.process_count > 1 THEN 'they call' ELSE 'it calls' END, e.name, e.call_count,
      CASE WHEN 2 * e.error_count > e.call_count THEN format(', {:.0f} % in vain', 100 * e.error_count / e.call_count) ELSE '' END), '') || coalesce(format('; its command line then: {}{}', left(t.command_line, h.shown_count),
      CASE WHEN length(t.command_line) > h.shown_count THEN '…' ELSE '' END), '') || coalesce(format('; its client: {} ({})', coalesce(k.name, '?'), k.pid), '') AS more
  FROM awaited AS a
  JOIN process AS q ON q.upid = a.on_upid
  CROSS JOIN threshold AS h
  LEFT JOIN awaited_title AS t ON t.upid = a.upid AND t.on_upid = a.on_upid
  LEFT JOIN awaited_client AS c ON c.upid = a.upid AND c.on_upid = a.on_upid
  LEFT JOIN process AS k ON k.upid = c.client_upid
  LEFT JOIN called AS e ON e.upid = a.on_upid
), client AS (
  SELECT h.upid, h.on_upid, a.upid AS client_upid, sum(h.duration_ns) AS held_ns
  FROM held AS h
  JOIN (SELECT DISTINCT local, peer, upid FROM asker) AS a ON a.local = h.local AND (a.peer = h.peer OR h.peer IS NULL)
  WHERE a.upid NOT IN (SELECT f.upid FROM owner AS f WHERE f.service_upid = h.upid)
  GROUP BY h.upid, h.on_upid, a.upid
  QUALIFY row_number() OVER (PARTITION BY h.upid, h.on_upid ORDER BY sum(h.duration_ns) DESC, a.upid) = 1
), meanwhile AS (
  -- What this client waited for most.
  SELECT h.upid, h.on_upid, b.cause, o.upid AS waited_upid, mode(o.comm ORDER BY o.comm) AS waited_comm, mode(b.on_call ORDER BY b.on_call) AS on_call, coalesce(d.peer, d.target) AS target,
    sum(least(b.ts_ns + b.duration_ns, h.end_ns) - greatest(b.ts_ns, h.ts_ns)) AS wait_ns
  FROM held AS h
  JOIN client AS c USING (upid, on_upid)
  JOIN asker AS a ON a.upid = c.client_upid AND a.local = h.local AND (a.peer = h.peer OR h.peer IS NULL)
  JOIN blame AS b ON b.utid = a.utid AND b.work IN ('request', 'call') AND b.ts_ns < h.end_ns AND b.ts_ns + b.duration_ns > h.ts_ns
  LEFT JOIN thread AS o ON o.utid = b.on_utid
  LEFT JOIN descriptor AS d ON d.descriptor_id = b.on_descriptor_id
  GROUP BY h.upid, h.on_upid, b.cause, o.upid, coalesce(d.peer, d.target)
  QUALIFY row_number() OVER (PARTITION BY h.upid, h.on_upid ORDER BY sum(least(b.ts_ns + b.duration_ns, h.end_ns) - greatest(b.ts_ns, h.ts_ns)) DESC, b.cause, o.upid, coalesce(d.peer, d.target)) = 1
), behind AS (
  SELECT c.upid, c.on_upid, format('; its client: {} ({}){}', coalesce(p.name, '?'), p.pid, CASE WHEN m.wait_ns > h.share_ratio * c.held_ns THEN
      ', which waited then for ' || @due(NULL, m.cause, CASE WHEN m.waited_comm IS NOT NULL THEN @thread_of(m.waited_comm, q.name, q.pid) END, m.target, m.on_call)
      ELSE '' END) AS text
  FROM client AS c
  JOIN process AS p ON p.upid = c.client_upid
  CROSS JOIN threshold AS h
  LEFT JOIN meanwhile AS m ON m.upid = c.upid AND m.on_upid = c.on_upid
  LEFT JOIN process AS q ON q.upid = m.waited_upid
)
SELECT
  @severity(s.request_ns_avg >= h.critical_ns AND NOT c.is_timer, NOT c.is_timer AND s.request_ns_avg >= h.request_ns AND s.outstanding >= h.outstanding) AS severity,
  format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} requests{} took {:.1f} ms on average; {:.1f} % of that time they waited {}', s.request_count, coalesce(' at ' || d.address, ''), s.request_ns_avg / 1e6,
    100 * c.wait_ns / s.total_ns,
    CASE WHEN c.is_own_lock THEN format('for a lock or condition (futex) that its thread {} had, which ran{}', coalesce(c.on_comm, '?'), c.place)
    WHEN c.is_timer THEN format('until the time that {} ({}) gave its {} was over: a timer was due, or what it waited for did not come', coalesce(q.name, '?'), q.pid, coalesce(c.on_call, 'poll')) ELSE CASE WHEN 2 * c.handed_ns > c.wait_ns THEN 'for a lock or condition (futex) that another of its threads had, which waited for '
      WHEN c.lock IS NOT NULL THEN format('for the lock of {}, due to ', c.lock) ELSE 'for ' END || @due(NULL, c.cause,
      CASE WHEN c.cause <> 'network' THEN CASE WHEN 2 * c.sibling_ns > c.wait_ns THEN 'another of its processes, ' WHEN c.on_upid = c.upid AND c.on_comm IS NOT NULL THEN 'the thread ' ELSE '' END || CASE WHEN c.on_upid = c.upid AND c.on_comm IS NOT NULL THEN c.on_comm ELSE @thread_of(c.on_comm, q.name, q.pid) END END,
      coalesce(c.on_target, c.idle_target), c.on_call) || coalesce(format(', by way of {} ({})', u.name, u.pid), '') || CASE WHEN c.lock IS NULL THEN c.way_call ELSE '' END || CASE WHEN 2 * i.wait_ns > c.wait_ns THEN ', most of it for ' || i.file ELSE '' END || c.holder || coalesce(format(' ({}, to judge by its requests)', y.likely_name), '') || coalesce(v.text, '') ||
      CASE WHEN r.upid = c.upid THEN format(': that is its own address, so it and {} ({}) wait for each other', coalesce(q.name, '?'), q.pid)
        WHEN r.upid IS NOT NULL THEN format(', where {} ({}) waits for {} ({}) meanwhile: they wait for each other', coalesce(o.name, '?'), o.pid, coalesce(p.name, '?'), p.pid) ELSE '' END ||
      CASE WHEN c.cause = 'no_work' AND e.command_line IS NOT NULL THEN format('; its command line then: {}{}', left(e.command_line, h.shown_count),
        CASE WHEN length(e.command_line) > h.shown_count THEN '…' ELSE '' END) ELSE '' END || CASE WHEN c.cause = 'no_work' THEN CASE WHEN k.upid IS NULL THEN '' ELSE '; neither end had sent a first byte on the connections that they waited on' END || coalesce(n.text, '') WHEN c.cause = 'running' THEN coalesce(z.more, '') ELSE '' END END ||
    coalesce(format('; that of who waited: {}{}', left(w.command_line, h.shown_count), CASE WHEN length(w.command_line) > h.shown_count THEN '…' ELSE '' END), '') || CASE WHEN c.on_upid = c.upid THEN coalesce(array_to_string(list_transform(j.waiting, lambda x: format('; {} waits for {}, too: {:,} requests', x.name, coalesce(p.name, '?'), x.request_count)), ''), '') ELSE '' END) AS message,
  @whole(c.thread_ns) AS cost_ns,
  CASE WHEN y.likely_name IS NOT NULL THEN ['disk ' || y.likely_name] ELSE [] END || [CASE c.cause WHEN 'cpu_taken' THEN 'the CPUs' WHEN 'quota' THEN 'quota of process ' || c.on_upid
    WHEN 'disk' THEN 'disk ' || c.on_target WHEN 'network' THEN 'peer ' || c.on_target WHEN 'sleep' THEN 'peer ' || c.on_target
    WHEN 'timeout' THEN 'timeouts of process ' || c.on_upid END] || CASE WHEN c.cause = 'timeout' AND c.on_target IS NOT NULL THEN ['peer ' || c.on_target] ELSE [] END ||
    coalesce((SELECT list('requests of ' || a.address) FROM service_address AS a JOIN owner AS f USING (upid) WHERE f.service_upid = c.upid), []) AS about
FROM named AS c
JOIN served AS s USING (upid)
JOIN process AS p USING (upid)
LEFT JOIN process AS q ON q.upid = c.on_upid
LEFT JOIN process AS u ON u.upid = c.way_upid
LEFT JOIN address AS d ON d.upid = c.upid
LEFT JOIN title AS e ON e.upid = c.upid AND e.on_upid = c.on_upid
LEFT JOIN behind AS n ON n.upid = c.upid AND n.on_upid = c.on_upid
LEFT JOIN mute AS k ON k.upid = c.upid AND k.on_upid = c.on_upid
LEFT JOIN own_title AS w ON w.upid = c.upid
LEFT JOIN known AS z ON z.upid = c.upid AND z.on_comm IS NULL AND c.cause = 'running' AND c.on_upid = CASE WHEN z.is_sibling THEN z.upid ELSE z.on_upid END
LEFT JOIN disk_file AS i ON c.cause = 'disk' AND i.upid = c.upid AND i.on_target = c.on_target
LEFT JOIN circle AS r ON c.cause IN ('network', 'timeout') AND r.address = @plain_address(c.on_target) AND (r.upid = c.upid AND r.on_upid = c.on_upid OR r.upid <> c.upid AND r.on_upid = c.upid AND c.on_upid = c.upid)
LEFT JOIN process AS o ON o.upid = r.upid
LEFT JOIN too AS j ON j.upid = c.upid AND j.cause = c.cause
LEFT JOIN neighbour AS v ON c.cause = 'disk' AND v.upid = c.upid AND v.on_target = c.on_target
LEFT JOIN disk AS y ON c.cause = 'disk' AND y.upid = c.upid AND y.on_target = c.on_target
CROSS JOIN threshold AS h
WHERE s.request_count >= CASE WHEN s.request_ns_avg >= h.long_ns THEN h.long_count WHEN s.request_ns_avg >= h.critical_ns THEN h.slow_count ELSE h.request_count END AND (s.request_ns_avg >= h.request_ns AND s.outstanding >= h.outstanding OR c.is_own_lock AND s.request_ns_avg >= h.lock_ns)
  AND c.wait_ns > h.share_ratio * s.total_ns
UNION ALL
SELECT
  @severity(s.request_ns_avg >= h.critical_ns, true) AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} requests{} took {:.1f} ms on average; {:.1f} % of that time they waited for {}{}, which {}{}', s.request_count, coalesce(' at ' || d.address, ''), s.request_ns_avg / 1e6,
    100 * c.wait_ns / s.total_ns, CASE WHEN c.is_sibling THEN 'another of its processes, ' ELSE '' END, c.shown, c.parts, c.more) AS message,
  @whole(c.thread_ns) AS cost_ns, (SELECT list('requests of ' || a.address ORDER BY a.address) FROM service_address AS a JOIN owner AS f USING (upid) WHERE f.service_upid = c.upid) AS about
FROM known AS c
JOIN served AS s USING (upid)
JOIN process AS p USING (upid)
LEFT JOIN address AS d ON d.upid = c.upid
CROSS JOIN threshold AS h
WHERE s.request_count >= CASE WHEN s.request_ns_avg >= h.long_ns THEN h.long_count WHEN s.request_ns_avg >= h.critical_ns THEN h.slow_count ELSE h.request_count END AND s.request_ns_avg >= h.request_ns AND s.outstanding >= h.outstanding
  AND NOT EXISTS (FROM named AS n WHERE n.upid = c.upid AND n.wait_ns > h.share_ratio * s.total_ns)
UNION ALL
SELECT
  @severity(2 * u.thread_count >= u.reader_count, true) AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} request{}{} no answer by the end of the recording, the longest waited {:.1f} s at least; {:.1f} % of that time {} waited for {}', u.request_count, CASE u.request_count WHEN 1 THEN '' ELSE 's' END,
    coalesce(' at ' || d.address, '') || CASE u.request_count WHEN 1 THEN ' has' ELSE ' have' END, u.longest_ns / 1e9, 100 * c.wait_ns / u.total_ns, CASE u.request_count WHEN 1 THEN 'it' ELSE 'they' END,
    @due(NULL, c.cause, c.on_shown, c.on_target, c.on_call) ||
      coalesce(format('; that of who waited: {}{}', left(w.command_line, h.shown_count), CASE WHEN length(w.command_line) > h.shown_count THEN '…' ELSE '' END), '')) AS message,
  @whole(c.wait_ns) AS cost_ns, [CASE WHEN c.cause IN ('open', 'network', 'timeout') THEN 'peer ' || c.on_target END] ||
    coalesce((SELECT list('requests of ' || a.address ORDER BY a.address) FROM service_address AS a JOIN owner AS f USING (upid) WHERE f.service_upid = u.upid), []) ||
    coalesce((SELECT list('unanswered requests of process ' || f.upid ORDER BY f.upid) FROM owner AS f WHERE f.service_upid = u.upid), []) AS about
FROM hanging AS u
JOIN hung AS c USING (upid)
JOIN process AS p USING (upid)
LEFT JOIN address AS d ON d.upid = u.upid
LEFT JOIN hung_title AS w ON w.upid = u.upid
CROSS JOIN threshold AS h
WHERE u.longest_ns >= h.open_ns AND c.wait_ns > h.share_ratio * u.total_ns
