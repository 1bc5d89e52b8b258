-- tcp_stalls: answers on a socket that came as late as a delayed acknowledgement: Nagle's algorithm, or a lost segment
-- grain: a wait for an answer of 38 to 60 ms, or of 190 to 260 ms: from the last write on a socket to the first bytes read after it
-- source: socket_answer, recorder_thread
-- caveat: a peer that takes this long to answer looks the same. Signs of a stall: many of them have one length, and is_write_write_read is true: Nagle's algorithm holds back two writes in a row without a read between them
-- caveat: only descriptors known to be sockets (socket_answer); unix and netlink sockets are left out if they are known, datagram sockets are not
-- diff by: comm, looks_like, peer
-- diff sum: gap_ns, write_count
-- diff weight: 0.8
-- as in socket_answer: ts_ns
-- column gap_ns [ns]: time from the last write until the answer was read
-- column looks_like: delayed_ack_40ms (Linux's least delay) or delayed_ack_200ms (its longest, other systems' usual one, and Linux's least retransmission timeout)
-- column is_write_write_read: several writes went before the answer, the last one below a full segment
-- as in socket_answer: utid, tid, pid, comm, fd, local, peer, write_count, write_bytes, write_last_bytes, write_name, read_name
SELECT
  ts_ns, gap_ns, CASE WHEN gap_ns < 100000000 THEN 'delayed_ack_40ms' ELSE 'delayed_ack_200ms' END AS looks_like,
  write_count > 1 AND write_last_bytes < 1448 AS is_write_write_read,
  utid, tid, pid, comm, fd, local, peer, write_count, write_bytes, write_last_bytes, write_name, read_name
FROM socket_answer
WHERE (gap_ns BETWEEN 38000000 AND 60000000 OR gap_ns BETWEEN 190000000 AND 260000000)
  AND coalesce(family NOT IN ('unix', 'netlink', 'packet'), true)
ORDER BY utid IN (SELECT utid FROM recorder_thread), gap_ns DESC, ts_ns, utid, fd
