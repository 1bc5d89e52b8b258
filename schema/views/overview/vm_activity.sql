-- vm_activity: run queue, memory, swap, block input and output, interrupts, switches and CPU, as vmstat prints them
-- grain: an interval between two snapshots
-- source: proc_system, proc_memory, proc_vmstat, cpu_utilization, page_size
-- caveat: runnable and blocked are counts at the end of the interval. The recorder itself is one of the runnable threads
-- caveat: user_ratio is vmstat's us, which holds usr and nice; system_ratio is its sy, which holds sys, irq and soft. Time in guests is separate (gu of newer versions; procps 4.0.2 leaves it out, and its row does not add up to 100)
-- caveat: what the kernel counts in pages is NULL if their size is unknown
-- caveat: a counter that goes backwards and did not wrap at 2^32 is unknown in that interval
-- diff by: -
-- diff sum: context_switch_count, interrupt_count, fork_count, swap_in_bytes, swap_out_bytes, block_in_bytes, block_out_bytes
-- diff mean: runnable_count, blocked_count
-- diff per cpu: context_switch_count, interrupt_count
-- diff apart: context_switch_count, interrupt_count, fork_count, blocked_count
-- diff weight: 0.45
-- plot: intervals runnable_count, blocked_count, free_bytes, swap_in_bytes_per_s, swap_out_bytes_per_s, block_in_bytes_per_s, block_out_bytes_per_s, interrupt_per_s, context_switch_per_s, user_ratio, system_ratio, idle_ratio, iowait_ratio, steal_ratio
-- keys: ts_ns, interval_ns
-- column runnable_count [count]: threads that ran or waited for a CPU (r)
-- column blocked_count [count]: threads that waited for input or output (b)
-- column swap_used_bytes [bytes]: swap space in use (swpd)
-- column free_bytes [bytes]: unused memory (free)
-- column buffers_bytes [bytes]: block device pages in the cache (buff)
-- column cache_bytes [bytes]: file pages in the cache, and kernel objects that can be reclaimed (cache)
-- column swap_in_bytes_per_s [bytes/s]: swapped in (si)
-- column swap_out_bytes_per_s [bytes/s]: swapped out (so)
-- column block_in_bytes_per_s [bytes/s]: read from block devices (bi)
-- column block_out_bytes_per_s [bytes/s]: written to block devices (bo)
-- column interrupt_per_s [1/s]: interrupts (in)
-- column context_switch_per_s [1/s]: context switches (cs)
-- column fork_per_s [1/s]: processes and threads created
-- column user_ratio [ratio]: share of CPU time in user mode, guests not included (us)
-- column system_ratio [ratio]: in the kernel (sy)
-- column idle_ratio [ratio]: idle (id)
-- column iowait_ratio [ratio]: idle with a request in flight (wa)
-- column steal_ratio [ratio]: not given by the hypervisor (st)
-- column guest_ratio [ratio]: running guests (gu)
-- column user_ns [ns]: user_ratio in ns, over all CPUs
-- column system_ns [ns]: system_ratio in ns, over all CPUs
-- column idle_ns [ns]: idle_ratio in ns, over all CPUs
-- column iowait_ns [ns]: iowait_ratio in ns, over all CPUs
-- column steal_ns [ns]: steal_ratio in ns, over all CPUs
-- column guest_ns [ns]: guest_ratio in ns, over all CPUs
-- column swap_in_bytes [bytes]: swapped in, in the interval
-- column swap_out_bytes [bytes]: swapped out, in the interval
-- column block_in_bytes [bytes]: read from block devices in the interval
-- column block_out_bytes [bytes]: written to block devices in the interval
-- column interrupt_count [count]: interrupts in the interval
-- column context_switch_count [count]: context switches in the interval
-- column fork_count [count]: processes and threads created in the interval
WITH counter AS (
  SELECT source_id, snapshot, ts_ns, name, value
  FROM proc_vmstat
  WHERE name IN ('pswpin', 'pswpout', 'pgpgin', 'pgpgout')
  UNION ALL
  SELECT source_id, snapshot, ts_ns, name, value
  FROM proc_system UNPIVOT (value FOR name IN (interrupt_count, context_switch_count, fork_count))
), pair AS (
  SELECT *, lag(value) OVER w AS before, ts_ns - lag(ts_ns) OVER w AS interval_ns
  FROM counter
  WINDOW w AS (PARTITION BY source_id, name ORDER BY snapshot, ts_ns)
), step AS (
  SELECT source_id, snapshot, interval_ns, name,
    @counter_step(value, before, 4294967296) AS n
  FROM pair
  WHERE interval_ns > 0
), flat AS (
  SELECT source_id, snapshot,
    max(n) FILTER (name = 'pswpin') AS swap_in, max(n) FILTER (name = 'pswpout') AS swap_out,
    @product((max(n) FILTER (name = 'pgpgin')), 1024) AS block_in, @product((max(n) FILTER (name = 'pgpgout')), 1024) AS block_out,
    max(interval_ns) FILTER (name = 'pgpgin') AS paging_interval_ns,
    max(n) FILTER (name = 'interrupt_count') AS interrupts,
    max(n) FILTER (name = 'context_switch_count') AS context_switches,
    max(n) FILTER (name = 'fork_count') AS forks
  FROM step
  GROUP BY source_id, snapshot
), system AS (
  SELECT *, ts_ns - lag(ts_ns) OVER (PARTITION BY source_id ORDER BY snapshot, ts_ns) AS interval_ns
  FROM proc_system
), page AS (
  SELECT max(page_size_bytes) AS bytes FROM page_size
)
SELECT
  s.ts_ns - s.interval_ns AS ts_ns, s.interval_ns, s.running_count AS runnable_count, s.blocked_count,
  m.swap_total_bytes - m.swap_free_bytes AS swap_used_bytes,
  m.mem_free_bytes AS free_bytes,
  m.buffers_bytes,
  m.cached_bytes + coalesce(m.slab_reclaimable_bytes, 0) AS cache_bytes,
  1e9 * f.swap_in * p.bytes / f.paging_interval_ns AS swap_in_bytes_per_s,
  1e9 * f.swap_out * p.bytes / f.paging_interval_ns AS swap_out_bytes_per_s,
  @per_second(f.block_in, f.paging_interval_ns) AS block_in_bytes_per_s,
  @per_second(f.block_out, f.paging_interval_ns) AS block_out_bytes_per_s,
  @per_second(f.interrupts, s.interval_ns) AS interrupt_per_s,
  @per_second(f.context_switches, s.interval_ns) AS context_switch_per_s,
  @per_second(f.forks, s.interval_ns) AS fork_per_s,
  c.user_ratio + c.nice_ratio AS user_ratio,
  c.system_ratio + coalesce(c.irq_ratio, 0) + coalesce(c.softirq_ratio, 0) AS system_ratio,
  c.idle_ratio, c.iowait_ratio, c.steal_ratio,
  coalesce(c.guest_ratio + c.guest_nice_ratio, c.guest_ratio) AS guest_ratio,
  TRY_CAST(c.user_ns::HUGEINT + c.nice_ns AS BIGINT) AS user_ns,
  TRY_CAST(c.system_ns::HUGEINT + coalesce(c.irq_ns, 0) + coalesce(c.softirq_ns, 0) AS BIGINT) AS system_ns,
  c.idle_ns, c.iowait_ns, c.steal_ns,
  TRY_CAST(coalesce(c.guest_ns::HUGEINT + c.guest_nice_ns, c.guest_ns) AS BIGINT) AS guest_ns,
  @product(f.swap_in, p.bytes) AS swap_in_bytes,
  @product(f.swap_out, p.bytes) AS swap_out_bytes,
  f.block_in AS block_in_bytes,
  f.block_out AS block_out_bytes,
  f.interrupts AS interrupt_count,
  f.context_switches AS context_switch_count,
  f.forks AS fork_count
FROM system AS s
CROSS JOIN page AS p
LEFT JOIN flat AS f ON f.source_id = s.source_id AND f.snapshot = s.snapshot
LEFT JOIN proc_memory AS m ON m.source_id = s.source_id AND m.snapshot = s.snapshot
-- Both are of one reading of /proc/stat.
LEFT JOIN cpu_utilization AS c ON c.ts_ns + c.interval_ns = s.ts_ns AND c.cpu = 'all'
WHERE s.interval_ns > 0
ORDER BY s.ts_ns, s.source_id
