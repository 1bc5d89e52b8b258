-- connections_refused: Connections fail to open, or are refused: so TCP counts
-- condition: on the host, or in a network namespace of recorded processes, more than half of the connections that were opened failed (AttemptFails of ActiveOpens), 10 or more (as for
--   failing_calls), and so in the later half of the recording, as clients that wait for a server to start are refused until then: a warning from nine in ten, else a note. Not where the connections of the recorded processes explain half of them or more: failing_calls
--   judges those. Or TCP sent more resets (OutRsts) than it opened and accepted connections, 5 a second or more: a note, since a program that ends a
--   connection before it has read all sends one, too. netdata has the alerts 10s_ip_tcp_resets_received (it reads AttemptFails) and 10s_ip_tcp_resets_sent, which compare with the minute before
-- means: nobody listens at the other end, or a firewall refuses. Resets sent: others try to reach a service here that does not listen (it crashed, or somebody scans ports)
-- next: perfcase view connection: each end that was connected to, and how many connections failed, where sock:inet_sock_set_state was recorded
-- next: perfcase view tcp_activity: when
-- next: perfcase view socket: what listens here
-- taught by: -
-- source: connection, proc_command, syscall_error, tcp_activity
-- evidence: SELECT process, pid, ts_ns, interval_ns, active_open_count, attempt_fail_count, passive_open_count, out_reset_count FROM tcp_activity
--   WHERE attempt_fail_count + out_reset_count > 0 ORDER BY netns_inode NULLS FIRST, ts_ns
-- judged when: SELECT count(*) > 0 FROM tcp_activity
-- not judged: what TCP counted. It needs two snapshots of /proc/net/snmp; perfcase-record takes them by default
WITH threshold AS (
  SELECT 10 AS failed_count, 0.5 AS failed_ratio, 0.9 AS warning_ratio, 0.5 AS explained_ratio, 10 AS reset_count, 5 AS reset_per_s, 0.5 AS reset_ratio
), halved AS (
  SELECT *, 2 * ts_ns + interval_ns >= min(ts_ns) OVER w + max(ts_ns + interval_ns) OVER w AS is_later
  FROM tcp_activity
  WINDOW w AS (PARTITION BY netns_inode)
), counted AS (
  SELECT netns_inode, any_value(process) AS process, any_value(pid) AS pid, sum(interval_ns) / 1e9 AS duration_s, sum(active_open_count) AS open_count,
    sum(attempt_fail_count) AS failed_count, sum(passive_open_count) AS accepted_count, sum(out_reset_count) AS reset_count,
    @ratio(sum(attempt_fail_count) FILTER (is_later), sum(active_open_count) FILTER (is_later)) AS later_ratio
  FROM halved
  GROUP BY netns_inode
), member AS (
  SELECT upid, arg_max(netns_inode, ts_ns) AS netns_inode
  FROM proc_command
  WHERE netns_inode IN (SELECT netns_inode FROM counted)
  GROUP BY upid
), known AS (
  SELECT upid, sum(failed_count + given_up_count) AS failed_count FROM connection GROUP BY upid
  UNION ALL
  SELECT upid, sum(error_count) FROM syscall_error
  WHERE name = 'connect' AND errno_name IN ('ECONNREFUSED', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH')
  GROUP BY upid
), explained AS (
  SELECT m.netns_inode, sum(f.failed_count) AS failed_count
  FROM (SELECT upid, max(failed_count) AS failed_count FROM known GROUP BY upid) AS f
  LEFT JOIN member AS m USING (upid)
  GROUP BY m.netns_inode
), judged AS (
  SELECT c.*, @ratio(c.failed_count, c.open_count) AS failed_ratio, @ratio(c.reset_count, c.reset_count + c.open_count + c.accepted_count) AS reset_ratio,
    coalesce(e.failed_count, 0) AS explained_count
  FROM counted AS c
  LEFT JOIN explained AS e ON e.netns_inode IS NOT DISTINCT FROM c.netns_inode
)
SELECT @severity(false, j.failed_ratio >= h.warning_ratio) AS severity, 'TCP ' || @network_place(j.netns_inode, j.process, j.pid) AS subject,
  format('{} of {} connections that were opened failed ({:.1f} %)', @whole(j.failed_count), @whole(j.open_count), least(100, 100 * j.failed_ratio)) AS message,
  least(1, j.failed_ratio)::DOUBLE AS failed_ratio
FROM judged AS j
CROSS JOIN threshold AS h
WHERE j.failed_count >= h.failed_count AND j.failed_ratio > h.failed_ratio AND j.later_ratio > h.failed_ratio AND j.explained_count < h.explained_ratio * j.failed_count
UNION ALL
SELECT @severity(false, false), 'TCP ' || @network_place(j.netns_inode, j.process, j.pid),
  format('{} resets were sent, {:.1f} a second; {} connections were opened and {} accepted meanwhile', @whole(j.reset_count), j.reset_count / j.duration_s, @whole(j.open_count),
    @whole(j.accepted_count)), NULL::DOUBLE
FROM judged AS j
CROSS JOIN threshold AS h
WHERE j.reset_count >= h.reset_count AND j.reset_count >= h.reset_per_s * j.duration_s AND j.reset_ratio > h.reset_ratio
