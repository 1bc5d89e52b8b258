-- page_size: the recorded machine's page size, if the capture says
-- grain: the capture; no row where the size is not known
-- source: capture, proc_memory, proc_vmstat
-- caveat: a bare folder of /proc does not state the page size: it follows from what both meminfo (in bytes) and vmstat (in pages) count; their median, since some guests alter the free memory in meminfo
-- caveat: on x86_64 and s390x it is always 4096
-- diff no: it is one of the things that make two captures comparable
-- column page_size_bytes [bytes]: size of a page
-- column is_stated: true if the capture states it; false if it follows from other figures
WITH stated AS (
  SELECT max(page_size_bytes)::BIGINT AS size, max(machine) AS machine FROM capture HAVING count(*) > 0
), amount AS (
  SELECT v.value AS pages, CASE v.name
    WHEN 'nr_free_pages' THEN m.mem_free_bytes
    WHEN 'nr_anon_pages' THEN m.anon_pages_bytes
    WHEN 'nr_mapped' THEN m.mapped_bytes
    WHEN 'nr_shmem' THEN m.shmem_bytes
    WHEN 'nr_active_file' THEN m.active_file_bytes
    WHEN 'nr_inactive_file' THEN m.inactive_file_bytes
    WHEN 'nr_page_table_pages' THEN m.page_tables_bytes
  END AS bytes
  FROM proc_memory AS m
  JOIN proc_vmstat AS v ON v.source_id = m.source_id AND v.snapshot = m.snapshot
), counted AS (
  SELECT pow(2, round(log2(median(bytes / pages))))::BIGINT AS size FROM amount WHERE pages > 0 AND bytes > 0
)
SELECT
  coalesce(s.size, CASE WHEN s.machine IN ('x86_64', 's390x') THEN 4096 END, c.size) AS page_size_bytes,
  s.size IS NOT NULL AS is_stated
FROM stated AS s
CROSS JOIN counted AS c
WHERE coalesce(s.size, CASE WHEN s.machine IN ('x86_64', 's390x') THEN 4096 END, c.size) IS NOT NULL
ORDER BY page_size_bytes
