-- service_address: the addresses at which each process answers others
-- grain: a process × local address
-- source: descriptor, socket, socket_turn
-- caveat: a process that only inherited a listening socket has its address, too
-- diff no: names, no figures
-- keys: upid
-- column address: address and port, as the peers of its clients have it (an IPv4 address that a socket of IPv6 shows is that of IPv4); with a wildcard (0.0.0.0, ::) where it only listens
SELECT DISTINCT upid, @plain_address(address) AS address
FROM (
  SELECT upid, local AS address FROM descriptor WHERE opened_by IN ('accept', 'accept4')
  UNION ALL SELECT upid, local FROM socket_turn WHERE NOT is_client
  UNION ALL SELECT upid, local FROM socket WHERE protocol = 'tcp' AND state = 'LISTEN'
)
WHERE upid IS NOT NULL AND address IS NOT NULL
ORDER BY upid, address
