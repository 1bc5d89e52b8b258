-- tcp_event: what tracepoints say about TCP connections: the round-trip time at each received segment, and retransmissions
-- grain: a received segment (tcp_probe) or a retransmission (tcp_retransmit_skb)
-- source: tcp_probe, tcp_retransmit_skb
-- caveat: if two sources recorded the events, the source with more of them counts
-- diff no: events; tcp_latency adds them up
-- keys: ts_ns
-- column event: received or retransmitted
-- column local_address: local address, as proc_socket has it
-- column local_port: local port
-- column peer_address: the other end's address
-- column peer_port: its port
-- column rtt_ns [ns]: smoothed round-trip time; NULL for a retransmission
-- column congestion_window_count [count]: congestion window, in segments; NULL for a retransmission
WITH event AS (
  -- Addresses as hex. struct sockaddr_in has the address at byte 4, sockaddr_in6 at byte 8.
  SELECT ts_ns, source_id, 'received' AS event,
    CASE family WHEN 2 THEN substr(hex(saddr), 9, 8) WHEN 10 THEN substr(hex(saddr), 17, 32) END AS local, sport AS local_port,
    CASE family WHEN 2 THEN substr(hex(daddr), 9, 8) WHEN 10 THEN substr(hex(daddr), 17, 32) END AS peer, dport AS peer_port,
    srtt::BIGINT * 1000 AS rtt_ns, snd_cwnd::BIGINT AS congestion_window_count
  FROM tcp_probe
  UNION ALL
  SELECT ts_ns, source_id, 'retransmitted',
    hex(CASE family WHEN 10 THEN saddr_v6 ELSE saddr END), sport, hex(CASE family WHEN 10 THEN daddr_v6 ELSE daddr END), dport,
    NULL, NULL
  FROM tcp_retransmit_skb
), chosen AS (
  SELECT event, source_id FROM event GROUP BY event, source_id
  QUALIFY row_number() OVER (PARTITION BY event ORDER BY count(*) DESC, source_id) = 1
), named AS (
  SELECT digits, @address(digits) AS text FROM (SELECT DISTINCT unnest([local, peer]) AS digits FROM event)
)
SELECT
  e.ts_ns, e.event, l.text AS local_address, e.local_port, p.text AS peer_address, e.peer_port, e.rtt_ns,
  e.congestion_window_count
FROM event AS e
JOIN chosen USING (event, source_id)
LEFT JOIN named AS l ON l.digits = e.local
LEFT JOIN named AS p ON p.digits = e.peer
ORDER BY e.ts_ns, e.event, local_address, e.local_port, peer_address, e.peer_port
