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
), address AS (
  SELECT digits,
    array_to_string(list_transform(
      [1, 3, 5, 7], lambda i: ('0x' || substr(CASE len(digits) WHEN 8 THEN digits ELSE digits[25:] END, i, 2))::INTEGER), '.') AS short,
    array_to_string(list_transform(
      [1, 5, 9, 13, 17, 21, 25, 29], lambda i: coalesce(nullif(ltrim(lower(substr(digits, i, 4)), '0'), ''), '0')), ':') AS long
  FROM (SELECT DISTINCT unnest([local, peer]) AS digits FROM event)
  WHERE len(digits) IN (8, 32)
), named AS (
  -- The longest run of zeros is left out, the first of several (RFC 5952).
  SELECT digits, CASE
      WHEN len(digits) = 8 THEN short
      WHEN starts_with(long, '0:0:0:0:0:ffff:') THEN '::ffff:' || short
      WHEN long = '0:0:0:0:0:0:0:0' THEN '::'
      WHEN regexp_matches(long, '(^|:)0(:0){6}(:|$)') THEN regexp_replace(long, '(^|:)0(:0){6}(:|$)', '::')
      WHEN regexp_matches(long, '(^|:)0(:0){5}(:|$)') THEN regexp_replace(long, '(^|:)0(:0){5}(:|$)', '::')
      WHEN regexp_matches(long, '(^|:)0(:0){4}(:|$)') THEN regexp_replace(long, '(^|:)0(:0){4}(:|$)', '::')
      WHEN regexp_matches(long, '(^|:)0(:0){3}(:|$)') THEN regexp_replace(long, '(^|:)0(:0){3}(:|$)', '::')
      WHEN regexp_matches(long, '(^|:)0(:0){2}(:|$)') THEN regexp_replace(long, '(^|:)0(:0){2}(:|$)', '::')
      WHEN regexp_matches(long, '(^|:)0:0(:|$)') THEN regexp_replace(long, '(^|:)0:0(:|$)', '::')
      ELSE long
    END AS text
  FROM address
)
SELECT
  e.ts_ns, e.event, l.text AS local_address, e.local_port, p.text AS peer_address, e.peer_port, e.rtt_ns,
  e.congestion_window_count
FROM event AS e
JOIN chosen USING (event, source_id)
LEFT JOIN named AS l ON l.digits = e.local
LEFT JOIN named AS p ON p.digits = e.peer
ORDER BY e.ts_ns, e.event, local_address, e.local_port, peer_address, e.peer_port
