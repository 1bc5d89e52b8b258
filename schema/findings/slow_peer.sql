-- slow_peer: One peer answers much later than the others and causes most of the waiting
-- condition: of all time that the connections of a program to other services waited for an answer, more than half was for one
--   peer (address and port), and its answers took five times as long on average as those of the others. 20 answers or more came from it, after 1 ms or more on average (less is the round trip of a
--   network), and half a request or more was out on average at any moment (below that, the program spends most of its time
--   elsewhere). A warning from 10 ms, else a note
-- means: this peer, or the network to it, limits the program. A faster program changes little. A peer that answers only when it
--   has something to say (a work queue, a long poll) looks the same
-- next: perfcase view tcp_latency: whether the round trip or the peer's own work takes the time
-- next: perfcase view socket_answer: each request, its answer and the thread that waited
-- next: record the host of the peer too, and look for what it waits for
-- about: the peer
-- follows from: delayed_ack, event_loop_computes, failing_calls, fd_leak, large_answers, listen_overflow, service_asleep, slow_reader, small_send_buffer, standing_queue
-- taught by: Identifying an off-CPU bottleneck
-- source: recorded_span, socket_answer
-- evidence: SELECT process, peer, count(*) AS answer_count, sum(gap_ns) AS waited_ns, avg(gap_ns) AS gap_ns_avg, max(gap_ns) AS gap_ns_max
--   FROM socket_answer WHERE is_client AND peer IS NOT NULL GROUP BY ALL ORDER BY waited_ns DESC, process, peer
WITH threshold AS (
  SELECT 0.5 AS share_ratio, 5 AS times_others, 20 AS answer_count, 1000000 AS gap_ns, 10000000 AS warning_ns, 0.5 AS outstanding
), waited AS (
  SELECT process, peer, count(*) AS answer_count, count(DISTINCT upid) AS process_count, any_value(pid) AS pid,
    count(DISTINCT utid) AS thread_count, count(DISTINCT (upid, fd, since_ts_ns)) AS socket_count, sum(gap_ns) AS waited_ns, avg(gap_ns) AS gap_ns_avg, max(gap_ns) AS gap_ns_max
  FROM socket_answer
  WHERE is_client
  GROUP BY process, peer
), shared AS (
  SELECT w.*, w.waited_ns / sum(w.waited_ns) OVER (PARTITION BY w.process) AS share_ratio,
    count(*) OVER (PARTITION BY w.process) AS peer_count,
    (sum(w.waited_ns) OVER (PARTITION BY w.process) - w.waited_ns) / nullif(sum(w.answer_count) OVER (PARTITION BY w.process) - w.answer_count, 0) AS others_ns_avg, w.waited_ns / c.duration_ns AS outstanding,
    c.duration_ns
  FROM waited AS w
  JOIN recorded_span AS c ON c.table_name = 'syscall' AND c.duration_ns > 0
)
SELECT
  @severity(false, s.gap_ns_avg >= h.warning_ns) AS severity,
  format('{} to {}', CASE WHEN s.process_count = 1 THEN s.process || ' (' || s.pid || ')' ELSE s.process END, s.peer) AS subject,
  format('{} answers took {:.1f} ms on average, {:.1f} ms at most; at any moment {:.1f} requests were out to it, by {} thread{}: {:.2f} s, {:.1f} % of what {}',
    s.answer_count, s.gap_ns_avg / 1e6, s.gap_ns_max / 1e6, s.outstanding, s.thread_count, CASE s.thread_count WHEN 1 THEN '' ELSE 's' END,
    s.waited_ns / 1e9, 100 * s.share_ratio,
    format('the program waited for answers of its {} peers; those of the others took {:.1f} ms', s.peer_count, s.others_ns_avg / 1e6)) AS message,
  -- A thread may have several requests out.
  @whole(least(s.waited_ns, s.thread_count * s.duration_ns)) AS cost_ns, ['peer ' || s.peer] AS about
FROM shared AS s
CROSS JOIN threshold AS h
WHERE s.peer IS NOT NULL AND s.share_ratio > h.share_ratio AND s.answer_count >= h.answer_count AND s.gap_ns_avg >= h.gap_ns
  -- Who has one peer waits for it: that says nothing about the peer.
  AND s.gap_ns_avg >= h.times_others * s.others_ns_avg
  AND s.outstanding >= h.outstanding
