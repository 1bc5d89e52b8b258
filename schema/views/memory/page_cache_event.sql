-- page_cache_event: what happened to pages of files in the page cache
-- grain: an event of the cache: pages that came in, left, were looked up by a read or a page fault, or became dirty
-- source: mm_filemap_add_to_page_cache, mm_filemap_delete_from_page_cache, mm_filemap_get_pages, mm_filemap_fault, writeback_dirty_folio
-- caveat: if several sources have such events, the one with the most additions counts. If a source has lookups or page faults but no additions, every page counts as present: record filemap:* together
-- caveat: a long read looks up its pages in steps, each from the end of the last step to the end of the read: page_count counts up to the next step, if that follows within a second
-- caveat: writeback_dirty_folio has only the inode, not the file system
-- diff no: events; page_cache and working_set add them up
-- keys: ts_ns
-- as in mm_filemap_add_to_page_cache: utid
-- column action: added, removed, looked_up, faulted, dirtied
-- column device: file system, as major,minor; NULL for dirtied
-- column inode: the file
-- column first_page: first page of the file that the event is about, counted from 0
-- column page_count [count]: pages
-- column is_written: for an addition: true if the same thread made the page dirty within a second, so it was written, not read; NULL if that was not recorded
WITH event_source AS (
  SELECT source_id
  FROM (
    SELECT source_id, 1 AS added FROM mm_filemap_add_to_page_cache
    UNION ALL SELECT source_id, 0 FROM mm_filemap_get_pages
    UNION ALL SELECT source_id, 0 FROM mm_filemap_fault
  )
  GROUP BY source_id
  ORDER BY sum(added) DESC, count(*) DESC, source_id
  LIMIT 1
), dirtied AS (
  SELECT d.* FROM writeback_dirty_folio AS d JOIN event_source USING (source_id)
), step AS (
  SELECT g.ts_ns, g.utid, g.s_dev, g.i_ino, g.index, g.last_index,
    lead(g.index) OVER line AS next_index,
    lead(g.last_index) OVER line = g.last_index AND lead(g.i_ino) OVER line = g.i_ino AND lead(g.s_dev) OVER line = g.s_dev
      AND lead(g.ts_ns) OVER line - g.ts_ns < 1000000000 AS goes_on
  FROM mm_filemap_get_pages AS g
  JOIN event_source USING (source_id)
  WINDOW line AS (PARTITION BY g.utid ORDER BY g.ts_ns, g.index)
), told AS (
  SELECT count(*) > 0 AS dirtying FROM dirtied
), event AS (
  SELECT a.ts_ns, a.utid, 'added' AS action, a.s_dev, a.i_ino AS inode, a.index AS first_page,
    1::BIGINT << least(coalesce(a."order", 0), 30) AS page_count,
    CASE WHEN t.dirtying THEN coalesce(d.ts_ns - a.ts_ns <= 1000000000, false) END AS is_written
  FROM mm_filemap_add_to_page_cache AS a
  JOIN event_source USING (source_id)
  CROSS JOIN told AS t
  ASOF LEFT JOIN dirtied AS d
    ON d.utid IS NOT DISTINCT FROM a.utid AND d.ino = a.i_ino AND d.index = a.index AND d.ts_ns >= a.ts_ns
  UNION ALL
  SELECT r.ts_ns, r.utid, 'removed', r.s_dev, r.i_ino, r.index, 1::BIGINT << least(coalesce(r."order", 0), 30), NULL
  FROM mm_filemap_delete_from_page_cache AS r
  JOIN event_source USING (source_id)
  UNION ALL
  SELECT ts_ns, utid, 'looked_up', s_dev, i_ino, index,
    (CASE WHEN goes_on AND next_index > index AND next_index <= last_index THEN next_index ELSE last_index + 1 END - index)::BIGINT,
    NULL
  FROM step
  WHERE last_index >= index AND last_index < 4611686018427387904
  UNION ALL
  SELECT f.ts_ns, f.utid, 'faulted', f.s_dev, f.i_ino, f.index, 1, NULL
  FROM mm_filemap_fault AS f
  JOIN event_source USING (source_id)
  UNION ALL
  SELECT ts_ns, utid, 'dirtied', NULL, ino, index, 1, NULL FROM dirtied
)
SELECT ts_ns, utid, action, (s_dev >> 20) || ',' || (s_dev & 1048575) AS device, inode, first_page, page_count, is_written
FROM event
ORDER BY ts_ns, utid, action, inode, first_page, page_count
