-- memory: what memory was used for, as free prints it, and what the kernel keeps
-- grain: a snapshot
-- source: proc_memory
-- caveat: a column is NULL if the kernel does not show it. available (Linux 3.14) is an estimate of what programs can get without swapping
-- caveat: used is what free of procps 4 prints: total without available; if the kernel has no estimate, total without free, buffers and cache
-- caveat: if the estimate is larger than the memory (a container's meminfo), available is the free memory, as in free
-- diff by: -
-- diff mean: available_bytes, used_bytes, free_bytes, cache_bytes, anon_bytes, slab_bytes, dirty_bytes, writeback_bytes, swap_used_bytes, committed_bytes, page_tables_bytes
-- diff apart: available_bytes, swap_used_bytes
-- diff whole: memory_bytes
-- diff weight: 0.8
-- plot: intervals used_bytes, free_bytes, available_bytes, cache_bytes, dirty_bytes, writeback_bytes, swap_used_bytes
-- chart timeline 4: Memory: used_bytes, cache_bytes, available_bytes, swap_used_bytes as swap
-- as in proc_memory: ts_ns
-- column memory_bytes [bytes]: usable memory
-- column used_bytes [bytes]: in use: total without available
-- column free_bytes [bytes]: unused
-- column shared_bytes [bytes]: shared memory and tmpfs
-- as in proc_memory: buffers_bytes
-- column cache_bytes [bytes]: file pages in the cache, and kernel objects that can be reclaimed
-- column available_bytes [bytes]: what programs can get without swapping
-- column available_ratio [ratio]: available_bytes as a share of memory_bytes
-- as in proc_memory: swap_total_bytes
-- column swap_used_bytes [bytes]: swap space in use
-- as in proc_memory: swap_free_bytes
-- column anon_bytes [bytes]: anonymous memory mapped by processes
-- as in proc_memory: mapped_bytes, slab_bytes, slab_reclaimable_bytes, slab_unreclaimable_bytes, kernel_stack_bytes, page_tables_bytes,
--   dirty_bytes, writeback_bytes
-- column committed_bytes [bytes]: memory promised to programs
-- as in proc_memory: commit_limit_bytes
-- column huge_page_total_count [count]: huge pages set aside
-- column huge_page_free_count [count]: huge pages not in use
-- as in proc_memory: huge_page_size_bytes
-- column anon_huge_bytes [bytes]: anonymous memory in transparent huge pages
SELECT
  ts_ns,
  mem_total_bytes AS memory_bytes,
  CASE
    WHEN mem_available_bytes <= mem_total_bytes THEN mem_total_bytes - mem_available_bytes
    WHEN mem_available_bytes IS NOT NULL THEN mem_total_bytes - mem_free_bytes
    ELSE mem_total_bytes - mem_free_bytes - buffers_bytes - cached_bytes - coalesce(slab_reclaimable_bytes, 0)
  END AS used_bytes,
  mem_free_bytes AS free_bytes,
  shmem_bytes AS shared_bytes,
  buffers_bytes,
  cached_bytes + coalesce(slab_reclaimable_bytes, 0) AS cache_bytes,
  CASE WHEN mem_available_bytes > mem_total_bytes THEN mem_free_bytes ELSE mem_available_bytes END AS available_bytes,
  CASE WHEN mem_available_bytes > mem_total_bytes THEN mem_free_bytes ELSE mem_available_bytes END
    / nullif(mem_total_bytes, 0) AS available_ratio,
  swap_total_bytes,
  swap_total_bytes - swap_free_bytes AS swap_used_bytes,
  swap_free_bytes,
  anon_pages_bytes AS anon_bytes,
  mapped_bytes,
  slab_bytes, slab_reclaimable_bytes, slab_unreclaimable_bytes,
  kernel_stack_bytes, page_tables_bytes, dirty_bytes, writeback_bytes,
  committed_as_bytes AS committed_bytes,
  commit_limit_bytes,
  huge_pages_total_count AS huge_page_total_count,
  huge_pages_free_count AS huge_page_free_count,
  huge_page_size_bytes,
  anon_huge_pages_bytes AS anon_huge_bytes
FROM proc_memory
ORDER BY proc_memory.ts_ns, source_id, snapshot
