-- memory_summary: how much memory and swap space was used over the whole capture, and at its end
-- grain: the capture, if a snapshot of /proc/meminfo is in it
-- source: memory
-- caveat: means are over the snapshots, as in sar -r; memory has the snapshots
-- diff no: memory is compared, with the noise of its snapshots
-- column memory_bytes [bytes]: usable memory, at the end
-- column used_last_bytes [bytes]: in use at the end: total without available
-- column used_avg_bytes [bytes]: mean memory in use
-- column used_avg_ratio [ratio]: mean share of memory_bytes in use
-- column used_max_ratio [ratio]: largest share of memory_bytes in use
-- column available_last_bytes [bytes]: what programs could get without swapping, at the end
-- column available_last_ratio [ratio]: available_last_bytes as a share of memory_bytes
-- column available_min_bytes [bytes]: the least memory that programs could get without swapping, at a snapshot
-- column cache_last_bytes [bytes]: file pages in the cache, and kernel objects that can be reclaimed, at the end
-- column dirty_max_bytes [bytes]: most memory in pages that waited to be written
-- column swap_total_bytes [bytes]: swap space, at the end
-- column swap_used_last_bytes [bytes]: swap space in use at the end
-- column swap_used_avg_bytes [bytes]: mean swap space in use while there was swap space; NULL without swap space
-- column swap_used_avg_ratio [ratio]: mean share of the swap space in use
-- column swap_used_max_ratio [ratio]: largest share of the swap space in use
WITH last AS (
  SELECT * FROM memory QUALIFY row_number() OVER (ORDER BY ts_ns DESC, memory_bytes, available_bytes) = 1
), total AS (
  SELECT avg(used_bytes) AS used_avg_bytes, avg(@ratio(used_bytes, memory_bytes)) AS used_avg_ratio, max(@ratio(used_bytes, memory_bytes)) AS used_max_ratio,
    min(available_bytes) AS available_min_bytes, max(dirty_bytes) AS dirty_max_bytes,
    avg(swap_used_bytes) FILTER (swap_total_bytes > 0) AS swap_used_avg_bytes,
    avg(@ratio(swap_used_bytes, swap_total_bytes)) AS swap_used_avg_ratio, max(@ratio(swap_used_bytes, swap_total_bytes)) AS swap_used_max_ratio
  FROM memory
)
SELECT
  l.memory_bytes, l.used_bytes AS used_last_bytes, t.used_avg_bytes, t.used_avg_ratio, t.used_max_ratio,
  l.available_bytes AS available_last_bytes, l.available_ratio AS available_last_ratio, t.available_min_bytes,
  l.cache_bytes AS cache_last_bytes, t.dirty_max_bytes,
  l.swap_total_bytes, l.swap_used_bytes AS swap_used_last_bytes, t.swap_used_avg_bytes, t.swap_used_avg_ratio, t.swap_used_max_ratio
FROM last AS l
CROSS JOIN total AS t
