-- disk_summary: each disk over the whole capture: its reads and writes, how long they took and waited in the queue, and how long those took that found the disk idle
-- grain: a disk that completed reads or writes; a partition is left out if its disk is listed, as iostat -x does
-- source: disk_utilization, block_io, block_device
-- caveat: means are those that iostat -xz shows for one interval as long as the capture; disk_utilization has the intervals, and the partitions
-- caveat: the counters cover the whole host, the block events only what was recorded: compare traced_count with request_count to see how many are missing
-- caveat: device-mapper and md devices have rows of their own beside the disks below them
-- diff by: device
-- diff sum: request_count, busy_ns
-- diff mean: await_ns by request_count, in_flight_count by busy_ns, busy_ratio
-- diff weight: 0.8
-- column device: its name
-- column duration_ns [ns]: the time between the snapshots that saw it
-- column request_count [count]: reads and writes completed
-- column read_count [count]: reads completed
-- column write_count [count]: writes completed
-- as in disk_utilization: read_per_s, write_per_s
-- column read_bytes [bytes]: read
-- column write_bytes [bytes]: written
-- as in disk_utilization: read_bytes_per_s, write_bytes_per_s
-- column await_ns [ns]: mean time of a read or write, in the queue and in the disk
-- column read_await_ns [ns]: mean time of a read (r_await); NULL without one
-- column read_await_max_ns [ns]: the largest read_await_ns of an interval
-- column write_await_ns [ns]: mean time of a write (w_await); NULL without one
-- column write_await_max_ns [ns]: the largest write_await_ns of an interval
-- column queue_avg_count [count]: mean number of requests in the queue and in the disk (aqu-sz)
-- column queue_max_count [count]: the largest mean number of such requests in an interval
-- column in_flight_count [count]: mean number of reads and writes in flight while the disk was busy; NULL if it never was
-- column busy_ns [ns]: time with a request in flight
-- column busy_ratio [ratio]: busy_ns as a share of the time between the snapshots (%util)
-- column busy_max_ratio [ratio]: busy_ratio of the busiest interval
-- column traced_count [count]: reads and writes in block_io; NULL without any
-- column traced_p50_ns [ns]: median time of the traced requests, in the queue and in the disk
-- column alone_count [count]: traced requests that found the disk idle
-- column alone_ns [ns]: mean time that the disk took for a traced request that found it idle
WITH disk AS (
  -- sda1 is of sda, nvme0n1p1 of nvme0n1.
  SELECT device, regexp_replace(device, '([a-z])[0-9]+$|([0-9])p[0-9]+$', '\1\2') AS whole, @total(interval_ns) AS duration_ns,
    @total(read_count::HUGEINT + write_count) AS request_count, @total(read_count) AS read_count, @total(write_count) AS write_count,
    @rate(read_count, interval_ns) AS read_per_s, @rate(write_count, interval_ns) AS write_per_s,
    @total(read_bytes) AS read_bytes, @total(write_bytes) AS write_bytes,
    @rate(read_bytes, interval_ns) AS read_bytes_per_s, @rate(write_bytes, interval_ns) AS write_bytes_per_s,
    sum(coalesce(read_await_ns * read_count, 0) + coalesce(write_await_ns * write_count, 0)) AS request_ns,
    @mean(read_await_ns, read_count) AS read_await_ns, max(read_await_ns) AS read_await_max_ns,
    @mean(write_await_ns, write_count) AS write_await_ns, max(write_await_ns) AS write_await_max_ns,
    @mean(queue_length, interval_ns) AS queue_avg_count, max(queue_length) AS queue_max_count,
    @total(busy_ns) AS busy_ns, max(util_ratio) AS busy_max_ratio
  FROM disk_utilization
  GROUP BY device
  HAVING sum(read_count::HUGEINT + write_count) > 0
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
SELECT d.device, d.duration_ns, d.request_count, d.read_count, d.write_count, d.read_per_s, d.write_per_s,
  d.read_bytes, d.write_bytes, d.read_bytes_per_s, d.write_bytes_per_s, @ratio(d.request_ns, d.request_count) AS await_ns,
  d.read_await_ns, d.read_await_max_ns, d.write_await_ns, d.write_await_max_ns, d.queue_avg_count, d.queue_max_count,
  @ratio(d.request_ns, d.busy_ns) AS in_flight_count, d.busy_ns, @ratio(d.busy_ns, d.duration_ns) AS busy_ratio, d.busy_max_ratio,
  t.traced_count, t.traced_p50_ns, t.alone_count, t.alone_ns
FROM disk AS d
LEFT JOIN traced AS t USING (device)
WHERE d.whole = d.device OR d.whole NOT IN (SELECT device FROM disk)
ORDER BY d.device
