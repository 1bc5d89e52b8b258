-- file_descriptor: what each process has open, as lsof prints it
-- grain: a snapshot × process × descriptor
-- source: proc_fd, proc_socket, proc_limit, process_name
-- caveat: descriptors are listed at a lower rate than the other snapshots; if a descriptor was opened and closed between two of them, only syscall has it, if system calls were recorded
-- caveat: it has the recorded processes only; 20,000 descriptors in a snapshot at most
-- diff by: comm
-- diff max: open_count, open_ratio
-- diff weight: 0.6
-- as in proc_fd: ts_ns, snapshot, upid, pid
-- column comm: the process's name at the snapshot
-- as in proc_fd: fd, kind, target
-- column is_deleted: true if the file was deleted: its space is freed when the descriptor is closed
-- as in proc_fd: inode
-- as in proc_socket: protocol, state
-- column local: for a socket: address and port, or its name
-- column peer: for a socket: address and port of the other end
-- column holder_count [count]: for a socket or pipe: descriptors of all recorded processes that refer to it
-- column open_count [count]: open descriptors of the process
-- column limit_count [count]: how many descriptors it may have (soft limit); NULL: not read, or unlimited
-- column open_ratio [ratio]: open_count as a share of limit_count
WITH socket AS (
  SELECT source_id, snapshot, upid, fd, any_value(protocol) AS protocol, any_value(state) AS state,
    any_value(CASE WHEN family = 'unix' THEN local_address WHEN family = 'inet6' THEN '[' || local_address || ']:' || local_port
      ELSE local_address || ':' || local_port END) AS local,
    any_value(CASE WHEN family = 'inet6' THEN '[' || peer_address || ']:' || peer_port
      ELSE peer_address || ':' || peer_port END) AS peer
  FROM proc_socket
  WHERE fd IS NOT NULL
  GROUP BY source_id, snapshot, upid, fd
), limited AS (
  SELECT upid, ts_ns, soft FROM proc_limit WHERE name = 'Max open files'
), listed AS (
  SELECT *,
    count(*) OVER (PARTITION BY source_id, snapshot, upid) AS open_count,
    CASE WHEN inode IS NOT NULL THEN count(*) OVER (PARTITION BY source_id, snapshot, kind, inode) END AS holder_count
  FROM proc_fd
)
SELECT
  f.ts_ns, f.snapshot, f.upid, f.pid, p.name AS comm, f.fd, f.kind, f.target,
  f.kind IN ('file', 'device') AND f.target LIKE '% (deleted)' AS is_deleted,
  f.inode, s.protocol, s.state, s.local, s.peer, f.holder_count, f.open_count, l.soft AS limit_count,
  @ratio(f.open_count, l.soft) AS open_ratio
FROM listed AS f
ASOF LEFT JOIN process_name AS p ON p.upid = f.upid AND p.since_ts_ns <= f.ts_ns
LEFT JOIN socket AS s ON s.source_id = f.source_id AND s.snapshot = f.snapshot AND s.upid = f.upid AND s.fd = f.fd
ASOF LEFT JOIN limited AS l ON l.upid = f.upid AND l.ts_ns <= f.ts_ns
ORDER BY f.source_id, f.snapshot, f.pid, f.upid, f.fd
