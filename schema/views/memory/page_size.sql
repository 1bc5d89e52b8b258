-- page_size: the recorded machine's page size, if the capture says
-- grain: the capture; no row where the size is not known
-- source: capture, proc_memory, proc_vmstat
-- caveat: a bare folder of /proc does not state the page size: it follows from the free memory in bytes (meminfo) and in pages (vmstat)
-- caveat: on x86_64 and s390x it is always 4096
-- diff no: it is one of the things that make two captures comparable
-- column page_size_bytes [bytes]: size of a page
-- column is_stated: true if the capture states it; false if it follows from other figures
WITH stated AS (
  SELECT max(page_size_bytes)::BIGINT AS size, max(machine) AS machine FROM capture HAVING count(*) > 0
), counted AS (
  SELECT pow(2, round(log2(median(m.mem_free_bytes / v.value))))::BIGINT AS size
  FROM proc_memory AS m
  JOIN proc_vmstat AS v ON v.source_id = m.source_id AND v.snapshot = m.snapshot AND v.name = 'nr_free_pages'
  WHERE v.value > 0 AND m.mem_free_bytes > 0
)
SELECT
  coalesce(s.size, CASE WHEN s.machine IN ('x86_64', 's390x') THEN 4096 END, c.size) AS page_size_bytes,
  s.size IS NOT NULL AS is_stated
FROM stated AS s
CROSS JOIN counted AS c
WHERE coalesce(s.size, CASE WHEN s.machine IN ('x86_64', 's390x') THEN 4096 END, c.size) IS NOT NULL
ORDER BY page_size_bytes
