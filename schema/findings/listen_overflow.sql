-- listen_overflow: New connections are dropped: the accept queue is full
-- condition: the kernel counted an overflow of an accept queue during the recording (TcpExt ListenOverflows) on the host or in a network namespace of recorded processes, or a snapshot
--   shows a listening TCP socket with more waiting connections than its backlog. Critical if one in ten of the incoming
--   connections met it
-- means: the kernel drops what it cannot queue, and says nothing. The client tries again after one second, then after three, seven, …, so a service that answers in milliseconds takes
--   seconds for some. The program accepts too slowly (all its threads are busy, or its event loop is blocked), or its backlog
--   is too small
-- next: perfcase view socket: listening sockets with their waiting connections (recv_queue_bytes) and their backlog
--   (send_queue_bytes)
-- next: perfcase findings: what prevents the program from accepting
-- next: raise the backlog of listen() and net.core.somaxconn, but only if the program accepts quickly and bursts are short
-- about: the peers that are not accepted: the listening addresses
-- follows from: service_asleep
-- taught by: -
-- source: socket, tcp_activity
-- evidence: SELECT process, pid, ts_ns, interval_ns, passive_open_count, listen_overflow_count, listen_drop_count, retransmit_count FROM tcp_activity
--   ORDER BY netns_inode NULLS FIRST, ts_ns
-- judged when: SELECT count(*) > 0 FROM tcp_activity
-- not judged: what TCP counted. It needs two snapshots of /proc/net/netstat and snmp; perfcase-record takes them by default
WITH threshold AS (
  SELECT 1 AS overflow_count, 0.1 AS critical_ratio
), counted AS (
  SELECT netns_inode, any_value(process) AS process, any_value(pid) AS pid, sum(listen_overflow_count) AS overflow_count,
    sum(passive_open_count) AS passive_count, count(*) FILTER (listen_overflow_count > 0) AS interval_count
  FROM tcp_activity
  GROUP BY netns_inode
), full_queue AS (
  -- A namespace may have no counters of its own: its sockets are the host's.
  SELECT CASE WHEN netns_inode IN (SELECT netns_inode FROM counted) THEN netns_inode END AS counted_inode, comm, pid, local, max(recv_queue_bytes) AS waiting_count, max(send_queue_bytes) AS backlog_count
  FROM socket
  WHERE protocol = 'tcp' AND state = 'LISTEN' AND recv_queue_bytes > send_queue_bytes
  GROUP BY counted_inode, comm, pid, local
), queues AS (
  SELECT counted_inode AS netns_inode, string_agg(format('{} of {}: {} waited for a backlog of {}', local, coalesce(comm || ' (' || pid || ')', 'an unknown process'), waiting_count, backlog_count),
    '; ' ORDER BY waiting_count DESC, local, pid) AS text, count(*) AS queue_count, list_sort(list(DISTINCT 'peer ' || local) || list(DISTINCT 'requests of ' || local)) AS about
  FROM full_queue
  GROUP BY counted_inode
), both_told AS (
  SELECT netns_inode, any_value(process) AS process, any_value(pid) AS pid, @whole(coalesce(max(overflow_count), 0)) AS overflow_count, @whole(coalesce(max(passive_count), 0)) AS passive_count,
    max(interval_count) AS interval_count, max(text) AS text, coalesce(max(queue_count), 0) AS queue_count,
    any_value(about) AS about
  FROM (
    SELECT netns_inode, process, pid, overflow_count, passive_count, interval_count, NULL AS text, NULL AS queue_count, NULL AS about FROM counted
    UNION ALL SELECT netns_inode, NULL, NULL, NULL, NULL, NULL, text, queue_count, about FROM queues
  )
  GROUP BY netns_inode
), found AS (
  SELECT *, @ratio(overflow_count, overflow_count + passive_count) AS dropped_ratio FROM both_told
)
SELECT
  @severity(f.dropped_ratio >= h.critical_ratio, true) AS severity,
  'listening sockets' || CASE WHEN f.netns_inode IS NULL THEN '' ELSE ' ' || @network_place(f.netns_inode, f.process, f.pid) END AS subject,
  concat_ws('; ',
    CASE WHEN f.overflow_count > 0 THEN format('{} time{} a connection found the accept queue full, in {} interval{}: {:.1f} % of those that came in ({} were accepted)',
      f.overflow_count, CASE f.overflow_count WHEN 1 THEN '' ELSE 's' END, f.interval_count, CASE f.interval_count WHEN 1 THEN '' ELSE 's' END, 100 * f.dropped_ratio, f.passive_count) END,
    f.text) AS message,
  -- What waits in a queue that is full in a snapshot is not counted.
  nullif(f.dropped_ratio, 0)::DOUBLE AS failed_ratio, coalesce(f.about, []) AS about
FROM found AS f
CROSS JOIN threshold AS h
WHERE f.overflow_count >= h.overflow_count OR f.queue_count > 0
