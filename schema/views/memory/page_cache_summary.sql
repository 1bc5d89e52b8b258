-- page_cache_summary: how often reads of files were served from memory, over the whole capture
-- grain: a method of page_cache
-- source: page_cache
-- caveat: page_cache says what each method knows, and has the intervals
-- diff no: page_cache is compared, with the noise of its intervals
-- as in page_cache: method
-- column hit_count [count]: accesses to pages that were in the cache; NULL where the method cannot tell
-- as in page_cache: miss_count, hit_ratio
-- column dirty_count [count]: pages that became dirty
-- as in page_cache: refault_pages, miss_bytes
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
