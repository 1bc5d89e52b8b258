-- memory_reclaim: Memory is short, of the host or of a control group: threads reclaim it themselves, memory is swapped, or processes were killed
-- condition: the kernel killed a process because it was out of memory, and its log that would name it is not in the capture (critical:
--   otherwise oom_kill says so); or 4 MiB or more in 10 s were swapped in, or
--   threads scanned 4 MiB in 10 s in direct reclaim, and, if the kernel counts pressure, some thread waited for memory for 1 %
--   of the time or longer. A warning from 5 % (or without pressure figures), critical if all threads waited for 10 % of the
--   time. Swapping out alone is no problem: unused memory belongs there. It is the group's
--   shortage if its limit was met and a tenth of the host's memory was available, or if the kills were in it
-- means: an allocation should take nanoseconds, but it waits for reclaim or for the disk. Latency jumps anywhere in the program
-- next: perfcase view paging: scans, reclaim and refaults over time
-- next: perfcase view memory, process_activity: which processes have the memory. cgroup_activity: which limit was met
-- next: perfcase view kernel_log: which process the kernel killed
-- taught by: A high rate of paging
-- source: cgroup_activity, kernel_log, memory, page_size, paging, pressure
-- evidence: SELECT ts_ns, scan_direct_pages_per_s, scan_kswapd_pages_per_s, swap_in_pages_per_s, swap_out_pages_per_s, refault_pages, oom_kill_count FROM paging
--   ORDER BY ts_ns
WITH threshold AS (
  SELECT 4194304 / 10.0 AS bytes_per_s, 1048576 AS bytes, 0.01 AS some_ratio, 0.05 AS warning_ratio, 0.1 AS full_ratio, 0.1 AS available_ratio
), page AS (
  SELECT max(page_size_bytes) AS size FROM page_size
), total AS (
  SELECT sum(interval_ns) / 1e9 AS s, sum(scan_direct_pages_per_s * interval_ns / 1e9) * any_value(z.size) AS scanned_bytes,
    sum(swap_in_pages_per_s * interval_ns / 1e9) * any_value(z.size) AS in_bytes,
    sum(swap_out_pages_per_s * interval_ns / 1e9) * any_value(z.size) AS out_bytes, sum(oom_kill_count) AS kills
  FROM paging
  CROSS JOIN page AS z
  HAVING count(*) > 0
), stalled AS (
  SELECT sum(some_ns) / sum(interval_ns) AS some_ratio, sum(full_ns) / sum(interval_ns) AS full_ratio, sum(some_ns) AS some_ns
  FROM pressure
  WHERE resource = 'memory'
), limited AS (
  SELECT cgroup, sum(oom_kill_count) AS kills, sum(memory_limit_hit_count) AS hits, max(memory_limit_bytes) AS limit_bytes
  FROM cgroup_activity
  GROUP BY cgroup
  HAVING sum(oom_kill_count) > 0 OR sum(memory_limit_hit_count) > 0
  ORDER BY kills DESC NULLS LAST, hits DESC NULLS LAST, length(cgroup) DESC, cgroup
  LIMIT 1
), room AS (
  SELECT min(available_bytes / nullif(memory_bytes, 0)) AS available_ratio FROM memory
), told AS (
  SELECT t.*, p.*, l.cgroup, l.hits, l.limit_bytes, coalesce(t.kills, 0) > 0 AND NOT EXISTS (FROM kernel_log WHERE is_in_capture AND text LIKE '%ut of memory: Kill%') AS is_killed,
    l.cgroup IS NOT NULL AND (coalesce(l.kills, 0) >= greatest(t.kills, 1) OR r.available_ratio >= h.available_ratio) IS TRUE AS is_of_group,
    (t.in_bytes >= h.bytes_per_s * t.s AND t.in_bytes >= h.bytes OR t.scanned_bytes >= h.bytes_per_s * t.s AND t.scanned_bytes >= h.bytes)
      AND coalesce(p.some_ratio, 1) >= h.some_ratio AS is_short
  FROM total AS t
  CROSS JOIN stalled AS p
  CROSS JOIN room AS r
  LEFT JOIN limited AS l ON true
  CROSS JOIN threshold AS h
)
SELECT
  CASE
    WHEN t.is_killed OR t.full_ratio >= h.full_ratio THEN 'critical'
    WHEN coalesce(t.some_ratio, 1) >= h.warning_ratio THEN 'warning'
    ELSE 'note'
  END AS severity,
  CASE WHEN t.is_of_group THEN t.cgroup ELSE 'memory' END AS subject,
  concat_ws('; ',
    CASE WHEN t.is_killed THEN CASE t.kills WHEN 1 THEN '1 process was' ELSE @whole(t.kills) || ' processes were' END || ' killed by the OOM killer' END,
    CASE WHEN t.is_of_group THEN format('the group met its memory limit{} {} times',
      CASE WHEN t.limit_bytes IS NULL THEN '' ELSE ' of ' || @size(t.limit_bytes) END, @whole(coalesce(t.hits, 0))) END,
    format('in {:.1f} s threads scanned {} in direct reclaim, {} were swapped in and {} out', t.s,
      @size(coalesce(t.scanned_bytes, 0)), @size(coalesce(t.in_bytes, 0)),
      @size(coalesce(t.out_bytes, 0))),
    CASE WHEN t.some_ratio IS NOT NULL THEN format('some thread waited for memory {:.2f} s ({:.1f} %)', t.some_ns / 1e9, 100 * t.some_ratio) END
  ) AS message,
  -- Whenever some thread waited, one or more did. The killed lost all that they had under way.
  @whole(t.some_ns) AS cost_ns, CASE WHEN t.is_killed THEN 1 END::DOUBLE AS failed_ratio
FROM told AS t
CROSS JOIN threshold AS h
WHERE t.is_killed OR t.is_short
