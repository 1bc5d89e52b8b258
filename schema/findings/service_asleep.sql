-- service_asleep: A service has stopped answering: nothing of it runs, while connections wait for it
-- condition: from the first snapshot of sockets to the last, three or more and 2 s apart or more, connections waited at a listening socket of TCP until somebody accepts them, never fewer than
--   before; and no thread of those processes that have accepted connections at this address (or, if none has one, of all that hold the socket) ran from the first snapshot of
--   threads to the last: the kernel counted no run of them (schedstat). Stopped threads are another finding. Critical. This is the saturated resource of the USE method, whose server does not work;
--   what hangs since before the recording makes no calls in it, so only snapshots know it (hung tasks in the kernel's documentation, /proc/PID/wchan in proc(5))
-- means: a deadlock, a lock or a semaphore whose holder has ended or waits itself, or a peer without a time limit. More clients fill the accept queue, and then wait until they give up
-- next: perfcase view thread_census: where its threads sleep
-- next: ipcs -s, lslocks, jstack, py-spy dump or gdb on the host, if it is still so: who has what they wait for
-- about: the listening address, and the requests there
-- follows from: stopped
-- taught by: -
-- source: proc_thread, process, socket, thread, workload_thread
-- evidence: SELECT process, pid, snapshot, comm, state, wait_channel, thread_count FROM thread_census ORDER BY snapshot, pid, comm, state, wait_channel
-- judged when: SELECT count(DISTINCT snapshot) > 2 FROM socket WHERE protocol = 'tcp'
-- not judged: which connections wait at three times. It needs snapshots of the sockets; perfcase-record takes them by default
WITH threshold AS (
  SELECT 3 AS snapshot_count, 2000000000 AS span_ns
), queued AS (
  SELECT netns_inode, inode, snapshot, any_value(local) AS local, min(ts_ns) AS ts_ns, max(recv_queue_bytes) AS waiting_count
  FROM socket
  WHERE protocol = 'tcp' AND state = 'LISTEN' AND inode IS NOT NULL
  GROUP BY netns_inode, inode, snapshot
), stepped AS (
  SELECT *, waiting_count - lag(waiting_count) OVER (PARTITION BY netns_inode, inode ORDER BY snapshot) AS step_count FROM queued
), waited AS (
  SELECT netns_inode, inode, any_value(local) AS local, max(waiting_count) AS waiting_count, avg(waiting_count) AS waiting_avg, max(ts_ns) - min(ts_ns) AS span_ns
  FROM stepped
  GROUP BY netns_inode, inode
  HAVING min(waiting_count) > 0 AND coalesce(min(step_count), 0) >= 0 AND count(*) >= any_value((SELECT snapshot_count FROM threshold))
    AND count(*) = (SELECT count(DISTINCT snapshot) FROM queued) AND max(ts_ns) - min(ts_ns) >= (SELECT span_ns FROM threshold)
), holder AS (
  -- Who forks workers holds the socket too, and need not serve.
  SELECT DISTINCT w.netns_inode, w.inode, s.upid,
    EXISTS (FROM socket AS e WHERE e.upid = s.upid AND e.protocol = 'tcp' AND e.state IN ('ESTAB', 'CLOSE-WAIT') AND e.netns_inode IS NOT DISTINCT FROM w.netns_inode
      AND split_part(@plain_address(e.local), ':', -1) = split_part(@plain_address(w.local), ':', -1)) AS has_accepted
  FROM waited AS w
  JOIN socket AS s ON s.inode = w.inode AND s.netns_inode IS NOT DISTINCT FROM w.netns_inode AND s.state = 'LISTEN'
  WHERE s.upid IS NOT NULL
), server AS (
  SELECT netns_inode, inode, upid FROM holder QUALIFY has_accepted = max(has_accepted) OVER (PARTITION BY netns_inode, inode)
), seen AS (
  SELECT t.upid, p.utid, max(p.ts_ns) - min(p.ts_ns) AS span_ns, max(p.run_count) - min(p.run_count) AS run_count, count(*) = count(p.run_count) AS is_counted,
    bool_or(p.state NOT IN ('S', 'D')) AS is_other, mode(p.wait_channel ORDER BY p.wait_channel) AS wait_channel
  FROM proc_thread AS p
  JOIN thread AS t USING (utid)
  WHERE t.upid IN (SELECT upid FROM server)
  GROUP BY t.upid, p.utid
), asleep AS (
  SELECT s.netns_inode, s.inode, count(DISTINCT s.upid) AS process_count, count(*) AS thread_count, min(e.span_ns) AS span_ns, mode(e.wait_channel ORDER BY e.wait_channel) AS wait_channel,
    count(*) FILTER (e.wait_channel IS NOT NULL) AS known_count, min(s.upid) AS upid
  FROM server AS s
  JOIN seen AS e USING (upid)
  WHERE s.upid IN (SELECT upid FROM workload_thread)
  GROUP BY s.netns_inode, s.inode
  HAVING bool_and(e.run_count = 0 AND e.is_counted AND NOT e.is_other) AND min(e.span_ns) >= (SELECT span_ns FROM threshold)
    AND count(DISTINCT s.upid) = (SELECT count(*) FROM server AS a WHERE a.netns_inode IS NOT DISTINCT FROM s.netns_inode AND a.inode = s.inode)
), place AS (
  SELECT s.netns_inode, s.inode, e.wait_channel, count(*) AS thread_count FROM server AS s JOIN seen AS e USING (upid) GROUP BY ALL
)
SELECT
  'critical' AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} connection{} wait{} at {} to be accepted, and {} that serve{} there {} not run for {:.2f} s{}', w.waiting_count, CASE w.waiting_count WHEN 1 THEN '' ELSE 's' END,
    CASE w.waiting_count WHEN 1 THEN 's' ELSE '' END, w.local,
    CASE WHEN a.process_count > 1 THEN format('the {} processes', a.process_count) ELSE 'the process' END, CASE WHEN a.process_count > 1 THEN '' ELSE 's' END,
    CASE WHEN a.process_count > 1 THEN 'have' ELSE 'has' END, a.span_ns / 1e9,
    CASE WHEN a.known_count = 0 THEN '' ELSE format(': {} of {} thread{} sleep in {}{}', k.thread_count, a.thread_count, CASE a.thread_count WHEN 1 THEN '' ELSE 's' END, a.wait_channel,
      CASE WHEN a.wait_channel SIMILAR TO '.*semtimedop.*' THEN ', for a semaphore of System V (semop)' WHEN a.wait_channel SIMILAR TO '.*futex.*' THEN ', for a lock or condition (futex)'
        WHEN a.wait_channel SIMILAR TO '.*(flock|posix_lock).*' THEN ', for the lock of a file' WHEN a.wait_channel SIMILAR TO '.*pipe_(read|write).*' THEN ', for the other end of a pipe'
        WHEN a.wait_channel IN ('wait_woken', 'sk_wait_data', 'unix_stream_data_wait') THEN ', for the other end of a socket' ELSE '' END) END) AS message,
  @whole(a.span_ns * w.waiting_avg) AS cost_ns, ['peer ' || @plain_address(w.local), 'requests of ' || @plain_address(w.local)] AS about
FROM waited AS w
JOIN asleep AS a ON a.netns_inode IS NOT DISTINCT FROM w.netns_inode AND a.inode = w.inode
JOIN process AS p ON p.upid = a.upid
LEFT JOIN place AS k ON k.netns_inode IS NOT DISTINCT FROM a.netns_inode AND k.inode = a.inode AND k.wait_channel = a.wait_channel
