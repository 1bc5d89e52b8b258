-- vm_summary: switches, interrupts, swapping and reclaim of the whole host over the whole capture, and their worst interval
-- grain: the capture, if two snapshots are in it
-- source: vm_activity, paging
-- caveat: runnable and blocked are counts of moments: the largest that a snapshot saw. The recorder itself is one of the runnable threads
-- caveat: vm_activity and paging have the intervals
-- diff no: vm_activity and paging are compared, with the noise of their intervals
-- column duration_ns [ns]: the time between the first and the last snapshot
-- column runnable_max_count [count]: the most threads that ran or waited for a CPU
-- column blocked_max_count [count]: the most threads that waited for input or output
-- column context_switch_count [count]: context switches
-- column context_switch_per_s [1/s]: context switches per second
-- column context_switch_max_per_s [1/s]: the most context switches per second in an interval
-- column interrupt_count [count]: interrupts
-- column interrupt_per_s [1/s]: interrupts per second
-- column interrupt_max_per_s [1/s]: the most interrupts per second in an interval
-- column fork_count [count]: processes and threads created
-- column swap_bytes [bytes]: bytes swapped in and out
-- column swap_bytes_per_s [bytes/s]: bytes swapped in and out per second
-- column swap_max_bytes_per_s [bytes/s]: the most bytes swapped in and out per second in an interval
-- column scan_direct_pages_per_s [pages/s]: pages looked at by threads that needed memory, per second; NULL if the kernel does not count them
-- column scan_direct_max_pages_per_s [pages/s]: the most pages looked at by threads that needed memory, per second in an interval
-- column oom_kill_count [count]: processes killed by the OOM killer
-- column oom_kill_max_count [count]: most processes killed by the OOM killer in an interval
WITH activity AS (
  SELECT 1 AS whole, @total(interval_ns) AS duration_ns, max(runnable_count) AS runnable_max_count, max(blocked_count) AS blocked_max_count,
    @total(context_switch_count) AS context_switch_count, @rate(context_switch_count, interval_ns) AS context_switch_per_s,
    max(context_switch_per_s) AS context_switch_max_per_s,
    @total(interrupt_count) AS interrupt_count, @rate(interrupt_count, interval_ns) AS interrupt_per_s, max(interrupt_per_s) AS interrupt_max_per_s,
    @total(fork_count) AS fork_count,
    @total(swap_in_bytes::HUGEINT + swap_out_bytes) AS swap_bytes, @rate(swap_in_bytes::HUGEINT + swap_out_bytes, interval_ns) AS swap_bytes_per_s,
    max(swap_in_bytes_per_s + swap_out_bytes_per_s) AS swap_max_bytes_per_s
  FROM vm_activity
  HAVING count(*) > 0
), reclaim AS (
  SELECT 1 AS whole, @total(interval_ns) AS duration_ns, @mean(scan_direct_pages_per_s, interval_ns) AS scan_direct_pages_per_s,
    max(scan_direct_pages_per_s) AS scan_direct_max_pages_per_s, @total(oom_kill_count) AS oom_kill_count, max(oom_kill_count) AS oom_kill_max_count
  FROM paging
  HAVING count(*) > 0
)
SELECT
  coalesce(a.duration_ns, r.duration_ns) AS duration_ns, a.runnable_max_count, a.blocked_max_count,
  a.context_switch_count, a.context_switch_per_s, a.context_switch_max_per_s,
  a.interrupt_count, a.interrupt_per_s, a.interrupt_max_per_s, a.fork_count, a.swap_bytes, a.swap_bytes_per_s, a.swap_max_bytes_per_s,
  r.scan_direct_pages_per_s, r.scan_direct_max_pages_per_s, r.oom_kill_count, r.oom_kill_max_count
FROM activity AS a
FULL JOIN reclaim AS r USING (whole)
