-- page_cache_summary: how often reads of files were served from memory, over the whole capture
-- grain: a method of page_cache
-- source: page_cache
-- caveat: page_cache says what each method knows, and has the intervals
-- diff no: page_cache is compared, with the noise of its intervals
-- column method: function profile, function trace, filemap or vmstat
-- column hit_count [count]: accesses to pages that were in the cache; NULL where the method cannot tell
-- column miss_count [count]: pages that had to be read
-- column hit_ratio [ratio]: hits as a share of hits and misses
-- column dirty_count [count]: pages that became dirty
-- column refault_pages [pages]: pages of files that were read again after the kernel had dropped them; vmstat only
-- column miss_bytes [bytes]: misses in bytes
-- column cache_max_bytes [bytes]: the most file pages in the cache at the end of an interval
WITH total AS (
  SELECT method, @total(hit_count) AS hit_count, @total(miss_count) AS miss_count, @total(dirty_count) AS dirty_count,
    @total(refault_pages) AS refault_pages, @total(miss_bytes) AS miss_bytes, max(cache_bytes) AS cache_max_bytes
  FROM page_cache
  GROUP BY method
)
SELECT method, hit_count, miss_count, @ratio(hit_count, hit_count::HUGEINT + miss_count) AS hit_ratio, dirty_count, refault_pages, miss_bytes, cache_max_bytes
FROM total
ORDER BY method
