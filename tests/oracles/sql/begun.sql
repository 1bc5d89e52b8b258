-- The connections that calls of connect began, and those that close or shutdown ended, by the states of their sockets: the descriptor and both ends.
WITH state AS (
  SELECT ts_ns, utid, source_id, skaddr, oldstate = 7 AND newstate = 2 AS is_begin, (oldstate, newstate) IN ((1, 4), (8, 9)) AS is_end, family,
    sport AS local_port, dport AS peer_port, hex(CASE family WHEN 10 THEN saddr_v6 ELSE saddr END) AS local, hex(CASE family WHEN 10 THEN daddr_v6 ELSE daddr END) AS peer
  FROM inet_sock_set_state
  WHERE protocol = 6 AND family IN (2, 10)
), next AS (
  SELECT *, is_begin AND coalesce(lead((family, peer, peer_port)) OVER socket = (family, peer, peer_port) AND NOT lead(is_begin) OVER socket, false) AS is_next,
    lead(local) OVER socket AS next_local, lead(local_port) OVER socket AS next_local_port
  FROM state
  WINDOW socket AS (PARTITION BY source_id, skaddr ORDER BY ts_ns)
), found AS (
  -- The kernel chooses the port after the state: the next one of this socket has it.
  SELECT ts_ns, utid, is_begin, is_end, family, peer, peer_port, CASE WHEN is_next THEN next_local ELSE local END AS local,
    CASE WHEN is_next THEN next_local_port ELSE local_port END AS local_port
  FROM next
  WHERE is_begin OR is_end
), called AS (
  SELECT b.*, c.fd, b.ts_ns AS at_ns, false AS is_of_accepted
  FROM found AS b
  ASOF JOIN (SELECT utid, fd, ts_ns, exit_ts_ns FROM syscall WHERE name = 'connect' AND fd IS NOT NULL AND errno IS DISTINCT FROM 9) AS c
    ON c.utid = b.utid AND b.ts_ns >= c.ts_ns
  WHERE b.is_begin AND coalesce(b.ts_ns <= c.exit_ts_ns, true)
  UNION ALL
  -- Only the first end in a call, or within 100 µs of its return, is its own.
  SELECT b.*, c.fd, c.ts_ns, true
  FROM found AS b
  ASOF JOIN (SELECT utid, fd, ts_ns, exit_ts_ns FROM syscall WHERE name IN ('close', 'shutdown') AND fd IS NOT NULL AND errno IS DISTINCT FROM 9) AS c
    ON c.utid = b.utid AND b.ts_ns >= c.ts_ns
  WHERE b.is_end AND coalesce(b.ts_ns <= c.exit_ts_ns + 100000, true)
  QUALIFY row_number() OVER (PARTITION BY b.utid, c.ts_ns ORDER BY b.ts_ns) = 1
)
SELECT t.upid, b.fd, b.at_ns AS ts_ns, b.family,
  CASE WHEN b.local_port > 0 THEN CASE family WHEN 10 THEN '[' || @address(b.local) || ']:' ELSE @address(b.local) || ':' END || b.local_port END AS local,
  CASE family WHEN 10 THEN '[' || @address(b.peer) || ']:' ELSE @address(b.peer) || ':' END || b.peer_port AS peer, b.is_of_accepted
FROM called AS b
JOIN thread AS t ON t.utid = b.utid
WHERE t.upid IS NOT NULL
