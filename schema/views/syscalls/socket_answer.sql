-- socket_answer: requests on sockets and their answers: what was written, and how long until the first bytes came back
-- grain: a turn on a socket of a process: one write or several without a read between them, then the first read
-- source: socket_turn, process, thread, thread_name
-- caveat: at a server's end the answer is the next request: gap_ns is the client's pause; is_client distinguishes the ends
-- caveat: if requests go out before the answer to an earlier one has come (pipelining, HTTP/2), they make one turn; gap_ns then counts from the last write
-- caveat: writes without an answer in the capture are left out
-- caveat: a descriptor counts as a socket if a snapshot says so, or if socket, accept or connect made or used it
-- diff by: process, peer, is_client
-- diff sum: write_count, write_bytes, gap_ns
-- diff weight: 0.8
-- as in socket_turn: ts_ns, answer_ts_ns, gap_ns
-- keys: upid, pid
-- column process: its name when the answer was read
-- as in socket_turn: utid
-- keys: tid
-- column comm: the thread's name when the answer was read
-- as in socket_turn: writer_utid
-- keys: fd
-- as in socket_turn: since_ts_ns, family, local, peer, is_client
-- as in socket_turn: write_count, write_bytes, write_last_bytes, write_name, read_name
SELECT
  a.ts_ns, a.answer_ts_ns, a.gap_ns, a.upid, p.pid, coalesce(m.comm, p.name) AS process, a.utid, t.tid, coalesce(n.comm, t.comm) AS comm, a.writer_utid, a.fd,
  a.since_ts_ns, a.family, a.local, a.peer, a.is_client,
  a.write_count, a.write_bytes, a.write_last_bytes, a.write_name, a.read_name
FROM socket_turn AS a
LEFT JOIN thread AS t USING (utid)
LEFT JOIN thread_name AS n ON n.name_id = a.name_id
LEFT JOIN process AS p ON p.upid = a.upid
LEFT JOIN thread_name AS m ON m.name_id = a.process_name_id
ORDER BY a.ts_ns, a.upid, a.fd
