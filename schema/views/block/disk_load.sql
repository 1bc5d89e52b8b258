-- disk_load: each disk over the whole capture: how long its requests took, how many were under way, and how those that found it idle did
-- grain: a disk that completed reads or writes; partitions are left out where their disk is there
-- source: disk_utilization, block_io, block_device
-- caveat: the counters are the host's, the block events those that were recorded: traced_count beside request_count shows how many are missing
-- caveat: device-mapper and md devices have rows of their own beside the disks below them
-- diff by: device
-- diff sum: request_count, busy_ns
-- diff mean: await_ns by request_count, in_flight_count by busy_ns, busy_ratio
-- diff weight: 0.8
-- as in disk_utilization: device
-- column request_count [count]: reads and writes completed
-- column await_ns [ns]: mean time of one, in the queue and in the disk
-- column in_flight_count [count]: mean number of reads and writes under way while any was; NULL where the disk was never busy
-- column busy_ns [ns]: time with a request under way
-- column busy_ratio [ratio]: its share of the time between the snapshots
-- column traced_count [count]: reads and writes of block_io; NULL without
-- column traced_p50_ns [ns]: half of those took this long or longer, in the queue and in the disk
-- column alone_count [count]: those of them that found the disk idle
-- column alone_ns [ns]: mean time that the disk took for these
WITH disk AS (
  -- sda1 is of sda, nvme0n1p1 of nvme0n1.
  SELECT device, regexp_replace(device, '([a-z])[0-9]+$|([0-9])p[0-9]+$', '\1\2') AS whole, @total(read_count + write_count) AS request_count,
    sum(coalesce(read_await_ns * read_count, 0) + coalesce(write_await_ns * write_count, 0)) AS request_ns,
    @total(busy_ns) AS busy_ns, sum(interval_ns) AS interval_ns
  FROM disk_utilization
  GROUP BY device
  HAVING sum(read_count + write_count) > 0
), step AS (
  SELECT device, issued_ts_ns AS ts_ns, 1 AS step, latency_ns, coalesce(queue_ns, 0) + latency_ns AS total_ns, operation IN ('read', 'write') AS is_request
  FROM block_io
  WHERE latency_ns IS NOT NULL
  UNION ALL SELECT device, completed_ts_ns, -1, NULL, NULL, false FROM block_io WHERE latency_ns IS NOT NULL
), deep AS (
  SELECT *, sum(step) OVER (PARTITION BY device ORDER BY ts_ns, step ROWS UNBOUNDED PRECEDING) AS depth FROM step
), traced AS (
  SELECT n.device_name AS device, count(*) AS traced_count, quantile_disc(d.total_ns, 0.5) AS traced_p50_ns,
    count(*) FILTER (d.depth = 1) AS alone_count, avg(d.latency_ns) FILTER (d.depth = 1) AS alone_ns
  FROM deep AS d
  JOIN block_device AS n USING (device)
  WHERE d.is_request
  GROUP BY n.device_name
)
SELECT d.device, d.request_count, d.request_ns / d.request_count AS await_ns, @ratio(d.request_ns, d.busy_ns) AS in_flight_count,
  d.busy_ns, d.busy_ns / d.interval_ns AS busy_ratio, t.traced_count, t.traced_p50_ns, t.alone_count, t.alone_ns
FROM disk AS d
LEFT JOIN traced AS t USING (device)
WHERE d.whole = d.device OR d.whole NOT IN (SELECT device FROM disk)
ORDER BY d.device
