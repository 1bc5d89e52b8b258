-- pool_asleep: All threads of a pool sleep in the same wait: for the answers of one peer, or for one lock
-- condition: four threads or more of one process with the same name (without numbers, and without the main thread) spent 80 %
--   or more of their time in one kind of wait, and ended five waits per thread or more. The wait is one of three: between a
--   request that the thread wrote to a peer and the answer that it read, with nothing else written in between; or a sleep
--   during a request of another thread of the process, which has several requests out at once (an event loop), if 90 % of the
--   sleep and of the request are the same time and a thread of the process ended the sleep; or a lock with a known holder.
--   Threads that wait for work (a condition variable, a new connection, the next request of a client) do not count. Critical
--   from 95 %: almost no thread is ever free. A note if for half of this time or more the peer's event loop had nothing to do until
--   a timer of its own, or until a request, or for a quarter and for the rest until another client of that peer, which slept before, sent one: then the threads wait for news (long polling in RFC 6202, BLPOP of Redis)
-- means: the pool only waits. More work than it has threads queues up before it, even if the CPUs are idle. Consumers of a
--   queue on that peer look the same: they wait for work
-- next: perfcase view thread_census: the threads, their states and where they sleep
-- next: perfcase view socket_answer, or lock_wait: each request and its answer, or each lock and its holder
-- next: perfcase view off_wake: where they sleep, and the wakers
-- about: the peer or the lock
-- follows from: answers_wait, connection_queue, delayed_ack, event_loop_computes, failing_calls, fd_leak, listen_overflow, lock_convoy, requests_queue, slow_peer,
--   slow_reader, standing_queue, stopped
-- taught by: Identifying an off-CPU bottleneck
-- source: blame, capture, descriptor, followed_state, lock_wait_event, process, recorded_span, socket_answer, thread
-- evidence: SELECT pid, comm, tid, peer, count(*) AS wait_count, sum(gap_ns) AS waited_ns FROM socket_answer
--   WHERE is_client AND utid = writer_utid GROUP BY ALL ORDER BY waited_ns DESC, tid, peer
WITH threshold AS (
  SELECT 4 AS thread_count, 0.8 AS asleep_ratio, 0.95 AS critical_ratio, 5 AS wait_count, 0.9 AS same_ratio, 0.5 AS idle_ratio, 0.25 AS timer_ratio
), turn AS (
  SELECT utid, upid, comm, peer, ts_ns, answer_ts_ns, gap_ns,
    max(answer_ts_ns) OVER (PARTITION BY utid ORDER BY ts_ns, answer_ts_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) > ts_ns AS is_overlapping
  FROM socket_answer
  WHERE is_client AND utid = writer_utid AND peer IS NOT NULL
), loop AS (
  -- It has several requests out at once, and does not wait for one.
  SELECT DISTINCT utid FROM turn WHERE is_overlapping
), slept AS (
  SELECT s.utid, t.upid, s.ts_ns, s.ts_ns + s.duration_ns AS end_ns, s.duration_ns
  FROM followed_state AS s
  JOIN thread AS t USING (utid)
  JOIN thread AS w ON w.utid = s.waker_utid AND w.upid = t.upid AND w.utid <> t.utid
  WHERE s.state = 'sleeping' AND NOT s.is_open AND s.utid NOT IN (SELECT utid FROM loop)
), on_behalf AS (
  SELECT s.utid, a.peer, regexp_replace(a.comm, '[-_ ]*[0-9]+', '', 'g') AS through, s.duration_ns
  FROM slept AS s
  ASOF JOIN (SELECT * FROM turn WHERE utid IN (SELECT utid FROM loop)) AS a ON a.upid = s.upid AND a.answer_ts_ns <= s.end_ns
  CROSS JOIN threshold AS h
  WHERE a.answer_ts_ns - greatest(s.ts_ns, a.ts_ns) >= h.same_ratio * greatest(s.duration_ns, a.gap_ns)
), waiting AS (
  SELECT utid, 'answers from ' || peer AS thing, 'peer ' || peer AS about, count(*) AS wait_count, sum(gap_ns) AS wait_ns
  FROM turn
  WHERE utid NOT IN (SELECT utid FROM loop)
  GROUP BY utid, peer
  UNION ALL
  SELECT utid, format('answers from {}, which {} reads for them', peer, through), 'peer ' || peer, count(*), sum(duration_ns)
  FROM on_behalf
  GROUP BY utid, peer, through
  UNION ALL
  SELECT utid, format('the {} lock 0x{:x}', kind, lock_address), format('{} lock 0x{:x}', kind, lock_address), count(*), sum(duration_ns)
  FROM lock_wait_event
  WHERE holder_utid IS NOT NULL AND utid IS NOT NULL
  GROUP BY utid, kind, lock_address
), began AS (
  SELECT min(start_ts_ns) AS ts_ns FROM recorded_span
), member AS (
  SELECT t.utid, t.upid, t.pid, t.comm, regexp_replace(t.comm, '[0-9]+', '', 'g') AS name,
    least(coalesce(t.end_ts_ns, c.duration_ns), c.duration_ns) - greatest(coalesce(t.start_ts_ns, 0), b.ts_ns) AS life_ns
  FROM thread AS t
  CROSS JOIN capture AS c
  CROSS JOIN began AS b
  WHERE t.tid <> t.pid AND t.upid IS NOT NULL
), idle_peer AS (
  SELECT m.upid, m.name, coalesce(sum(b.duration_ns) FILTER (b.cause <> 'sleep'), 0) AS idle_ns, sum(b.duration_ns) AS news_ns
  FROM blame AS b
  JOIN member AS m USING (utid)
  JOIN thread AS o ON o.utid = b.on_utid AND o.upid <> m.upid
  LEFT JOIN descriptor AS d ON d.descriptor_id = b.on_descriptor_id
  LEFT JOIN descriptor AS e ON e.descriptor_id = b.descriptor_id
  -- The sleep of another client of that peer, before it sent it something: the news.
  WHERE b.work = 'call' AND (b.cause = 'sleep' AND b.depth > 1 AND (o.utid, e.peer) IN (SELECT (utid, peer) FROM turn)
    OR b.cause IN ('timeout', 'no_work') AND d.peer IS NULL AND b.on_call IN ('poll', 'ppoll', 'ppoll_time64', 'select', '_newselect',
    'pselect6', 'pselect6_time64', 'epoll_wait', 'epoll_pwait', 'epoll_pwait2'))
  GROUP BY m.upid, m.name
), pool AS (
  SELECT upid, pid, name, count(*) AS thread_count, sum(greatest(life_ns, 0)) AS life_ns,
    CASE WHEN min(comm) = max(comm) THEN min(comm) ELSE min(comm) || ', …' END AS comms
  FROM member
  GROUP BY upid, pid, name
), asleep AS (
  SELECT m.upid, m.name, w.thing, w.about, count(*) AS waiting_count, sum(w.wait_count) AS wait_count, sum(w.wait_ns) AS wait_ns
  FROM waiting AS w
  JOIN member AS m USING (utid)
  GROUP BY m.upid, m.name, w.thing, w.about
), found AS (
  SELECT p.upid, p.pid, p.comms, p.thread_count, p.life_ns, a.thing, a.about, a.waiting_count, a.wait_count, a.wait_ns,
    @ratio(a.wait_ns, p.life_ns) AS asleep_ratio, starts_with(a.thing, 'answers from') AND coalesce(i.idle_ns >= h.idle_ratio * a.wait_ns OR i.idle_ns >= h.timer_ratio * a.wait_ns AND i.news_ns >= h.idle_ratio * a.wait_ns, false) AS is_consumer
  FROM pool AS p
  JOIN asleep AS a USING (upid, name)
  LEFT JOIN idle_peer AS i USING (upid, name)
  CROSS JOIN threshold AS h
)
SELECT
  @severity(f.asleep_ratio >= h.critical_ratio AND NOT f.is_consumer, NOT f.is_consumer) AS severity,
  format('{} threads of {} ({})', f.comms, p.name, f.pid) AS subject,
  format('{} of {} threads waited for {}: {:.2f} s of their {:.2f} s, {:.1f} %, in {} waits of {:.1f} ms on average',
    f.waiting_count, f.thread_count, f.thing, f.wait_ns / 1e9, f.life_ns / 1e9, 100 * f.asleep_ratio, @whole(f.wait_count),
    f.wait_ns / f.wait_count / 1e6) AS message,
  @whole(f.wait_ns) AS cost_ns, [f.about, CASE WHEN starts_with(f.about, 'peer ') THEN replace(f.about, 'peer ', 'requests of ') END] AS about
FROM found AS f
CROSS JOIN threshold AS h
LEFT JOIN process AS p USING (upid)
WHERE f.thread_count >= h.thread_count AND f.asleep_ratio >= h.asleep_ratio AND f.wait_count >= h.wait_count * f.thread_count
