-- memory_fragmentation: how much of the free memory lies in blocks that are large enough for a huge page
-- grain: a snapshot × node × zone
-- source: proc_free_block, proc_memory, page_size
-- caveat: if much memory is free but little of it in large blocks, a thread that needs a large block waits until the kernel has moved pages together (compaction), or does without it
-- caveat: huge_free_bytes and fragmented_ratio are NULL if no meminfo says how large a huge page is; without the page size there are no rows
-- diff by: zone
-- diff level: free_bytes, huge_free_bytes
-- diff mean: fragmented_ratio by free_bytes
-- keys: ts_ns, snapshot
-- as in proc_free_block: node, zone
-- column free_bytes [bytes]: free memory of the zone
-- column huge_free_bytes [bytes]: the part of free_bytes in blocks of a huge page or larger
-- column fragmented_ratio [ratio]: free_bytes less huge_free_bytes, as a share of free_bytes: the kernel's unusable index for a huge page
WITH huge_page AS (
  SELECT max(huge_page_size_bytes) AS size FROM proc_memory
), block AS (
  -- A damaged file may name any order: a DOUBLE has room for it.
  SELECT f.*, pow(2, f.block_order) * p.page_size_bytes AS block_bytes
  FROM proc_free_block AS f
  CROSS JOIN page_size AS p
), zone AS (
  SELECT
    b.source_id, b.snapshot, min(b.ts_ns) AS ts_ns, b.node, b.zone,
    @total(b.block_count * b.block_bytes) AS free_bytes,
    CASE WHEN any_value(h.size) IS NOT NULL THEN @total_or_zero(b.block_count * b.block_bytes, b.block_bytes >= h.size) END AS huge_free_bytes
  FROM block AS b
  CROSS JOIN huge_page AS h
  GROUP BY b.source_id, b.snapshot, b.node, b.zone
)
SELECT ts_ns, snapshot, node, zone, free_bytes, huge_free_bytes, 1 - @ratio(huge_free_bytes, free_bytes) AS fragmented_ratio
FROM zone
ORDER BY source_id, snapshot, node, zone
