-- fd_call: each system call on a descriptor, with what the descriptor was at that time
-- grain: a system call with a descriptor among its arguments
-- source: syscall, thread, fd_history
-- caveat: if a call has several descriptors, the first is meant
-- diff no: events; syscall_by_fd and peer_wait add them up
-- as in syscall: ts_ns, exit_ts_ns, duration_ns, utid, name_id
-- keys: upid
-- as in syscall: name, fd, ret, errno
-- column since_ts_ns [ns]: when the descriptor became this; NULL if that was before the capture or is not known
-- as in fd_history: kind, target, local, peer
WITH call AS (
  SELECT s.ts_ns, s.exit_ts_ns, s.duration_ns, s.utid, s.name_id, t.upid, s.name, s.fd, s.ret, s.errno
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  WHERE s.fd IS NOT NULL
), history AS (
  SELECT *, coalesce(ts_ns, -4611686018427387904) AS from_ts_ns, coalesce(end_ts_ns, 9223372036854775807) AS to_ts_ns
  FROM fd_history
), joined AS (
  SELECT c.*, h.ts_ns AS since_ts_ns, h.kind, h.target, h.local, h.peer, coalesce(c.ts_ns < h.to_ts_ns, FALSE) AS is_now
  FROM call AS c
  ASOF LEFT JOIN history AS h ON h.upid = c.upid AND h.fd = c.fd AND c.ts_ns >= h.from_ts_ns
)
SELECT
  ts_ns, exit_ts_ns, duration_ns, utid, name_id, upid, name, fd, ret, errno,
  CASE WHEN is_now THEN since_ts_ns END AS since_ts_ns,
  CASE WHEN is_now THEN kind END AS kind,
  CASE WHEN is_now THEN target END AS target,
  CASE WHEN is_now THEN local END AS local,
  CASE WHEN is_now THEN peer END AS peer
FROM joined
ORDER BY ts_ns, utid, fd, name
