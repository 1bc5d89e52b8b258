-- use_method: utilization, saturation and errors of every resource, over the whole capture and in its worst interval
-- grain: a figure of a resource
-- source: cpu_summary, scheduler_summary, memory_summary, vm_summary, pressure, disk_summary, block_summary, net_summary, tcp_summary, kernel_log
-- caveat: a resource without a row of a kind may still be busy or have errors: the capture does not say (view_coverage names what is missing)
-- caveat: a mean hides bursts: also look at the worst interval
-- caveat: disks and interfaces that were not used in the capture are left out, and so is what lost nothing in network namespaces other than the recorder's
-- diff no: figures of other views, which are compared there
-- column resource: cpu, memory, swap, disk, network
-- column instance: which one: a CPU, a device, an interface, a network namespace other than the recorder's; NULL for all together
-- column kind: utilization, saturation or errors
-- column metric: what the figure says
-- column value: the figure over the whole capture; errors and drops are counts
-- column worst_value: the largest value of an interval; NULL if the figure is not known for each interval
-- column unit: the unit of both: ratio is a share from 0 to 1
-- column absolute_value: what a share amounts to (busy time, used memory); for errors, drops and refusals, the number of all events that they are part of
-- column absolute_unit: the unit of absolute_value
-- column view_name: the view or table that it comes from
WITH cpu_summary_once AS MATERIALIZED (
  -- These are read several times. DuckDB would plan each copy of them, which takes longer than to read it.
  FROM cpu_summary
), memory_summary_once AS MATERIALIZED (
  FROM memory_summary
), vm_summary_once AS MATERIALIZED (
  FROM vm_summary
), pressure_once AS MATERIALIZED (
  FROM pressure
), disk_summary_once AS MATERIALIZED (
  FROM disk_summary
), net_summary_once AS MATERIALIZED (
  FROM net_summary
), tcp_summary_once AS MATERIALIZED (
  FROM tcp_summary
), kernel_log_once AS MATERIALIZED (
  FROM kernel_log
), figure AS (
  SELECT 1 AS place, 'cpu' AS resource, NULL AS instance, 'utilization' AS kind, 'busy' AS metric,
    busy_ratio AS value, busy_max_ratio AS worst_value, 'ratio' AS unit,
    busy_ns::DOUBLE AS absolute_value, 'ns' AS absolute_unit, 'cpu_summary' AS view_name
  FROM cpu_summary_once WHERE cpu = 'all'
  UNION ALL
  SELECT 2, 'cpu', 'CPU ' || cpu, 'utilization', 'busiest CPU', busy_ratio, busy_max_ratio, 'ratio', busy_ns::DOUBLE, 'ns', 'cpu_summary'
  FROM cpu_summary_once
  WHERE cpu <> 'all'
  QUALIFY row_number() OVER (ORDER BY busy_ratio DESC NULLS LAST, cpu) = 1
  UNION ALL
  SELECT 3, 'cpu', NULL, 'saturation', 'threads waited for a CPU', run_queue_ratio, NULL, 'ratio', run_queue_ns::DOUBLE, 'ns', 'scheduler_summary'
  FROM scheduler_summary
  UNION ALL
  SELECT 4, 'cpu', NULL, 'saturation', 'some thread waited for a CPU', @ratio(sum(some_ns), sum(interval_ns)),
    max(some_ratio), 'ratio', sum(some_ns)::DOUBLE, 'ns', 'pressure'
  FROM pressure_once WHERE resource = 'cpu' HAVING count(some_ns) > 0
  UNION ALL
  SELECT 5, 'cpu', NULL, 'saturation', 'steal (kept back by the hypervisor)', steal_ratio, steal_max_ratio, 'ratio', steal_ns::DOUBLE, 'ns', 'cpu_summary'
  FROM cpu_summary_once WHERE cpu = 'all' AND steal_ns IS NOT NULL
  UNION ALL
  SELECT 6, 'cpu', NULL, 'errors', 'hardware errors in the kernel''s log',
    (count(*) FILTER (is_in_capture AND regexp_matches(text, '(?i)machine check|hardware error|\bmce:|\bedac\b.*error')))::DOUBLE,
    NULL, 'count', (count(*) FILTER (is_in_capture))::DOUBLE, 'count', 'kernel_log'
  FROM kernel_log_once HAVING count(*) > 0
  UNION ALL
  SELECT 10, 'memory', NULL, 'utilization', 'used', used_avg_ratio, used_max_ratio, 'ratio', used_avg_bytes, 'bytes', 'memory_summary'
  FROM memory_summary_once WHERE used_avg_bytes IS NOT NULL
  UNION ALL
  SELECT 11, 'memory', NULL, 'saturation', 'some thread waited for memory', @ratio(sum(some_ns), sum(interval_ns)),
    max(some_ratio), 'ratio', sum(some_ns)::DOUBLE, 'ns', 'pressure'
  FROM pressure_once WHERE resource = 'memory' HAVING count(some_ns) > 0
  UNION ALL
  SELECT 12, 'memory', NULL, 'saturation', 'pages looked at by threads that wanted memory',
    scan_direct_pages_per_s, scan_direct_max_pages_per_s, 'pages/s', NULL, NULL, 'vm_summary'
  FROM vm_summary_once WHERE scan_direct_pages_per_s IS NOT NULL
  UNION ALL
  SELECT 13, 'memory', NULL, 'errors', 'processes killed by the OOM killer', oom_kill_count::DOUBLE, oom_kill_max_count::DOUBLE, 'count', NULL, NULL, 'vm_summary'
  FROM vm_summary_once WHERE oom_kill_count IS NOT NULL
  UNION ALL
  SELECT 20, 'swap', NULL, 'utilization', 'used', swap_used_avg_ratio, swap_used_max_ratio, 'ratio', swap_used_avg_bytes, 'bytes', 'memory_summary'
  FROM memory_summary_once WHERE swap_used_avg_ratio IS NOT NULL
  UNION ALL
  SELECT 21, 'swap', NULL, 'saturation', 'swapped in and out', swap_bytes_per_s, swap_max_bytes_per_s, 'bytes/s', swap_bytes::DOUBLE, 'bytes', 'vm_summary'
  FROM vm_summary_once WHERE swap_bytes IS NOT NULL
  UNION ALL
  SELECT 30, 'disk', device, 'utilization', 'busy', busy_ratio, busy_max_ratio, 'ratio', busy_ns::DOUBLE, 'ns', 'disk_summary'
  FROM disk_summary_once
  UNION ALL
  SELECT 31, 'disk', device, 'saturation', 'requests in the queue and the device', queue_avg_count, queue_max_count, 'count', NULL, NULL, 'disk_summary'
  FROM disk_summary_once
  UNION ALL
  SELECT 32, 'disk', NULL, 'saturation', 'some thread waited for input or output', @ratio(sum(some_ns), sum(interval_ns)),
    max(some_ratio), 'ratio', sum(some_ns)::DOUBLE, 'ns', 'pressure'
  FROM pressure_once WHERE resource = 'io' HAVING count(some_ns) > 0
  UNION ALL
  SELECT 33, 'disk', coalesce(device_name, device), 'errors', 'requests that failed', sum(failed_count)::DOUBLE, NULL,
    'count', sum(completed_count)::DOUBLE, 'count', 'block_summary'
  FROM block_summary GROUP BY ALL HAVING sum(completed_count) > 0
  UNION ALL
  SELECT 34, 'disk', NULL, 'errors', 'input/output errors in the kernel''s log',
    (count(*) FILTER (is_in_capture AND regexp_matches(text, '(?i)i/o error|critical [a-z ]+ error|remounting filesystem read-only')))::DOUBLE,
    NULL, 'count', (count(*) FILTER (is_in_capture))::DOUBLE, 'count', 'kernel_log'
  FROM kernel_log_once HAVING count(*) > 0
  UNION ALL
  SELECT 40, 'network', interface, 'utilization', 'of the link', util_ratio, util_max_ratio, 'ratio', link_bytes::DOUBLE, 'bytes', 'net_summary'
  FROM net_summary_once WHERE util_ratio IS NOT NULL AND packet_count > 0
  UNION ALL
  SELECT 41, 'network', interface || CASE WHEN netns_inode IS NULL THEN '' ELSE ' ' || @network_place(netns_inode, process, pid) END, 'saturation', 'packets dropped', drop_count::DOUBLE, drop_max_count::DOUBLE,
    'count', packet_count::DOUBLE, 'count', 'net_summary'
  FROM net_summary_once WHERE netns_inode IS NULL AND packet_count > 0 OR drop_count > 0
  UNION ALL
  SELECT 42, 'network', CASE WHEN netns_inode IS NOT NULL THEN 'TCP ' || @network_place(netns_inode, process, pid) END, 'saturation', 'TCP segments sent again', retransmit_ratio, retransmit_max_ratio, 'ratio',
    retransmit_count::DOUBLE, 'count', 'tcp_summary'
  FROM tcp_summary_once WHERE out_segment_count > 0 AND (netns_inode IS NULL OR retransmit_count > 0)
  UNION ALL
  SELECT 43, 'network', CASE WHEN netns_inode IS NOT NULL THEN 'TCP ' || @network_place(netns_inode, process, pid) END, 'saturation', 'connection requests dropped by listening sockets', listen_drop_count::DOUBLE,
    listen_drop_max_count::DOUBLE, 'count', passive_open_count::DOUBLE, 'count', 'tcp_summary'
  FROM tcp_summary_once WHERE listen_drop_count > 0 OR netns_inode IS NULL AND listen_drop_count IS NOT NULL
  UNION ALL
  SELECT 44, 'network', interface || CASE WHEN netns_inode IS NULL THEN '' ELSE ' ' || @network_place(netns_inode, process, pid) END, 'errors', 'packets with an error', error_count::DOUBLE, error_max_count::DOUBLE,
    'count', packet_count::DOUBLE, 'count', 'net_summary'
  FROM net_summary_once WHERE netns_inode IS NULL AND packet_count > 0 OR error_count > 0
)
SELECT resource, instance, kind, metric, value, worst_value, unit, absolute_value, absolute_unit, view_name
FROM figure
ORDER BY
  CASE resource WHEN 'cpu' THEN 1 WHEN 'memory' THEN 2 WHEN 'swap' THEN 3 WHEN 'disk' THEN 4 ELSE 5 END,
  place, instance NULLS FIRST
