-- paging: paging, faults and reclaim, as sar -B prints them, refaults and swapping beside them
-- grain: an interval between two snapshots
-- source: proc_vmstat
-- caveat: page_in and page_out count all input and output of the block devices, not only that of page faults
-- caveat: pages have the kernel's page size; efficiency is steal over scan: a low value means that reclaim looks at many pages to get few
-- caveat: a counter that goes backwards and did not wrap at 2^32 is unknown in that interval; a counter that the kernel does not have is NULL
-- diff by: -
-- diff sum: page_in_bytes, page_out_bytes, fault_count, major_fault_count, scan_pages, steal_pages, refault_pages, oom_kill_count
-- diff apart: page_in_bytes, page_out_bytes, fault_count, scan_pages
-- diff weight: 0.7
-- keys: ts_ns, interval_ns
-- column page_in_bytes_per_s [bytes/s]: read from block devices (pgpgin/s)
-- column page_out_bytes_per_s [bytes/s]: written to block devices (pgpgout/s)
-- column fault_per_s [1/s]: page faults (fault/s)
-- column major_fault_per_s [1/s]: page faults that had to read (majflt/s)
-- column free_pages_per_s [pages/s]: pages given back (pgfree/s)
-- column scan_kswapd_pages_per_s [pages/s]: pages looked at by kswapd (pgscank/s)
-- column scan_direct_pages_per_s [pages/s]: pages looked at by threads that needed memory and waited for it meanwhile (pgscand/s)
-- column steal_pages_per_s [pages/s]: pages reclaimed (pgsteal/s)
-- column reclaim_ratio [ratio]: pages reclaimed as a share of those looked at (%vmeff); NULL if none was looked at
-- column refault_file_pages_per_s [pages/s]: file pages read again soon after they were evicted: the cache is too small
-- column refault_anon_pages_per_s [pages/s]: anonymous pages swapped in again soon after they were evicted
-- column swap_in_pages_per_s [pages/s]: pages swapped in
-- column swap_out_pages_per_s [pages/s]: pages swapped out
-- column page_in_bytes [bytes]: read from block devices in the interval
-- column page_out_bytes [bytes]: written to block devices in the interval
-- column fault_count [count]: page faults in the interval
-- column major_fault_count [count]: page faults that had to read, in the interval
-- column minor_fault_count [count]: page faults that did not have to read, in the interval
-- column scan_pages [pages]: pages looked at in the interval: reclaim_ratio is a share of them
-- column steal_pages [pages]: pages reclaimed in the interval
-- column refault_pages [pages]: pages evicted too early, in the interval
-- column oom_kill_count [count]: processes killed by the OOM killer, in the interval
WITH counter AS (
  -- Reclaim has been counted by who does it (kswapd, direct, khugepaged, proactive), formerly by zone as well. The same
  -- pages are counted by kind too (pgsteal_anon, pgsteal_file): those would count twice.
  SELECT source_id, snapshot, ts_ns, value, name AS full_name,
    CASE
      WHEN regexp_matches(name, '^pgscan_kswapd(_\w+)?$') THEN 'scan_kswapd'
      WHEN regexp_matches(name, '^pgscan_direct(_\w+)?$') AND name <> 'pgscan_direct_throttle' THEN 'scan_direct'
      WHEN regexp_matches(name, '^pgscan_(khugepaged|proactive)$') THEN 'scan_other'
      WHEN regexp_matches(name, '^pgsteal_(kswapd|direct)(_\w+)?$|^pgsteal_(khugepaged|proactive)$') THEN 'steal'
      WHEN regexp_matches(name, '^pgsteal_(dma|dma32|normal|high|movable|device)$') THEN 'steal'
      WHEN name IN ('workingset_refault', 'workingset_refault_file') THEN 'refault_file'
      WHEN name = 'workingset_refault_anon' THEN 'refault_anon'
      ELSE name
    END AS name
  FROM proc_vmstat
  WHERE name IN ('pgpgin', 'pgpgout', 'pgfault', 'pgmajfault', 'pgfree', 'pswpin', 'pswpout', 'oom_kill')
    OR name LIKE 'pgscan%' OR name LIKE 'pgsteal%' OR name LIKE 'workingset\_refault%' ESCAPE '\'
), pair AS (
  SELECT source_id, snapshot, ts_ns, name, value, lag(value) OVER w AS before, ts_ns - lag(ts_ns) OVER w AS interval_ns
  FROM counter
  WINDOW w AS (PARTITION BY source_id, full_name ORDER BY snapshot, ts_ns)
), step AS (
  SELECT source_id, snapshot, ts_ns, interval_ns, name,
    @counter_step(value, before, 4294967296) AS n
  FROM pair
  WHERE interval_ns > 0
), summed AS (
  -- A sum of which a part is unknown is unknown.
  SELECT source_id, snapshot, ts_ns, interval_ns, name, CASE WHEN count(n) = count(*) THEN @total(n) END AS n
  FROM step
  GROUP BY source_id, snapshot, ts_ns, interval_ns, name
), flat AS (
  SELECT source_id, snapshot, ts_ns, interval_ns,
    @product((max(n) FILTER (name = 'pgpgin')), 1024) AS page_in, @product((max(n) FILTER (name = 'pgpgout')), 1024) AS page_out,
    max(n) FILTER (name = 'pgfault') AS fault, max(n) FILTER (name = 'pgmajfault') AS major_fault,
    max(n) FILTER (name = 'pgfree') AS freed,
    max(n) FILTER (name = 'scan_kswapd') AS scan_kswapd, max(n) FILTER (name = 'scan_direct') AS scan_direct,
    max(n) FILTER (name = 'scan_other') AS scan_other, max(n) FILTER (name = 'steal') AS steal,
    max(n) FILTER (name = 'refault_file') AS refault_file, max(n) FILTER (name = 'refault_anon') AS refault_anon,
    max(n) FILTER (name = 'pswpin') AS swap_in, max(n) FILTER (name = 'pswpout') AS swap_out,
    max(n) FILTER (name = 'oom_kill') AS oom_kill
  FROM summed
  GROUP BY source_id, snapshot, ts_ns, interval_ns
)
SELECT
  ts_ns - interval_ns AS ts_ns, interval_ns,
  @per_second(page_in, interval_ns) AS page_in_bytes_per_s,
  @per_second(page_out, interval_ns) AS page_out_bytes_per_s,
  @per_second(fault, interval_ns) AS fault_per_s,
  @per_second(major_fault, interval_ns) AS major_fault_per_s,
  @per_second(freed, interval_ns) AS free_pages_per_s,
  @per_second(scan_kswapd, interval_ns) AS scan_kswapd_pages_per_s,
  @per_second(scan_direct, interval_ns) AS scan_direct_pages_per_s,
  @per_second(steal, interval_ns) AS steal_pages_per_s,
  @ratio(steal, scan_kswapd::HUGEINT + scan_direct + coalesce(scan_other, 0)) AS reclaim_ratio,
  @per_second(refault_file, interval_ns) AS refault_file_pages_per_s,
  @per_second(refault_anon, interval_ns) AS refault_anon_pages_per_s,
  @per_second(swap_in, interval_ns) AS swap_in_pages_per_s,
  @per_second(swap_out, interval_ns) AS swap_out_pages_per_s,
  page_in AS page_in_bytes,
  page_out AS page_out_bytes,
  fault AS fault_count,
  major_fault AS major_fault_count,
  fault - major_fault AS minor_fault_count,
  TRY_CAST(scan_kswapd::HUGEINT + scan_direct + coalesce(scan_other, 0) AS BIGINT) AS scan_pages,
  steal AS steal_pages,
  TRY_CAST(coalesce(refault_file::HUGEINT + refault_anon, refault_file) AS BIGINT) AS refault_pages,
  oom_kill AS oom_kill_count
FROM flat
ORDER BY flat.ts_ns, source_id
