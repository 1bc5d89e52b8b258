-- use_method: utilization, saturation and errors of every resource, over the whole capture and in its worst interval
-- grain: a figure of a resource
-- source: cpu_utilization, thread_time, memory, paging, vm_activity, pressure, disk_utilization, block_io, block_device, net_utilization, tcp_activity, kernel_log
-- caveat: a resource without a row of a kind is not known to be idle or free of errors: the capture does not say (view_coverage names what is missing)
-- caveat: a mean hides bursts: read the worst interval beside it
-- caveat: disks and interfaces that were not used in the capture are left out
-- diff no: figures of other views, which are compared there
-- column resource: cpu, memory, swap, disk, network
-- column instance: which one: a CPU, a device, an interface; NULL for all together
-- column kind: utilization, saturation or errors
-- column metric: what the figure says
-- column value: the figure over the whole capture; errors and drops are counts
-- column worst_value: the same of the interval in which it was the largest; NULL where it is not known by intervals
-- column unit: the unit of both: ratio is a share from 0 to 1
-- column absolute_value: a share in absolute terms (busy time, used memory); of errors, drops and refusals, the events that they were among
-- column absolute_unit: its unit
-- column view_name: the view or table that it comes from
WITH one_cpu AS (
  SELECT cpu, sum(busy_ns) AS busy_ns, sum(cpu_ns) AS cpu_ns, max(busy_ratio) AS worst
  FROM cpu_utilization
  WHERE cpu <> 'all'
  GROUP BY cpu
), figure AS (
  SELECT 1 AS place, 'cpu' AS resource, NULL AS instance, 'utilization' AS kind, 'busy' AS metric,
    sum(busy_ns) / nullif(sum(cpu_ns), 0) AS value, max(busy_ratio) AS worst_value, 'ratio' AS unit,
    sum(busy_ns)::DOUBLE AS absolute_value, 'ns' AS absolute_unit, 'cpu_utilization' AS view_name
  FROM cpu_utilization WHERE cpu = 'all' HAVING count(*) > 0
  UNION ALL
  SELECT 2, 'cpu', 'CPU ' || cpu, 'utilization', 'busiest CPU', busy_ns / nullif(cpu_ns, 0), worst, 'ratio',
    busy_ns::DOUBLE, 'ns', 'cpu_utilization'
  FROM one_cpu
  QUALIFY row_number() OVER (ORDER BY busy_ns / nullif(cpu_ns, 0) DESC NULLS LAST, cpu) = 1
  UNION ALL
  SELECT 3, 'cpu', NULL, 'saturation', 'threads waited for a CPU',
    sum(run_queue_ns) / nullif(sum(run_queue_ns) + sum(on_cpu_ns), 0), NULL, 'ratio', sum(run_queue_ns)::DOUBLE, 'ns', 'thread_time'
  FROM thread_time HAVING count(*) > 0
  UNION ALL
  SELECT 4, 'cpu', NULL, 'saturation', 'some thread waited for a CPU', sum(some_ns) / nullif(sum(interval_ns), 0),
    max(some_ratio), 'ratio', sum(some_ns)::DOUBLE, 'ns', 'pressure'
  FROM pressure WHERE resource = 'cpu' HAVING count(some_ns) > 0
  UNION ALL
  SELECT 5, 'cpu', NULL, 'saturation', 'steal (kept back by the hypervisor)', sum(steal_ns) / nullif(sum(cpu_ns), 0),
    max(steal_ratio), 'ratio', sum(steal_ns)::DOUBLE, 'ns', 'cpu_utilization'
  FROM cpu_utilization WHERE cpu = 'all' HAVING count(steal_ns) > 0
  UNION ALL
  SELECT 6, 'cpu', NULL, 'errors', 'hardware errors in the kernel''s log',
    (count(*) FILTER (is_in_capture AND regexp_matches(text, '(?i)machine check|hardware error|\bmce:|\bedac\b.*error')))::DOUBLE,
    NULL, 'count', (count(*) FILTER (is_in_capture))::DOUBLE, 'count', 'kernel_log'
  FROM kernel_log HAVING count(*) > 0
  UNION ALL
  SELECT 10, 'memory', NULL, 'utilization', 'used', avg(used_bytes / nullif(memory_bytes, 0)), max(used_bytes / nullif(memory_bytes, 0)),
    'ratio', avg(used_bytes), 'bytes', 'memory'
  FROM memory HAVING count(used_bytes) > 0
  UNION ALL
  SELECT 11, 'memory', NULL, 'saturation', 'some thread waited for memory', sum(some_ns) / nullif(sum(interval_ns), 0),
    max(some_ratio), 'ratio', sum(some_ns)::DOUBLE, 'ns', 'pressure'
  FROM pressure WHERE resource = 'memory' HAVING count(some_ns) > 0
  UNION ALL
  SELECT 12, 'memory', NULL, 'saturation', 'pages looked at by threads that wanted memory',
    sum(scan_direct_pages_per_s * interval_ns) / nullif(sum(interval_ns) FILTER (scan_direct_pages_per_s IS NOT NULL), 0),
    max(scan_direct_pages_per_s), 'pages/s', NULL, NULL, 'paging'
  FROM paging HAVING count(scan_direct_pages_per_s) > 0
  UNION ALL
  SELECT 13, 'memory', NULL, 'errors', 'processes killed by the OOM killer', sum(oom_kill_count)::DOUBLE,
    max(oom_kill_count)::DOUBLE, 'count', NULL, NULL, 'paging'
  FROM paging HAVING count(oom_kill_count) > 0
  UNION ALL
  SELECT 20, 'swap', NULL, 'utilization', 'used', avg(swap_used_bytes / nullif(swap_total_bytes, 0)),
    max(swap_used_bytes / nullif(swap_total_bytes, 0)), 'ratio', avg(swap_used_bytes), 'bytes', 'memory'
  FROM memory WHERE swap_total_bytes > 0 HAVING count(*) > 0
  UNION ALL
  SELECT 21, 'swap', NULL, 'saturation', 'swapped in and out',
    sum(swap_in_bytes + swap_out_bytes) * 1e9 / nullif(sum(interval_ns) FILTER (swap_in_bytes + swap_out_bytes IS NOT NULL), 0),
    max(swap_in_bytes_per_s + swap_out_bytes_per_s), 'bytes/s', sum(swap_in_bytes + swap_out_bytes)::DOUBLE, 'bytes', 'vm_activity'
  FROM vm_activity HAVING count(swap_in_bytes + swap_out_bytes) > 0
  UNION ALL
  SELECT 30, 'disk', device, 'utilization', 'busy', sum(busy_ns) / nullif(sum(interval_ns), 0), max(util_ratio), 'ratio',
    sum(busy_ns)::DOUBLE, 'ns', 'disk_utilization'
  FROM disk_utilization GROUP BY device HAVING sum(read_count) + sum(write_count) > 0
  UNION ALL
  SELECT 31, 'disk', device, 'saturation', 'requests in the queue and the device',
    sum(queue_length * interval_ns) / nullif(sum(interval_ns), 0), max(queue_length), 'count', NULL, NULL, 'disk_utilization'
  FROM disk_utilization GROUP BY device HAVING sum(read_count) + sum(write_count) > 0
  UNION ALL
  SELECT 32, 'disk', NULL, 'saturation', 'some thread waited for input or output', sum(some_ns) / nullif(sum(interval_ns), 0),
    max(some_ratio), 'ratio', sum(some_ns)::DOUBLE, 'ns', 'pressure'
  FROM pressure WHERE resource = 'io' HAVING count(some_ns) > 0
  UNION ALL
  SELECT 33, 'disk', coalesce(n.device_name, r.device), 'errors', 'requests that failed', (count(*) FILTER (r.error <> 0))::DOUBLE, NULL,
    'count', count(r.error)::DOUBLE, 'count', 'block_io'
  FROM block_io AS r LEFT JOIN block_device AS n USING (device) GROUP BY ALL HAVING count(r.error) > 0
  UNION ALL
  SELECT 34, 'disk', NULL, 'errors', 'input/output errors in the kernel''s log',
    (count(*) FILTER (is_in_capture AND regexp_matches(text, '(?i)i/o error|critical [a-z ]+ error|remounting filesystem read-only')))::DOUBLE,
    NULL, 'count', (count(*) FILTER (is_in_capture))::DOUBLE, 'count', 'kernel_log'
  FROM kernel_log HAVING count(*) > 0
  UNION ALL
  SELECT 40, 'network', interface, 'utilization', 'of the link',
    sum(util_ratio * interval_ns) / nullif(sum(interval_ns) FILTER (util_ratio IS NOT NULL), 0), max(util_ratio), 'ratio',
    (sum(rx_bytes) + sum(tx_bytes))::DOUBLE, 'bytes', 'net_utilization'
  FROM net_utilization GROUP BY interface HAVING count(util_ratio) > 0 AND sum(rx_packet_count) + sum(tx_packet_count) > 0
  UNION ALL
  SELECT 41, 'network', interface, 'saturation', 'packets dropped', (sum(rx_drop_count) + sum(tx_drop_count))::DOUBLE,
    max(rx_drop_count + tx_drop_count)::DOUBLE, 'count', (sum(rx_packet_count) + sum(tx_packet_count))::DOUBLE, 'count', 'net_utilization'
  FROM net_utilization GROUP BY interface HAVING sum(rx_packet_count) + sum(tx_packet_count) + sum(rx_drop_count) + sum(tx_drop_count) > 0
  UNION ALL
  SELECT 42, 'network', NULL, 'saturation', 'TCP segments sent again', sum(retransmit_count) / nullif(sum(out_segment_count), 0),
    max(retransmit_ratio), 'ratio', sum(retransmit_count)::DOUBLE, 'count', 'tcp_activity'
  FROM tcp_activity HAVING sum(out_segment_count) > 0
  UNION ALL
  SELECT 43, 'network', NULL, 'saturation', 'connections refused by full queues', sum(listen_drop_count)::DOUBLE,
    max(listen_drop_count)::DOUBLE, 'count', sum(passive_open_count)::DOUBLE, 'count', 'tcp_activity'
  FROM tcp_activity HAVING count(listen_drop_count) > 0
  UNION ALL
  SELECT 44, 'network', interface, 'errors', 'packets with an error', (sum(rx_error_count) + sum(tx_error_count))::DOUBLE,
    max(rx_error_count + tx_error_count)::DOUBLE, 'count', (sum(rx_packet_count) + sum(tx_packet_count))::DOUBLE, 'count', 'net_utilization'
  FROM net_utilization GROUP BY interface HAVING sum(rx_packet_count) + sum(tx_packet_count) + sum(rx_error_count) + sum(tx_error_count) > 0
)
SELECT resource, instance, kind, metric, value, worst_value, unit, absolute_value, absolute_unit, view_name
FROM figure
ORDER BY
  CASE resource WHEN 'cpu' THEN 1 WHEN 'memory' THEN 2 WHEN 'swap' THEN 3 WHEN 'disk' THEN 4 ELSE 5 END,
  place, instance NULLS FIRST
