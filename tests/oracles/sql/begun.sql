-- The connections that calls of connect began, by the states of their sockets: the descriptor and both ends.
SELECT t.upid, c.fd, b.ts_ns, b.family,
  CASE WHEN b.local_port > 0 THEN CASE family WHEN 10 THEN '[' || @address(b.local) || ']:' ELSE @address(b.local) || ':' END || b.local_port END AS local,
  CASE family WHEN 10 THEN '[' || @address(b.peer) || ']:' ELSE @address(b.peer) || ':' END || b.peer_port AS peer
FROM (
  SELECT ts_ns, utid, is_begin, family, peer, peer_port,
    -- The kernel chooses the port after the state: the next one of this socket has it.
    CASE WHEN is_next THEN lead(local) OVER socket ELSE local END AS local,
    CASE WHEN is_next THEN lead(local_port) OVER socket ELSE local_port END AS local_port
  FROM (
    SELECT *, coalesce(lead((family, peer, peer_port)) OVER socket = (family, peer, peer_port) AND NOT lead(is_begin) OVER socket, false) AS is_next
    FROM (
      SELECT ts_ns, utid, source_id, skaddr, oldstate = 7 AND newstate = 2 AS is_begin, family, sport AS local_port, dport AS peer_port,
        hex(CASE family WHEN 10 THEN saddr_v6 ELSE saddr END) AS local, hex(CASE family WHEN 10 THEN daddr_v6 ELSE daddr END) AS peer
      FROM inet_sock_set_state
      WHERE protocol = 6 AND family IN (2, 10)
    )
    WINDOW socket AS (PARTITION BY source_id, skaddr ORDER BY ts_ns)
  )
  WINDOW socket AS (PARTITION BY source_id, skaddr ORDER BY ts_ns)
) AS b
ASOF JOIN (SELECT utid, fd, ts_ns, exit_ts_ns FROM syscall WHERE name = 'connect' AND fd IS NOT NULL) AS c
  ON c.utid = b.utid AND b.ts_ns >= c.ts_ns
JOIN thread AS t ON t.utid = b.utid
WHERE b.is_begin AND coalesce(b.ts_ns <= c.exit_ts_ns, true) AND t.upid IS NOT NULL
