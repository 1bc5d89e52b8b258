-- page_cache_too_small: The page cache is too small: files are read from storage again and again
-- condition: one in ten or more of the pages that were read from storage had been in the page cache before (the kernel's
--   refaults of file pages), and these were 1 MB or more per second; and the kernel dropped half as many pages or more
--   (pgsteal), or a control group met its memory limit; otherwise they were dropped earlier, for another reason. Critical from
--   half of the reads: the cache then serves mostly what is read once. The published host had 100 GB of files, 48 GB of cache
--   and a hit ratio of 6.5 %
-- means: each of these reads waits for a disk instead of memory. A little more memory, or a little less data, can solve this:
--   the reads end when everything fits
-- next: perfcase view working_set: which files, and the size of the cache (perfcase-record --with page-cache)
-- next: perfcase view page_cache and memory: hits, misses, and what else uses the memory
-- next: perfcase view disk_utilization: what the reads cost. cgroup_activity: whether a control group is at its memory limit
-- about: the disks that threads waited for
-- taught by: A high rate of paging
-- source: cgroup_activity, disk_wait, page_cache_event, page_size, proc_memory, proc_vmstat, process_name, thread,
--   thread_name_span
-- evidence: SELECT ts_ns, interval_ns, method, hit_count, miss_count, hit_ratio, refault_pages, miss_bytes, cache_bytes FROM page_cache ORDER BY ts_ns
-- judged when: SELECT count(DISTINCT snapshot) > 1 FROM proc_vmstat
-- not judged: what was read from storage. It needs two snapshots of /proc/vmstat; perfcase-record takes them by default
WITH threshold AS (
  SELECT 0.1 AS refault_ratio, 0.5 AS critical_ratio, 1000000 AS bytes_per_s, 0.5 AS dropped_ratio
), counter AS (
  SELECT source_id, name, max(value) - min(value) AS n, max(ts_ns) - min(ts_ns) AS interval_ns
  FROM proc_vmstat
  WHERE name IN ('pgpgin', 'workingset_refault_file', 'workingset_refault', 'pgsteal_kswapd', 'pgsteal_direct')
  GROUP BY source_id, name
), step AS (
  SELECT source_id, max(interval_ns) AS interval_ns, max(n) FILTER (name = 'pgpgin') * 1024::HUGEINT AS read_bytes,
    max(n) FILTER (name LIKE 'workingset%') AS refault_pages, coalesce(sum(n) FILTER (name LIKE 'pgsteal%'), 0) AS dropped_count
  FROM counter
  GROUP BY source_id
), reader AS (
  -- Not by /proc/PID/io: it counts what children that ended have read.
  SELECT coalesce(p.name, n.comm, t.comm, '?') AS name, coalesce(p.pid, t.pid) AS pid, e.inode, sum(e.page_count) AS page_count,
    max(e.first_page + e.page_count) AS extent_pages
  FROM page_cache_event AS e
  LEFT JOIN thread AS t USING (utid)
  ASOF LEFT JOIN process_name AS p ON p.upid = t.upid AND p.since_ts_ns <= e.ts_ns
  ASOF LEFT JOIN thread_name_span AS n ON n.utid = e.utid AND n.since_ts_ns <= e.ts_ns
  WHERE e.action = 'added' AND NOT coalesce(e.is_written, false)
  GROUP BY ALL
  ORDER BY page_count DESC, pid, name, e.inode
  LIMIT 1
), cache AS (
  SELECT max(cached_bytes + coalesce(buffers_bytes, 0)) AS cache_bytes FROM proc_memory
), limited AS (
  SELECT cgroup, @total(memory_limit_hit_count) AS hit_count, max(memory_limit_bytes) AS limit_bytes
  FROM cgroup_activity
  GROUP BY cgroup
  HAVING sum(memory_limit_hit_count) > 0
  ORDER BY hit_count DESC, cgroup
  LIMIT 1
), found AS (
  SELECT s.interval_ns, s.read_bytes, s.dropped_count, s.refault_pages, s.refault_pages::HUGEINT * p.page_size_bytes AS refault_bytes,
    -- least() takes NULL for no bound.
    CASE WHEN s.read_bytes > 0 THEN least(1, s.refault_pages::HUGEINT * p.page_size_bytes / s.read_bytes) END AS refault_ratio,
    r.name, r.pid, r.page_count::HUGEINT * p.page_size_bytes AS most_bytes, r.extent_pages::HUGEINT * p.page_size_bytes AS extent_bytes, c.cache_bytes, l.cgroup, l.hit_count, l.limit_bytes
  FROM step AS s
  CROSS JOIN page_size AS p
  LEFT JOIN reader AS r ON true
  LEFT JOIN cache AS c ON true
  LEFT JOIN limited AS l ON true
  WHERE s.interval_ns > 0
)
SELECT
  @severity(f.refault_ratio >= h.critical_ratio, true) AS severity,
  'the page cache' AS subject,
  format('{} of {} that were read from storage, {:.1f} %, had been in memory and had been dropped: {}/s{}{}{}',
    -- Some that came back were read before the first snapshot, or by readahead.
    @size(least(f.refault_bytes, f.read_bytes)), @size(f.read_bytes), 100 * f.refault_ratio,
    @size(least(f.refault_bytes, f.read_bytes) * 1e9 / f.interval_ns),
    CASE WHEN f.cache_bytes IS NULL THEN '' ELSE format('; the cache held {} at most', @size(f.cache_bytes)) END,
    CASE WHEN f.name IS NULL THEN '' ELSE format('; {} ({}) read most, {} of a file of {} or more', f.name, f.pid, @size(f.most_bytes), @size(f.extent_bytes)) END,
    CASE WHEN f.cgroup IS NULL THEN '' ELSE format('; {} was {} times at its memory limit of {}', f.cgroup, f.hit_count, @size(f.limit_bytes)) END) AS message,
  -- The part of the waits for disks that is as large as that of the reads.
  @whole(f.refault_ratio * (SELECT sum(wait_ns) FROM disk_wait)) AS cost_ns,
  (SELECT list('disk ' || device) FROM disk_wait WHERE wait_ns > 0 AND device IS NOT NULL) AS about
FROM found AS f
CROSS JOIN threshold AS h
WHERE f.refault_ratio >= h.refault_ratio AND (f.dropped_count >= h.dropped_ratio * f.refault_pages OR f.cgroup IS NOT NULL) AND f.refault_bytes * 1e9 >= 1e0 * h.bytes_per_s * f.interval_ns
