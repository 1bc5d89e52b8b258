-- critical_path: a thread's wall time, moment by moment: it ran, it waited for a CPU, or it waited for its waker, and what the waker did meanwhile
-- grain: a segment of the thread's wall time; they follow each other without a gap and sum to it exactly
-- source: followed_state, thread, thread_name, capture
-- caveat: SET VARIABLE critical_path_utid = 7 chooses the thread; by default, it is the one with the most time on a CPU
-- caveat: wall time is from the thread's creation or the capture's beginning to its end or the capture's
-- caveat: wakers are followed over at most 20 threads; SET VARIABLE critical_path_depth = 50 changes that
-- caveat: if an interrupt did the wakeup, the thread that it interrupted looks like the waker; the idle task as waker (a device, a timer, or the true one is not known as sched_waking was not recorded) is not followed: the segment is the sleep
-- diff no: the path of one thread in one recording; off_wake adds such waits up by name
-- keys: ts_ns
-- column duration_ns [ns]: length of the segment
-- keys: utid, tid, comm
-- column segment: running; runnable (it waited for a CPU); waiting (it slept); unknown (no event shows it)
-- column state: the thread's state in detail, as in thread_state; unknown
-- column waker_utid: for a waiting segment: the thread that woke it in the end
-- column waker_tid: the waker's thread id
-- column waker_comm: the waker's name then
-- column on_utid: the thread that the time is due to: the thread itself, its waker, the waker's waker, …
-- column on_tid: thread id of the thread in on_utid
-- column on_comm: name of the thread in on_utid then
-- column on_state: what that thread did: running, runnable, a sleep whose waker is not known or is the idle task, unknown
-- column on_cpu: the CPU that this thread ran on or had left
-- column depth: how many wakers away this thread is; 0 is the chosen one
-- column stack_id: the callchain that the chosen thread left its CPU with
-- column on_stack_id: the callchain that the thread in on_utid left its CPU with
WITH RECURSIVE seen AS (
  SELECT utid, min(burst) AS first_burst, arg_min(name_id, ts_ns + duration_ns) AS first_name_id, min(ts_ns) AS ts_ns,
    min(ts_ns - greatest(coalesce(gap_ns, 0), 0)) AS begin_ns, max(burst) AS last_burst,
    arg_max(name_id, ts_ns + duration_ns) AS last_name_id, max(ts_ns + duration_ns) AS end_ns,
    coalesce(max(ts_ns + duration_ns) = max(ts_ns + duration_ns) FILTER (next_state = 'dead'), false) AS is_dead,
    coalesce(sum(duration_ns) FILTER (state = 'running' AND NOT is_open), 0) AS on_cpu_ns, count(*) AS row_count
  FROM followed_state
  WHERE utid <> 0 AND duration_ns > 0
  GROUP BY utid
), chosen AS (
  SELECT least(0, min(ts_ns)) AS first_ns, greatest((SELECT max(duration_ns) FROM capture), max(end_ns)) AS last_ns,
    coalesce(getvariable('critical_path_utid'), arg_min(utid, {on_cpu_ns: -on_cpu_ns, utid: utid}))::BIGINT AS utid,
    coalesce(getvariable('critical_path_depth'), 20)::BIGINT AS depth, sum(row_count)::BIGINT AS row_count
  FROM seen
), life AS (
  -- One row, as an aggregate: so DuckDB looks for the thread's rows only.
  SELECT any_value(c.utid) AS utid, any_value(coalesce(t.start_ts_ns, c.first_ns)) AS ts_ns,
    any_value(CASE WHEN s.is_dead THEN s.end_ns ELSE greatest(s.end_ns, coalesce(t.end_ts_ns, c.last_ns)) END) AS end_ns
  FROM chosen AS c
  JOIN seen AS s USING (utid)
  JOIN thread AS t USING (utid)
), rest AS (
  -- What is not known before a thread's first interval and behind its last one: a gap before an interval that has no length.
  SELECT s.utid, s.first_burst AS burst, s.first_name_id AS name_id, s.begin_ns AS ts_ns, s.begin_ns AS end_ns,
    s.begin_ns - c.first_ns AS gap_ns
  FROM seen AS s
  CROSS JOIN chosen AS c
  UNION ALL
  SELECT s.utid, s.last_burst, s.last_name_id, c.last_ns, c.last_ns, c.last_ns - s.end_ns
  FROM seen AS s
  CROSS JOIN chosen AS c
), own AS (
  SELECT s.name_id, s.ts_ns, s.ts_ns + s.duration_ns AS end_ns, s.gap_ns, s.utid, s.state, s.cpu, s.stack_id, s.waker_utid,
    s.waker_name_id, s.waker_burst, s.waker_burst_count, l.ts_ns AS from_ns, l.end_ns AS to_ns
  FROM followed_state AS s
  JOIN life AS l USING (utid)
  WHERE s.duration_ns > 0
  UNION ALL
  SELECT r.name_id, r.ts_ns, r.end_ns, r.gap_ns, r.utid, NULL, NULL, NULL, NULL, NULL, NULL, NULL, l.ts_ns, l.end_ns
  FROM rest AS r
  JOIN life AS l USING (utid)
), root AS (
  -- The thread's time from edge to edge, without overlap and without a gap.
  SELECT greatest(ts_ns - least(coalesce(gap_ns, 0), 0), from_ns) AS ts_ns, least(end_ns, to_ns) AS end_ns, utid, name_id, state, cpu,
    stack_id, waker_utid, waker_name_id, waker_burst, waker_burst_count,
    waker_burst IS NOT NULL AND waker_utid IN (SELECT utid FROM seen) AS is_followed
  FROM own
  WHERE least(end_ns, to_ns) > greatest(ts_ns - least(coalesce(gap_ns, 0), 0), from_ns)
  UNION ALL
  SELECT greatest(ts_ns - gap_ns, from_ns), least(ts_ns, to_ns), utid, name_id, 'unknown', NULL, NULL, NULL, NULL, NULL, NULL, false
  FROM own
  WHERE gap_ns > 0 AND least(ts_ns, to_ns) > greatest(ts_ns - gap_ns, from_ns)
), sleep AS (
  SELECT s.utid, s.burst, s.ts_ns, s.ts_ns + s.duration_ns AS end_ns, s.waker_utid,
    greatest(s.waker_burst::BIGINT, n.first_burst) AS waker_burst,
    least(s.waker_burst::BIGINT + s.waker_burst_count, n.last_burst::BIGINT + 1) - greatest(s.waker_burst::BIGINT, n.first_burst) AS waker_burst_count
  FROM followed_state AS s
  JOIN seen AS n ON n.utid = s.waker_utid
  WHERE s.duration_ns > 0 AND s.waker_burst IS NOT NULL
), wait AS (
  -- Each sleep on the path, of the thread and of its wakers. A waker has no more bursts than there are rows, whatever a damaged table says.
  SELECT 0::BIGINT AS depth, r.state, r.stack_id, r.name_id, r.waker_utid, r.waker_name_id, r.ts_ns, r.end_ns, r.waker_utid AS on_utid,
    greatest(r.waker_burst::BIGINT, n.first_burst) AS waker_burst,
    least(r.waker_burst::BIGINT + r.waker_burst_count, n.last_burst::BIGINT + 1) - greatest(r.waker_burst::BIGINT, n.first_burst) AS waker_burst_count
  FROM root AS r
  JOIN seen AS n ON n.utid = r.waker_utid
  WHERE r.is_followed
  UNION ALL
  SELECT w.depth + 1, w.state, w.stack_id, w.name_id, w.waker_utid, w.waker_name_id, greatest(s.ts_ns, w.ts_ns), s.end_ns, s.waker_utid,
    s.waker_burst, s.waker_burst_count
  FROM (
    SELECT *, unnest(range(waker_burst, waker_burst + least(waker_burst_count, (SELECT row_count FROM chosen)))) AS burst
    FROM wait
    WHERE depth + 1 < (SELECT depth FROM chosen)
  ) AS w
  JOIN sleep AS s ON s.utid = w.on_utid AND s.burst = w.burst
  -- A waker that is asleep at the moment it wakes: its own wakeup comes too late to explain anything.
  WHERE s.ts_ns < w.end_ns AND s.end_ns > w.ts_ns AND s.end_ns <= w.end_ns
), burst AS (
  SELECT *, unnest(range(waker_burst, waker_burst + least(waker_burst_count, (SELECT row_count FROM chosen)))) AS burst
  FROM wait
  WHERE depth < (SELECT depth FROM chosen)
), met AS (
  SELECT w.depth + 1 AS depth, w.state, w.stack_id, w.name_id, w.waker_utid, w.waker_name_id, w.ts_ns AS from_ns, w.end_ns AS to_ns,
    k.ts_ns, k.ts_ns + k.duration_ns AS end_ns, k.gap_ns, k.utid AS on_utid, k.name_id AS on_name_id, k.state AS on_state, k.cpu AS on_cpu,
    k.stack_id AS on_stack_id, k.waker_utid AS on_waker_utid, k.waker_burst
  FROM burst AS w
  -- An aggregate again, so that only the wakers are read.
  JOIN (
    FROM followed_state
    WHERE duration_ns > 0 AND utid IN (SELECT unnest(array_agg(DISTINCT on_utid)) FROM wait)
  ) AS k ON k.utid = w.on_utid AND k.burst = w.burst
  WHERE k.ts_ns + k.duration_ns > w.ts_ns AND (k.ts_ns < w.end_ns OR k.gap_ns > 0)
  UNION ALL
  SELECT w.depth + 1, w.state, w.stack_id, w.name_id, w.waker_utid, w.waker_name_id, w.ts_ns, w.end_ns, r.ts_ns, r.end_ns, r.gap_ns, r.utid,
    r.name_id, NULL, NULL, NULL, NULL, NULL
  FROM burst AS w
  JOIN rest AS r ON r.utid = w.on_utid AND r.burst = w.burst
), part AS (
  SELECT 0::BIGINT AS depth, state, stack_id, name_id, waker_utid, waker_name_id, ts_ns, end_ns, utid AS on_utid, name_id AS on_name_id,
    state AS on_state, cpu AS on_cpu, stack_id AS on_stack_id
  FROM root
  WHERE NOT is_followed OR (SELECT depth FROM chosen) <= 0
  UNION ALL
  SELECT m.depth, state, stack_id, name_id, waker_utid, waker_name_id, greatest(ts_ns - least(coalesce(gap_ns, 0), 0), from_ns),
    least(end_ns, to_ns), on_utid, on_name_id, on_state, on_cpu, on_stack_id
  FROM met AS m
  CROSS JOIN chosen AS c
  WHERE least(end_ns, to_ns) > greatest(ts_ns - least(coalesce(gap_ns, 0), 0), from_ns) AND (m.depth >= c.depth OR end_ns > to_ns
    OR waker_burst IS NULL OR on_waker_utid NOT IN (SELECT utid FROM seen))
  UNION ALL
  SELECT m.depth, state, stack_id, name_id, waker_utid, waker_name_id, greatest(ts_ns - gap_ns, from_ns), least(ts_ns, to_ns),
    on_utid, on_name_id, 'unknown', NULL, NULL
  FROM met AS m
  WHERE gap_ns > 0 AND least(ts_ns, to_ns) > greatest(ts_ns - gap_ns, from_ns)
)
SELECT
  p.ts_ns, p.end_ns - p.ts_ns AS duration_ns, t.utid, t.tid, coalesce(tn.comm, t.comm) AS comm,
  CASE WHEN p.state IN ('running', 'unknown') THEN p.state
    WHEN p.state IN ('runnable', 'runnable_preempted') THEN 'runnable'
    ELSE 'waiting' END AS segment,
  p.state, p.waker_utid, w.tid AS waker_tid, coalesce(wn.comm, w.comm) AS waker_comm,
  p.on_utid, o.tid AS on_tid, coalesce(n.comm, o.comm) AS on_comm, p.on_state, p.on_cpu, p.depth,
  CASE WHEN p.state <> 'running' THEN p.stack_id END AS stack_id,
  CASE WHEN p.on_state <> 'running' THEN p.on_stack_id END AS on_stack_id
FROM part AS p
JOIN thread AS t ON t.utid = (SELECT utid FROM chosen)
JOIN thread AS o ON o.utid = p.on_utid
LEFT JOIN thread AS w ON w.utid = p.waker_utid
LEFT JOIN thread_name AS tn ON tn.name_id = p.name_id
LEFT JOIN thread_name AS n ON n.name_id = p.on_name_id
LEFT JOIN thread_name AS wn ON wn.name_id = p.waker_name_id
ORDER BY p.ts_ns
