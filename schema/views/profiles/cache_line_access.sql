-- cache_line_access: who touches which place of a cache line, from sampled loads and stores
-- grain: a cache line × offset in it × function × thread name
-- source: memory_access, frame_label, thread, thread_name
-- caveat: the caveats of contended_cache_line hold here, too; filter by line_address
-- diff no: addresses are of one run; contended_cache_line compares by function
-- column line_address: first address of the line
-- column pid: the process; NULL for an address of the kernel
-- column offset_bytes [bytes]: distance of the data from line_address
-- column symbol: the function of the instruction
-- column comm: the threads' name
-- column access_count [count]: samples
-- column load_count [count]: loads
-- column store_count [count]: stores
-- column hitm_count [count]: loads that found the line modified in another core's cache
-- column thread_count [count]: threads
-- column cpu_count [count]: CPUs
-- column weight_avg: mean cost of a load, in the PMU's unit (mostly cycles)
SELECT
  m.data_address - m.data_address % coalesce(getvariable('cache_line_bytes'), 64)::UBIGINT AS line_address,
  CASE WHEN m.data_address >= 9223372036854775808::UBIGINT THEN NULL ELSE t.pid END AS pid,
  m.data_address % coalesce(getvariable('cache_line_bytes'), 64)::UBIGINT AS offset_bytes,
  l.label AS symbol, coalesce(n.comm, t.comm) AS comm,
  count(*) AS access_count,
  count(*) FILTER (m.operation = 'load') AS load_count,
  count(*) FILTER (m.operation = 'store') AS store_count,
  count(*) FILTER (m.is_local_hitm OR m.is_remote_hitm) AS hitm_count,
  count(DISTINCT m.utid) AS thread_count,
  count(DISTINCT m.cpu) AS cpu_count,
  avg(m.weight) FILTER (m.operation = 'load') AS weight_avg
FROM memory_access AS m
LEFT JOIN frame_label AS l USING (frame_id)
LEFT JOIN thread AS t USING (utid)
LEFT JOIN thread_name AS n ON n.name_id = m.name_id
WHERE m.data_address IS NOT NULL AND m.operation IS NOT NULL
GROUP BY ALL
ORDER BY line_address, pid NULLS FIRST, offset_bytes, access_count DESC, symbol NULLS FIRST, comm NULLS FIRST
