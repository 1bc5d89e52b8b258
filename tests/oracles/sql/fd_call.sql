-- What the view fd_call must hold, from descriptors and calls.
WITH call AS (
  SELECT s.ts_ns, s.exit_ts_ns, s.duration_ns, s.utid, s.name_id, t.upid, s.name, s.fd, s.ret, s.errno
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  WHERE s.fd IS NOT NULL
), history AS (
  SELECT *, coalesce(ts_ns, -4611686018427387904) AS from_ts_ns, coalesce(end_ts_ns, 9223372036854775807) AS to_ts_ns
  FROM descriptor
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
