-- page_cache: how often reads of files were served from memory, from the best source that the capture has
-- grain: an interval
-- source: function_hit, function, stack, frame, writeback_dirty_folio, page_cache_event, proc_vmstat, proc_memory, page_size, recorded_span
-- caveat: method says what the figures are made from: the best method that the capture allows; hits are NULL if the method cannot tell them
-- caveat: function profile and function trace: the arithmetic of Brendan Gregg's cachestat (perf-tools and bcc, 2014): accesses = calls of mark_page_accessed less mark_buffer_dirty, misses = add_to_page_cache_lru less account_page_dirtied, hits = accesses less misses; in newer kernels folio_mark_accessed, filemap_add_folio and folio_account_dirtied. A function that was not recorded counts as not called, a large folio counts once
-- caveat: function trace: of ftrace's function tracer, or perf's ftrace:function (trace-cmd record -p function -l folio_mark_accessed -l filemap_add_folio -l folio_account_dirtied -l mark_buffer_dirty); where folio_account_dirtied is inlined, writeback:writeback_dirty_folio stands for it, as in bcc's cachestat
-- caveat: filemap: misses are pages that came into the cache and that the thread did not make dirty within a second (a write needs no read); read ahead counts as a miss. Hits need mm_filemap_get_pages
-- caveat: vmstat: misses are all pages read from block devices, including reads that bypass the cache (O_DIRECT) and other uses; it cannot tell hits, but it knows pages that came back soon after they had been dropped (refault_pages)
-- caveat: hits are accesses less misses, not below 0, as in cachestat: read-ahead may bring in more pages than are read
-- caveat: intervals of function trace and filemap are 1 s long; SET VARIABLE interval_ns = 100000000 makes them 0.1 s long
-- diff by: method
-- diff sum: hit_count, miss_count, dirty_count, refault_pages, miss_bytes
-- diff level: cache_bytes, buffers_bytes
-- diff mean: hit_ratio by hit_count + miss_count
-- diff apart: hit_ratio, miss_bytes
-- diff weight: 0.9
-- plot: intervals hit_count, miss_count, dirty_count, hit_ratio, cache_bytes by method
-- keys: ts_ns, interval_ns
-- column method: function profile, function trace, filemap or vmstat
-- column hit_count [count]: accesses to pages that were in the cache
-- column miss_count [count]: pages that had to be read
-- column dirty_count [count]: pages that became dirty; function profile and trace: buffers, as cachestat counts; filemap: NULL where no writeback_dirty_folio was recorded
-- column hit_ratio [ratio]: hits as a share of hits and misses
-- column refault_pages [pages]: pages of files that were read again after the kernel had dropped them; vmstat only
-- column miss_bytes [bytes]: misses in bytes
-- column buffers_bytes [bytes]: block device pages in the cache at the end of the interval
-- column cache_bytes [bytes]: file pages in the cache at the end of the interval
WITH setting AS (
  -- At most 100,000 intervals.
  SELECT greatest(1, coalesce(getvariable('interval_ns'), 1000000000)::BIGINT, max(end_ts_ns) // 100000) AS step_ns,
    max(start_ts_ns) AS start_ns, max(end_ts_ns) AS end_ns
  FROM recorded_span
  WHERE table_name = 'thread_state'
), role (function, role, rank) AS (
  -- Newer kernels have the first of two names, and the second calls it.
  VALUES ('folio_mark_accessed', 'accessed', 0), ('mark_page_accessed', 'accessed', 1),
    ('filemap_add_folio', 'added', 0), ('add_to_page_cache_lru', 'added', 1),
    ('folio_account_dirtied', 'dirtied', 0), ('account_page_dirtied', 'dirtied', 1),
    ('mark_buffer_dirty', 'buffer_dirtied', 0)
), counted AS (
  SELECT h.source_id, h.snapshot, h.ts_ns, r.role, h.hit_count
  FROM function_hit AS h
  JOIN role AS r USING (function)
  QUALIFY r.rank = min(r.rank) OVER (PARTITION BY r.role)
), called AS (
  SELECT source_id, snapshot, min(ts_ns) AS ts_ns,
    coalesce(sum(hit_count) FILTER (role = 'accessed'), 0) AS accessed,
    coalesce(sum(hit_count) FILTER (role = 'added'), 0) AS added,
    coalesce(sum(hit_count) FILTER (role = 'dirtied'), 0) AS dirtied,
    coalesce(sum(hit_count) FILTER (role = 'buffer_dirtied'), 0) AS buffers_dirtied
  FROM counted
  GROUP BY source_id, snapshot
), calls AS (
  SELECT ts_ns AS end_ns,
    lag(ts_ns) OVER line AS ts_ns,
    accessed - lag(accessed) OVER line AS accessed,
    added - lag(added) OVER line AS added,
    dirtied - lag(dirtied) OVER line AS dirtied,
    buffers_dirtied - lag(buffers_dirtied) OVER line AS buffers_dirtied
  FROM called
  WINDOW line AS (PARTITION BY source_id ORDER BY snapshot)
), by_profile AS (
  -- A count that fell was switched on again: what happened since the last snapshot is not known.
  SELECT ts_ns, end_ns, 'function profile' AS method, 1 AS priority,
    greatest(accessed - buffers_dirtied, 0) AS access_count,
    greatest(added - dirtied, 0) AS miss_count,
    buffers_dirtied AS dirty_count,
    NULL AS refault_pages
  FROM calls
  WHERE accessed >= 0 AND added >= 0 AND dirtied >= 0 AND buffers_dirtied >= 0
), leaf AS (
  SELECT k.stack_id, r.role, r.rank
  FROM stack AS k
  JOIN frame AS f ON f.frame_id = k.frame_ids[1]
  -- The compiler marks a copy of a function of its own: folio_account_dirtied.isra.0.
  JOIN role AS r ON r.function = split_part(f.symbol, '.', 1)
), tracer AS (
  SELECT min(source_id) AS source_id FROM "function" JOIN leaf USING (stack_id)
), traced AS (
  SELECT ts_ns, role
  FROM (
    SELECT c.ts_ns, l.role, l.rank FROM "function" AS c JOIN tracer USING (source_id) JOIN leaf AS l USING (stack_id)
    UNION ALL
    -- Where the function is inlined, cachestat takes the event in its place.
    SELECT d.ts_ns, 'dirtied', 2 FROM writeback_dirty_folio AS d JOIN tracer USING (source_id)
  )
  QUALIFY rank = min(rank) OVER (PARTITION BY role)
), file_event AS (
  SELECT ts_ns,
    CASE WHEN action IN ('looked_up', 'faulted') THEN page_count ELSE 0 END AS accessed,
    CASE WHEN action = 'added' AND NOT coalesce(is_written, false) THEN page_count ELSE 0 END AS missed,
    CASE WHEN action = 'dirtied' THEN page_count ELSE 0 END AS dirtied,
    action = 'looked_up' AS is_lookup
  FROM page_cache_event
), told AS (
  SELECT bool_or(is_lookup) AS accesses, sum(dirtied) > 0 AS dirtying FROM file_event
  HAVING count(*) > 0
), grid AS (
  SELECT unnest(generate_series(coalesce(s.start_ns, 0) // s.step_ns * s.step_ns,
    least(coalesce(s.end_ns, l.last_ns) - 1, 100000::HUGEINT * s.step_ns)::BIGINT, s.step_ns)) AS ts_ns
  FROM setting AS s
  CROSS JOIN (
    SELECT max(ts_ns) + 1 AS last_ns FROM (SELECT ts_ns FROM file_event UNION ALL SELECT ts_ns FROM traced)
  ) AS l
), span AS (
  SELECT g.ts_ns AS step_ts_ns, greatest(g.ts_ns, s.start_ns) AS ts_ns, least(g.ts_ns + s.step_ns, s.end_ns) AS end_ns
  FROM grid AS g
  CROSS JOIN setting AS s
), file_sum AS (
  SELECT e.ts_ns // s.step_ns * s.step_ns AS step_ts_ns, sum(e.accessed) AS accessed, sum(e.missed) AS missed, sum(e.dirtied) AS dirtied
  FROM file_event AS e
  CROSS JOIN setting AS s
  GROUP BY ALL
), trace_sum AS (
  SELECT c.ts_ns // s.step_ns * s.step_ns AS step_ts_ns,
    count(*) FILTER (role = 'accessed') AS accessed, count(*) FILTER (role = 'added') AS added,
    count(*) FILTER (role = 'dirtied') AS dirtied, count(*) FILTER (role = 'buffer_dirtied') AS buffers_dirtied
  FROM traced AS c
  CROSS JOIN setting AS s
  GROUP BY ALL
), by_trace AS (
  SELECT g.ts_ns, g.end_ns, 'function trace' AS method, 2 AS priority,
    greatest(coalesce(c.accessed, 0) - coalesce(c.buffers_dirtied, 0), 0) AS access_count,
    greatest(coalesce(c.added, 0) - coalesce(c.dirtied, 0), 0) AS miss_count,
    coalesce(c.buffers_dirtied, 0) AS dirty_count,
    NULL AS refault_pages
  FROM span AS g
  CROSS JOIN (SELECT 1 FROM traced HAVING bool_or(role IN ('accessed', 'added'))) AS t
  LEFT JOIN trace_sum AS c USING (step_ts_ns)
), by_event AS (
  SELECT g.ts_ns, g.end_ns, 'filemap' AS method, 3 AS priority,
    CASE WHEN t.accesses THEN coalesce(e.accessed, 0) END AS access_count,
    coalesce(e.missed, 0) AS miss_count,
    CASE WHEN t.dirtying THEN coalesce(e.dirtied, 0) END AS dirty_count,
    NULL AS refault_pages
  FROM span AS g
  CROSS JOIN told AS t
  LEFT JOIN file_sum AS e USING (step_ts_ns)
), counter AS (
  SELECT source_id, snapshot, min(ts_ns) AS ts_ns,
    max(value) FILTER (name = 'pgpgin') AS kib_read,
    max(value) FILTER (name = 'nr_dirtied') AS dirtied,
    max(value) FILTER (name IN ('workingset_refault_file', 'workingset_refault')) AS refaulted
  FROM proc_vmstat
  WHERE name IN ('pgpgin', 'nr_dirtied', 'workingset_refault_file', 'workingset_refault')
  GROUP BY source_id, snapshot
), by_counter AS (
  SELECT lag(c.ts_ns) OVER line AS ts_ns, c.ts_ns AS end_ns, 'vmstat' AS method, 4 AS priority,
    NULL AS access_count,
    (c.kib_read - lag(c.kib_read) OVER line)::HUGEINT * 1024 // nullif(p.page_size_bytes, 0) AS miss_count,
    c.dirtied - lag(c.dirtied) OVER line AS dirty_count,
    c.refaulted - lag(c.refaulted) OVER line AS refault_pages
  FROM counter AS c
  LEFT JOIN page_size AS p ON true
  WINDOW line AS (PARTITION BY c.source_id ORDER BY c.snapshot)
), found AS (
  SELECT * FROM by_profile WHERE ts_ns IS NOT NULL
  UNION ALL SELECT * FROM by_trace
  UNION ALL SELECT * FROM by_event
  UNION ALL SELECT * FROM by_counter WHERE ts_ns IS NOT NULL AND end_ns > ts_ns
), best AS (
  SELECT * FROM found WHERE priority = (SELECT min(priority) FROM found)
), memory AS (
  SELECT ts_ns, max(buffers_bytes) AS buffers_bytes, max(cached_bytes) AS cached_bytes FROM proc_memory GROUP BY ts_ns
)
SELECT
  b.ts_ns, b.end_ns - b.ts_ns AS interval_ns, b.method,
  TRY_CAST(CASE WHEN b.access_count IS NOT NULL THEN greatest(b.access_count - b.miss_count, 0) END AS BIGINT) AS hit_count,
  -- The accesses are the limit: read ahead may have added more. least() takes NULL for no bound.
  TRY_CAST(least(b.miss_count, b.access_count) AS BIGINT) AS miss_count,
  TRY_CAST(b.dirty_count AS BIGINT) AS dirty_count,
  CASE WHEN b.access_count > 0 THEN greatest(b.access_count - b.miss_count, 0) / b.access_count END AS hit_ratio,
  b.refault_pages::BIGINT AS refault_pages,
  @product(least(b.miss_count, b.access_count), p.page_size_bytes) AS miss_bytes,
  m.buffers_bytes, m.cached_bytes AS cache_bytes
FROM best AS b
LEFT JOIN page_size AS p ON true
ASOF LEFT JOIN memory AS m ON m.ts_ns <= b.end_ns
ORDER BY b.ts_ns, b.end_ns
