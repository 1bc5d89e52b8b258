-- slow_reader: A thread waits in send, because the other end reads slowly
-- condition: on a TCP connection the kernel counted that the other end's window was the limit (tcpi_rwnd_limited) during half or more of the time from
--   the first snapshot to the last, and 1 s or more; and a thread of the process was held up by that: in half of the snapshots or more one slept
--   where send waits for room (wait_woken, sk_stream_wait_memory), or its calls that write to this peer took half of this time. A program
--   that does not wait (non-blocking sockets) is not held up, however slow its clients are. A warning
-- means: the thread does nothing else for as long as its client likes: a pool of such threads is used up by a few slow clients. The
--   network and this process are fast enough
-- next: perfcase view socket: send_queue_bytes here, recv_queue_bytes at the other end
-- next: perfcase view blame_by_comm: who waits for this thread meanwhile
-- next: a proxy that buffers (nginx), a send timeout, non-blocking writes; if the reader is yours: see what it does between its reads
-- about: the peer
-- taught by: -
-- source: descriptor, proc_thread, process, socket, syscall, thread, workload_thread
-- evidence: SELECT comm, pid, local, peer, ts_ns, recv_queue_bytes, send_queue_bytes, busy_ns, receiver_limited_ratio FROM socket
--   WHERE protocol = 'tcp' AND state = 'ESTAB' ORDER BY receiver_limited_ratio * busy_ns DESC NULLS LAST, ts_ns, pid, fd
-- judged when: SELECT count(DISTINCT snapshot) > 1 FROM socket WHERE busy_ns IS NOT NULL
-- not judged: how long the other end's window was the limit, at two snapshots; perfcase-record takes them on Linux 4.9 and later
WITH threshold AS (
  SELECT 0.5 AS limited_ratio, 1000000000 AS limited_ns, 0.5 AS held_ratio
), listed AS (
  SELECT netns_inode, inode, local, peer, snapshot, ts_ns, min(upid) AS upid, max(busy_ns * receiver_limited_ratio) AS limited_ns
  FROM socket
  WHERE protocol = 'tcp' AND state = 'ESTAB' AND upid IN (SELECT upid FROM workload_thread)
  GROUP BY netns_inode, inode, local, peer, snapshot, ts_ns
), limited AS (
  SELECT l.upid, l.local, l.peer, max(l.limited_ns) - min(l.limited_ns) AS limited_ns, max(l.ts_ns) - min(l.ts_ns) AS span_ns
  FROM listed AS l
  CROSS JOIN threshold AS h
  GROUP BY l.upid, l.netns_inode, l.inode, l.local, l.peer, h.limited_ratio, h.limited_ns
  HAVING max(l.limited_ns) - min(l.limited_ns) >= greatest(h.limited_ns, h.limited_ratio * (max(l.ts_ns) - min(l.ts_ns)))
), asleep AS (
  SELECT t.upid, p.utid, count(*) FILTER (p.wait_channel IN ('wait_woken', 'sk_stream_wait_memory')) / count(*) AS held_ratio
  FROM proc_thread AS p
  JOIN thread AS t USING (utid)
  WHERE t.upid IN (SELECT upid FROM limited)
  GROUP BY t.upid, p.utid
), writing AS (
  SELECT d.upid, d.peer, s.utid, sum(s.duration_ns) AS write_ns
  FROM syscall AS s
  JOIN descriptor AS d USING (descriptor_id)
  WHERE s.name IN ('write', 'writev', 'pwrite64', 'send', 'sendto', 'sendmsg', 'sendmmsg', 'sendfile', 'sendfile64', 'splice')
    AND d.upid IN (SELECT upid FROM limited) AND d.peer IS NOT NULL
  GROUP BY d.upid, d.peer, s.utid
), held AS (
  SELECT l.upid, l.local, l.peer, l.limited_ns, l.span_ns, coalesce(w.utid, a.utid) AS utid
  FROM limited AS l
  CROSS JOIN threshold AS h
  LEFT JOIN writing AS w ON w.upid = l.upid AND w.peer = l.peer AND w.write_ns >= h.held_ratio * l.span_ns
  LEFT JOIN (SELECT upid, arg_max(utid, (held_ratio, -utid::BIGINT)) AS utid, max(held_ratio) AS held_ratio FROM asleep GROUP BY upid) AS a
    ON a.upid = l.upid AND a.held_ratio >= h.held_ratio
  WHERE w.utid IS NOT NULL OR a.utid IS NOT NULL
), reader AS (
  SELECT @plain_address(local) AS local, @plain_address(peer) AS peer, min_by(comm, pid) AS comm, min(pid) AS pid FROM socket WHERE comm IS NOT NULL GROUP BY ALL
), total AS (
  SELECT h.upid, count(DISTINCT h.utid) AS thread_count, count(DISTINCT (h.local, h.peer)) AS connection_count, arg_max(h.peer, (h.limited_ns, h.peer)) AS peer,
    arg_max(format('{} ({})', r.comm, r.pid), (h.limited_ns, h.peer)) AS reader, max(h.limited_ns) AS limited_ns, arg_max(h.span_ns, (h.limited_ns, h.peer)) AS span_ns,
    list(DISTINCT 'peer ' || @plain_address(h.local)) AS about
  FROM held AS h
  LEFT JOIN reader AS r ON r.local = @plain_address(h.peer) AND r.peer = @plain_address(h.local)
  GROUP BY h.upid
)
SELECT
  'warning' AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} thread{} wait{} in send for {}{}: it reads slowly, and its window was the limit for {:.2f} s of {:.2f} s{}', x.thread_count,
    CASE x.thread_count WHEN 1 THEN '' ELSE 's' END, CASE x.thread_count WHEN 1 THEN 's' ELSE '' END, coalesce(x.reader || ' at ', ''), x.peer, x.limited_ns / 1e9, x.span_ns / 1e9,
    CASE x.connection_count WHEN 1 THEN '' ELSE format(' (and {} more)', x.connection_count - 1) END) AS message,
  @whole(x.limited_ns * x.thread_count) AS cost_ns, list_sort(x.about) AS about
FROM total AS x
JOIN process AS p USING (upid)
