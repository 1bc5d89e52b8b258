-- connection: the TCP connections that processes of the host began: how many were made, failed or were given up, and how long the handshake took
-- grain: a process and the other end that it connected to
-- source: inet_sock_set_state, syscall, thread, process, recorder_thread
-- caveat: the kernel tells of a failed connection when it fails, also where the program learns it later (a connect that does not wait: EINPROGRESS, then poll and getsockopt); why is not told: refused at once, or nobody answered for long (failed_avg_ns)
-- caveat: in a recording of some processes the answer of another host may come while another process runs, and is not recorded; what a connection became is then known only if the process ends it, and the time of its handshake not
-- caveat: connections that others made to this host are left out; one that was begun before the recording, too
-- diff by: process, peer_address, peer_port
-- diff sum: connection_count, connected_count, failed_count, given_up_count
-- diff mean: handshake_avg_ns by connected_count
-- diff max: handshake_max_ns
-- diff weight: 0.8
-- keys: upid, pid
-- column process: its name; the name of a thread if the process is not known
-- column peer_address: the other end's address, as proc_socket has it
-- column peer_port: its port
-- column connection_count [count]: connections that it began
-- column connected_count [count]: those that the other end accepted
-- column failed_count [count]: those that failed: refused, no way to the other end, or no answer until the kernel gave up
-- column given_up_count [count]: those that the process closed before there was an answer
-- column handshake_avg_ns [ns]: mean time from the beginning of a connection until it was made; NULL if not known
-- column handshake_max_ns [ns]: the longest such time
-- column failed_avg_ns [ns]: mean time until a connection failed or was given up
-- column first_connected_ts_ns [ns]: when the first connection began that was made
-- column first_failed_ts_ns [ns]: when the first connection began that failed or was given up
-- column last_failed_ts_ns [ns]: when the last of these began
WITH chosen AS (
  -- If two sources recorded the events, the one with more of them counts.
  SELECT source_id FROM inet_sock_set_state GROUP BY source_id ORDER BY count(*) DESC, source_id LIMIT 1
), change AS (
  -- States of include/net/tcp_states.h: 1 ESTABLISHED, 2 SYN_SENT, 7 CLOSE.
  SELECT ts_ns, utid, oldstate = 7 AND newstate = 2 AS is_begin, hex(CASE family WHEN 10 THEN daddr_v6 ELSE daddr END) AS digits, dport,
    lead(struct_pack(ts_ns := ts_ns, utid := utid, old := oldstate, new := newstate, dport := dport, daddr := daddr, daddr_v6 := daddr_v6))
      OVER (PARTITION BY skaddr ORDER BY ts_ns) AS following, daddr, daddr_v6
  FROM inet_sock_set_state
  WHERE protocol = 6 AND source_id = (FROM chosen)
), begun AS (
  -- Another socket may get the same address in the kernel.
  SELECT ts_ns, utid, digits, dport, CASE WHEN following.dport = dport AND following.daddr IS NOT DISTINCT FROM daddr
    AND following.daddr_v6 IS NOT DISTINCT FROM daddr_v6 THEN following END AS next
  FROM change
  WHERE is_begin AND utid IS NOT NULL
), call AS (
  SELECT utid, ts_ns, exit_ts_ns, name, fd
  FROM syscall
  WHERE name IN ('connect', 'close', 'exit_group') AND pairing <> 'exit_only'
    AND utid IN (SELECT utid FROM begun UNION SELECT next.utid FROM begun)
), ended AS (
  SELECT t.upid, t.pid, b.utid, coalesce(p.name, t.comm) AS process, b.digits, b.dport, b.ts_ns,
    b.next.old = 2 AND b.next.new = 7 AS is_unmade,
    -- It was made if it left SYN_SENT otherwise, or is seen in a later state.
    b.next.new <> 7 AND b.next.old <> 7 OR b.next.old NOT IN (2, 7) AS is_made,
    CASE WHEN b.next.old = 2 THEN greatest(b.next.ts_ns - b.ts_ns, 0) END AS took_ns,
    -- The process ended it itself: by a close of its descriptor, or by its exit.
    coalesce(o.upid IS NOT DISTINCT FROM t.upid AND coalesce(e.exit_ts_ns >= b.next.ts_ns, true)
      AND (e.name = 'exit_group' OR e.name = 'close' AND e.fd = c.fd), false) AS is_own
  FROM begun AS b
  ASOF LEFT JOIN call AS c ON c.utid = b.utid AND c.ts_ns <= b.ts_ns
  ASOF LEFT JOIN call AS e ON e.utid = b.next.utid AND e.ts_ns <= b.next.ts_ns
  JOIN thread AS t ON t.utid = b.utid
  LEFT JOIN thread AS o ON o.utid = b.next.utid
  LEFT JOIN process AS p ON p.upid = t.upid
), counted AS (
  SELECT upid, pid, process, digits, dport, bool_and(utid IN (SELECT utid FROM recorder_thread)) AS is_recorder,
    count(*) AS connection_count, count(*) FILTER (is_made) AS connected_count, count(*) FILTER (is_unmade AND NOT is_own) AS failed_count,
    count(*) FILTER (is_unmade AND is_own) AS given_up_count, avg(took_ns) FILTER (is_made) AS handshake_avg_ns,
    max(took_ns) FILTER (is_made) AS handshake_max_ns, avg(took_ns) FILTER (is_unmade) AS failed_avg_ns,
    min(ts_ns) FILTER (is_made) AS first_connected_ts_ns, min(ts_ns) FILTER (is_unmade) AS first_failed_ts_ns,
    max(ts_ns) FILTER (is_unmade) AS last_failed_ts_ns
  FROM ended
  GROUP BY upid, pid, process, digits, dport
)
SELECT
  upid, pid, process, @address(digits) AS peer_address, dport AS peer_port, connection_count, connected_count, failed_count, given_up_count,
  handshake_avg_ns, handshake_max_ns, failed_avg_ns, first_connected_ts_ns, first_failed_ts_ns, last_failed_ts_ns
FROM counted
ORDER BY is_recorder, connection_count DESC, upid, pid, process, peer_address, peer_port
