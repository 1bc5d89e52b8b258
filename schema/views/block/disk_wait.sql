-- disk_wait: how long the threads of the workload waited for each disk while they had work
-- grain: a disk with block events, and one for all others if threads waited for some; none if no waits were followed (blame)
-- source: block_io, blame, block_device, workload_thread
-- caveat: a wait is that for the disk whose request ended last before the wait did; if no such request was recorded (in a recording of some processes
--   the kernel's threads send requests for them), the disk is not known
-- diff by: device
-- diff sum: wait_ns
-- diff max: wait_max_ns
-- diff weight: 0.7
-- column device: its name; major,minor if that is not known; NULL for waits whose disk is not known
-- column wait_ns [ns]: time that threads waited for it, followed to this cause
-- column wait_count [count]: parts of waits
-- column wait_max_ns [ns]: the longest of them; NULL without one
-- column long_ns [ns]: the part of wait_ns that was in parts of 100 ms or longer
WITH traced AS (
  SELECT DISTINCT device FROM block_io WHERE (SELECT count(*) FROM blame) > 0
), waited AS (
  SELECT device, duration_ns
  FROM blame
  WHERE cause = 'disk' AND utid IN (SELECT utid FROM workload_thread)
)
SELECT coalesce(any_value(n.device_name), t.device) AS device, @total_or_zero(w.duration_ns, true) AS wait_ns, count(w.duration_ns) AS wait_count,
  max(w.duration_ns) AS wait_max_ns, @total_or_zero(w.duration_ns, w.duration_ns >= 100000000) AS long_ns
FROM traced AS t
FULL JOIN waited AS w ON w.device = t.device
LEFT JOIN block_device AS n ON n.device = t.device
GROUP BY t.device
ORDER BY wait_ns DESC, device
