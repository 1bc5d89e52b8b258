-- contended_cache_line: cache lines that threads fight over, from sampled loads and stores
-- grain: a cache line
-- source: memory_access, frame_label, thread, thread_name
-- caveat: needs memory samples (perf c2c record, perf mem record) of a machine with a PMU that offers them; without them there are no rows
-- caveat: samples without a data address, and those that do not say what they did, are left out. Lines are virtual addresses of one process (of the kernel: of all)
-- caveat: a line has 64 bytes: SET VARIABLE cache_line_bytes = 128 for others
-- caveat: is_false_sharing is a guess: hitm loads, stores, and threads that touched different offsets but no common offset. Threads that write the same offset share it truly
-- diff by: symbols
-- diff sum: hitm_count, access_count, peer_count
-- diff weight: 0.9
-- column line_address: first address of the line
-- column pid: the process; NULL for an address of the kernel
-- column hitm_count [count]: loads that found the line modified in another core's cache
-- column hitm_ratio [ratio]: hitm_count as a share of the hitm_count of all lines
-- column local_hitm_count [count]: hitm loads where the other core is on the same socket
-- column remote_hitm_count [count]: hitm loads where the other core is on another socket
-- column peer_count [count]: loads that another core's cache answered, on CPUs that do not say hitm
-- column access_count [count]: samples on the line
-- column load_count [count]: loads
-- column store_count [count]: stores
-- column store_l1_miss_count [count]: stores that missed the first-level cache
-- column locked_count [count]: atomic accesses
-- column offset_count [count]: distinct offsets in the line that were accessed
-- column offsets: these offsets, in bytes
-- column thread_count [count]: threads that accessed it
-- column cpu_count [count]: CPUs that accessed it
-- column weight_avg: mean cost of a load, in the PMU's unit (mostly cycles)
-- column symbols: the functions that accessed it, most samples first (at most 8)
-- column threads: the threads' names, in order (at most 8)
-- column is_false_sharing: true where threads fight over a line but not over one place in it
WITH placed AS (
  SELECT m.*, l.label, coalesce(n.comm, t.comm) AS comm,
    CASE WHEN m.data_address >= 9223372036854775808::UBIGINT THEN NULL ELSE t.pid END AS pid,
    m.data_address % coalesce(getvariable('cache_line_bytes'), 64)::UBIGINT AS offset_bytes
  FROM memory_access AS m
  LEFT JOIN frame_label AS l USING (frame_id)
  LEFT JOIN thread AS t USING (utid)
  LEFT JOIN thread_name AS n ON n.name_id = m.name_id
  WHERE m.data_address IS NOT NULL AND m.operation IS NOT NULL
), place AS (
  SELECT data_address - offset_bytes AS line_address, pid, offset_bytes, count(DISTINCT utid) AS threads
  FROM placed
  GROUP BY ALL
), sharing AS (
  SELECT line_address, pid, max(threads) AS most_threads_at_one_place FROM place GROUP BY ALL
), symbol AS (
  SELECT line_address, pid, list(label ORDER BY samples DESC, label)[1:8] AS symbols
  FROM (
    SELECT data_address - offset_bytes AS line_address, pid, label, count(*) AS samples
    FROM placed WHERE label IS NOT NULL GROUP BY ALL
  )
  GROUP BY ALL
), line AS (
  SELECT data_address - offset_bytes AS line_address, pid,
    count(*) FILTER (is_local_hitm OR is_remote_hitm) AS hitm_count,
    count(*) FILTER (is_local_hitm) AS local_hitm_count,
    count(*) FILTER (is_remote_hitm) AS remote_hitm_count,
    count(*) FILTER (is_peer) AS peer_count,
    count(*) AS access_count,
    count(*) FILTER (operation = 'load') AS load_count,
    count(*) FILTER (operation = 'store') AS store_count,
    count(*) FILTER (operation = 'store' AND level = 'L1' AND is_miss) AS store_l1_miss_count,
    count(*) FILTER (is_locked) AS locked_count,
    list(DISTINCT offset_bytes ORDER BY offset_bytes) AS offsets,
    count(DISTINCT utid) AS thread_count,
    count(DISTINCT cpu) AS cpu_count,
    avg(weight) FILTER (operation = 'load') AS weight_avg,
    list(DISTINCT comm ORDER BY comm)[1:8] AS threads
  FROM placed
  GROUP BY ALL
)
SELECT
  n.line_address, n.pid, n.hitm_count,
  n.hitm_count / nullif(sum(n.hitm_count) OVER (), 0) AS hitm_ratio,
  n.local_hitm_count, n.remote_hitm_count, n.peer_count, n.access_count, n.load_count, n.store_count,
  n.store_l1_miss_count, n.locked_count, len(n.offsets) AS offset_count, n.offsets, n.thread_count, n.cpu_count,
  n.weight_avg, y.symbols, n.threads,
  n.hitm_count + n.peer_count > 0 AND n.store_count > 0 AND n.thread_count > 1 AND s.most_threads_at_one_place = 1
    AS is_false_sharing
FROM line AS n
JOIN sharing AS s ON s.line_address = n.line_address AND s.pid IS NOT DISTINCT FROM n.pid
LEFT JOIN symbol AS y ON y.line_address = n.line_address AND y.pid IS NOT DISTINCT FROM n.pid
ORDER BY n.hitm_count DESC, n.peer_count DESC, n.access_count DESC, n.line_address, n.pid NULLS FIRST
