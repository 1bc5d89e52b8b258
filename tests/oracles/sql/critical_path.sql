-- What the view critical_path must hold, from each thread's states alone.
WITH RECURSIVE edge AS (
  SELECT least(0, min(s.ts_ns)) AS first_ns,
    greatest((SELECT max(duration_ns) FROM capture), max(s.ts_ns + s.duration_ns)) AS last_ns
  FROM followed_state AS s
  WHERE s.utid <> 0
), setting AS (
  SELECT coalesce(getvariable('critical_path_utid'),
      (SELECT utid FROM thread_time GROUP BY utid ORDER BY sum(on_cpu_ns) DESC, utid LIMIT 1))::BIGINT AS utid,
    coalesce(getvariable('critical_path_depth'), 20)::BIGINT AS depth
), known AS (
  -- By the ends: a run whose beginning is doubtful may seem to begin before the wait that precedes it.
  SELECT utid, name_id, ts_ns, ts_ns + duration_ns AS end_ns, state, next_state, cpu, stack_id, waker_utid, waker_name_id,
    lag(ts_ns + duration_ns) OVER w AS before_ns, 2 * row_number() OVER w AS place
  FROM followed_state
  WHERE utid <> 0 AND duration_ns > 0
  WINDOW w AS (PARTITION BY utid ORDER BY ts_ns + duration_ns, ts_ns, state)
), tile AS (
  -- Each thread's time from edge to edge, without overlap and without a gap. The places are in the order of time: even ones are
  -- of what is known, odd ones of a gap before it.
  SELECT utid, place, name_id, greatest(ts_ns, coalesce(before_ns, ts_ns)) AS ts_ns, end_ns, state, cpu, stack_id, waker_utid, waker_name_id
  FROM known
  WHERE end_ns > coalesce(before_ns, ts_ns)
  UNION ALL
  SELECT utid, place - 1, name_id, coalesce(before_ns, first_ns), ts_ns, 'unknown', NULL, NULL, NULL, NULL
  FROM known CROSS JOIN edge
  WHERE ts_ns > coalesce(before_ns, first_ns)
  UNION ALL
  SELECT utid, max(place) + 1, arg_max(name_id, end_ns), max(end_ns), last_ns, 'unknown', NULL, NULL, NULL, NULL
  FROM known CROSS JOIN edge
  GROUP BY utid, last_ns
  HAVING max(end_ns) < last_ns
), numbered AS MATERIALIZED (
  SELECT *, state NOT IN ('running', 'runnable', 'runnable_preempted', 'unknown', 'dead')
    AND waker_utid <> 0 AND waker_utid <> utid AS is_followed
  FROM tile
), look AS (
  -- Each followed sleep beside the tiles of its waker: which one it begins in, and which one it ends in. (An ASOF join, which
  -- DuckDB does not take beside a recursion.)
  SELECT sleeper_utid, sleeper_place, is_end,
    last_value(tile_place IGNORE NULLS) OVER (PARTITION BY utid ORDER BY at_ns, turn ROWS UNBOUNDED PRECEDING) AS place
  FROM (
    SELECT utid, ts_ns AS at_ns, 1 AS turn, place AS tile_place, NULL AS sleeper_utid, NULL AS sleeper_place, NULL AS is_end
    FROM numbered
    UNION ALL
    SELECT waker_utid, ts_ns, 2, NULL, utid, place, false FROM numbered WHERE is_followed
    UNION ALL
    SELECT waker_utid, end_ns, 0, NULL, utid, place, true FROM numbered WHERE is_followed
  )
), linked AS MATERIALIZED (
  SELECT n.*, l.waker_first, l.waker_last
  FROM numbered AS n
  LEFT JOIN (
    SELECT sleeper_utid, sleeper_place, max(place) FILTER (NOT is_end) AS waker_first, max(place) FILTER (is_end) AS waker_last
    FROM look
    WHERE sleeper_utid IS NOT NULL
    GROUP BY sleeper_utid, sleeper_place
  ) AS l ON l.sleeper_utid = n.utid AND l.sleeper_place = n.place
), life AS (
  SELECT t.utid,
    coalesce(t.start_ts_ns, e.first_ns) AS ts_ns,
    greatest(max(k.end_ns), CASE
      WHEN max({end_ns: k.end_ns, next_state: k.next_state}).next_state = 'dead' THEN max(k.end_ns)
      ELSE coalesce(t.end_ts_ns, e.last_ns) END) AS end_ns
  FROM thread AS t
  JOIN known AS k USING (utid)
  CROSS JOIN edge AS e
  WHERE t.utid = (SELECT utid FROM setting)
  GROUP BY t.utid, t.start_ts_ns, t.end_ts_ns, e.first_ns, e.last_ns
), path AS (
  SELECT 0::BIGINT AS depth, l.place AS root, greatest(l.ts_ns, f.ts_ns) AS ts_ns, least(l.end_ns, f.end_ns) AS end_ns,
    l.utid AS on_utid, l.name_id AS on_name_id, l.state AS on_state, l.cpu AS on_cpu, l.stack_id AS on_stack_id, l.waker_utid,
    l.waker_first, l.waker_last
  FROM linked AS l
  JOIN life AS f ON f.utid = l.utid AND l.ts_ns < f.end_ns AND l.end_ns > f.ts_ns
  UNION ALL
  SELECT p.depth + 1, p.root, greatest(l.ts_ns, p.ts_ns), least(l.end_ns, p.end_ns),
    l.utid, l.name_id, l.state, l.cpu, l.stack_id, l.waker_utid,
    -- A waker that is asleep at the moment it wakes: its own wakeup comes too late to explain anything.
    CASE WHEN l.end_ns <= p.end_ns THEN l.waker_first END, l.waker_last
  FROM (
    SELECT *, unnest(range(waker_first, waker_last + 1)) AS place
    FROM path
    WHERE waker_first IS NOT NULL AND depth < (SELECT depth FROM setting)
  ) AS p
  JOIN linked AS l ON l.utid = p.waker_utid AND l.place = p.place
  WHERE l.ts_ns < p.end_ns AND l.end_ns > p.ts_ns
)
SELECT
  p.ts_ns, p.end_ns - p.ts_ns AS duration_ns, r.utid, t.tid, coalesce(tn.comm, t.comm) AS comm,
  CASE WHEN r.state IN ('running', 'unknown') THEN r.state
    WHEN r.state IN ('runnable', 'runnable_preempted') THEN 'runnable'
    ELSE 'waiting' END AS segment,
  r.state, r.waker_utid, w.tid AS waker_tid, coalesce(wn.comm, w.comm) AS waker_comm,
  p.on_utid, o.tid AS on_tid, coalesce(n.comm, o.comm) AS on_comm, p.on_state, p.on_cpu, p.depth,
  CASE WHEN r.state <> 'running' THEN r.stack_id END AS stack_id,
  CASE WHEN p.on_state <> 'running' THEN p.on_stack_id END AS on_stack_id
FROM path AS p
JOIN linked AS r ON r.utid = (SELECT utid FROM setting) AND r.place = p.root
JOIN thread AS t ON t.utid = r.utid
JOIN thread AS o ON o.utid = p.on_utid
LEFT JOIN thread AS w ON w.utid = r.waker_utid
LEFT JOIN thread_name AS tn ON tn.name_id = r.name_id
LEFT JOIN thread_name AS n ON n.name_id = p.on_name_id
LEFT JOIN thread_name AS wn ON wn.name_id = r.waker_name_id
WHERE p.waker_first IS NULL OR p.depth >= (SELECT depth FROM setting)
ORDER BY p.ts_ns
