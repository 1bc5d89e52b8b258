-- busy_polling: A thread asks again and again whether there is something to do: it takes a CPU for nothing
-- condition: half or more of a thread's calls came back at once and had done nothing, and there were more than 10,000 of these for each
--   second that it ran: sched_yield; poll, select or epoll_wait with a timeout of 0 that returned 0 (one whose timeout is in
--   memory: that returned 0 within 0.1 ms); a read or accept that failed with EAGAIN within 0.1 ms; a sleep of less than 1 ms; a wait that returned at once and said that something is ready, where
--   the next call is such a wait again: nothing was done with it (epoll(7), level-triggered). From each of these to its
--   next call, at most 0.1 ms, or for sleeps by their share of the calls, they make up more than half of the time that it ran, which is 1 % of the recording or more. A
--   warning from a tenth of the recording, else a note. An event loop that reads each socket until EAGAIN has several other
--   calls for each EAGAIN
-- means: the CPU time is lost: to other threads, to the sibling on the same core and to the limits of its group. sched(7) and
--   sched_yield(2) say that sched_yield is of use to real-time threads only, and that others rather need a lock
-- next: perfcase view syscall_by_fd, syscall_log: the calls, and on which descriptor
-- next: perfcase view function_profile: who calls them
-- next: wait in the kernel instead: epoll_wait with a timeout, a blocking read, a futex or a condition variable
-- about: the CPUs, if such threads took more than half of all CPU time for nothing
-- taught by: -
-- source: descriptor, followed_state, recorded_span, syscall, workload_thread
-- evidence: SELECT t.comm, t.tid, s.name, s.errno_name, s.ret, count(*) AS call_count, sum(s.duration_ns) AS duration_total_ns FROM syscall AS s
--   JOIN thread AS t USING (utid) WHERE s.name = 'sched_yield' OR s.ret = 0 AND (s.name LIKE '%poll%' OR s.name LIKE '%select%' OR s.name LIKE 'epoll_%wait%')
--   OR s.errno_name = 'EAGAIN' GROUP BY ALL ORDER BY call_count DESC, t.tid, s.name, s.ret
WITH threshold AS (
  SELECT 10000 AS call_per_s, 0.5 AS call_ratio, 0.5 AS time_ratio, 0.01 AS run_ratio, 0.1 AS warning_ratio, 100000 AS round_ns, 1000000 AS sleep_ns
), called AS NOT MATERIALIZED (
  SELECT s.utid, s.name, s.descriptor_id, s.ts_ns, s.exit_ts_ns,
    CASE
      WHEN s.name = 'sched_yield' THEN true
      WHEN s.name = 'poll' THEN s.ret = 0 AND s.args[3] & 4294967295 = 0
      WHEN s.name IN ('epoll_wait', 'epoll_pwait') THEN s.ret = 0 AND s.args[4] & 4294967295 = 0
      WHEN s.name IN ('ppoll', 'ppoll_time64', 'select', '_newselect', 'pselect6', 'pselect6_time64', 'epoll_pwait2') THEN s.ret = 0 AND s.duration_ns < (SELECT round_ns FROM threshold)
      WHEN s.name IN ('read', 'readv', 'recv', 'recvfrom', 'recvmsg', 'recvmmsg', 'accept', 'accept4')
        THEN s.errno_name = 'EAGAIN' AND s.duration_ns < (SELECT round_ns FROM threshold)
      WHEN s.name IN ('nanosleep', 'clock_nanosleep', 'clock_nanosleep_time64') THEN s.ret = 0 AND s.duration_ns < (SELECT sleep_ns FROM threshold)
    END AS is_idle,
    s.name LIKE '%nanosleep%' AS is_sleep,
    s.name IN ('poll', 'epoll_wait', 'epoll_pwait', 'ppoll', 'ppoll_time64', 'select', '_newselect', 'pselect6', 'pselect6_time64', 'epoll_pwait2')
      AND s.ret > 0 AND s.duration_ns < (SELECT round_ns FROM threshold) AS is_ready
  FROM syscall AS s
), counted AS (
  SELECT s.utid, s.name, s.descriptor_id, count(*) AS call_count, count(*) FILTER (s.is_idle) AS idle_count, count(*) FILTER (s.is_idle AND s.is_sleep) AS sleep_count,
    count(*) FILTER (s.is_ready) AS ready_count
  FROM called AS s
  GROUP BY s.utid, s.name, s.descriptor_id
), of_thread AS (
  -- Each call of another kind may have done something for one wait that said ready: at least those that are more were in vain.
  SELECT utid, sum(call_count) AS call_count, sum(idle_count) + greatest(0, 2 * sum(ready_count) + sum(idle_count) - sum(call_count)) AS idle_count,
    sum(sleep_count) AS sleep_count,
    arg_max({name: name, descriptor_id: descriptor_id, is_ready: ready_count > idle_count}, (idle_count + ready_count, name, descriptor_id)) AS most
  FROM counted
  GROUP BY utid
), often AS (
  SELECT o.*
  FROM of_thread AS o
  CROSS JOIN threshold AS h
  WHERE o.idle_count > 0 AND o.idle_count >= h.call_ratio * o.call_count
), ran AS (
  -- All threads: to choose them first takes DuckDB the memory of all their states.
  SELECT utid, sum(duration_ns) AS run_ns
  FROM followed_state
  WHERE state = 'running'
  GROUP BY utid
), busy AS (
  SELECT o.utid, w.tid, w.comm, w.upid, w.pid, o.call_count, o.idle_count, o.sleep_count, o.most, r.run_ns, r.run_ns / c.duration_ns AS run_ratio
  FROM often AS o
  JOIN ran AS r USING (utid)
  JOIN workload_thread AS w USING (utid)
  JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
  CROSS JOIN threshold AS h
  WHERE r.run_ns >= h.run_ratio * c.duration_ns AND o.idle_count > h.call_per_s * (r.run_ns / 1e9)
), timed AS (
  -- Second by second: to sort all calls of one thread at once takes DuckDB the memory of all of them. The last call of each second has no next one.
  SELECT s.utid, s.is_sleep, lead(s.ts_ns) OVER next - s.ts_ns AS round_ns, s.is_idle IS TRUE OR s.is_ready AND lead(s.is_ready) OVER next AS is_idle
  FROM called AS s
  WHERE s.utid IN (SELECT utid FROM busy)
  WINDOW next AS (PARTITION BY s.utid, s.ts_ns // 1000000000 ORDER BY s.ts_ns, s.exit_ts_ns)
), lost AS (
  SELECT s.utid, sum(least(s.round_ns, h.round_ns)) FILTER (NOT s.is_sleep) AS idle_ns
  FROM timed AS s
  CROSS JOIN threshold AS h
  WHERE s.is_idle AND s.round_ns IS NOT NULL
  GROUP BY s.utid
)
SELECT
  @severity(false, b.run_ratio >= h.warning_ratio) AS severity,
  format('{} ({})', coalesce(b.comm, '?'), b.tid) AS subject,
  format('{} of its {} calls ({:.1f} %) came back at once with nothing done, {} for each second that it ran; most often {}{}{}. It ran for {:.2f} s, {:.1f} % of the recording',
    @whole(b.idle_count), @whole(b.call_count), 100 * b.idle_count / b.call_count, @whole(b.idle_count / (b.run_ns / 1e9)),
    b.most.name, coalesce(' on ' || coalesce(d.peer, d.target, d.label), ''),
    CASE WHEN b.most.is_ready THEN ', which says each time that a descriptor is ready' ELSE '' END, b.run_ns / 1e9, 100 * b.run_ratio) AS message,
  @whole(l.lost_ns) AS cost_ns,
  CASE WHEN sum(l.lost_ns) OVER () > h.time_ratio * (SELECT sum(r.run_ns) FROM ran AS r JOIN workload_thread AS w USING (utid)) THEN ['the CPUs'] ELSE [] END AS about
FROM busy AS b
JOIN (
  -- A sleep's own time is none on a CPU: its share of the calls is that of the run.
  SELECT b.utid, coalesce(l.idle_ns, 0) + b.run_ns * b.sleep_count / b.call_count AS lost_ns FROM busy AS b LEFT JOIN lost AS l USING (utid)
) AS l USING (utid)
CROSS JOIN threshold AS h
LEFT JOIN descriptor AS d ON d.descriptor_id = b.most.descriptor_id
WHERE l.lost_ns > h.time_ratio * b.run_ns
