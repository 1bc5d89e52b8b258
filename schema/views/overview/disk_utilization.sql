-- disk_utilization: what each disk did, as iostat -xz prints it
-- grain: an interval between two snapshots × block device; none for devices that were never used since boot
-- source: proc_disk
-- caveat: partitions and the devices below device-mapper and md have rows of their own: a sum over all rows counts a request twice
-- caveat: util_ratio says how long at least one request was in flight. A device that serves many requests at a time (SSD, RAID) can do more even at 1; a long request that began before the interval can lift it above 1
-- caveat: a device that appears, or whose counters start again, counts from 0; times wrap at 2^32 ms, counts of 32-bit kernels at 2^32, and go on correctly from there
-- diff by: device
-- diff sum: read_count, write_count, discard_count, flush_count, read_bytes, write_bytes
-- diff mean: util_ratio, queue_length, read_await_ns by read_count, write_await_ns by write_count, request_size_bytes by read_count + write_count
-- diff weight: 0.85
-- plot: intervals util_ratio, queue_length, read_per_s, write_per_s, read_bytes_per_s, write_bytes_per_s, read_await_ns, write_await_ns by device
-- chart timeline 3: Disks: util_ratio as in use by device
-- keys: ts_ns, interval_ns
-- as in proc_disk: device
-- column read_per_s [1/s]: reads completed (r/s)
-- column write_per_s [1/s]: writes completed (w/s)
-- column discard_per_s [1/s]: discards completed (d/s); NULL before Linux 4.18
-- column flush_per_s [1/s]: flushes completed (f/s); NULL before Linux 5.5
-- column read_bytes_per_s [bytes/s]: read (rkB/s in bytes)
-- column write_bytes_per_s [bytes/s]: written (wkB/s in bytes)
-- column discard_bytes_per_s [bytes/s]: discarded (dkB/s in bytes)
-- column read_merge_per_s [1/s]: reads merged into others (rrqm/s)
-- column write_merge_per_s [1/s]: writes merged into others (wrqm/s)
-- column discard_merge_per_s [1/s]: discards merged into others (drqm/s)
-- column read_merge_ratio [ratio]: merged reads as a share of all reads (%rrqm)
-- column write_merge_ratio [ratio]: merged writes as a share of all writes (%wrqm)
-- column discard_merge_ratio [ratio]: merged discards as a share of all discards (%drqm)
-- column read_await_ns [ns]: mean time of a read, in the queue and in the device (r_await); NULL without one
-- column write_await_ns [ns]: mean time of a write (w_await)
-- column discard_await_ns [ns]: mean time of a discard (d_await)
-- column flush_await_ns [ns]: mean time of a flush (f_await)
-- column read_size_bytes [bytes]: mean size of a read (rareq-sz)
-- column write_size_bytes [bytes]: mean size of a write (wareq-sz)
-- column discard_size_bytes [bytes]: mean size of a discard (dareq-sz)
-- column request_size_bytes [bytes]: mean size of reads, writes and discards together (areq-sz)
-- column queue_length [count]: mean number of requests in the queue and in the device (aqu-sz)
-- column in_flight_count [count]: requests in flight at the end of the interval
-- column util_ratio [ratio]: share of the interval with a request in flight (%util)
-- column busy_ns [ns]: util_ratio in ns
-- column read_count [count]: reads completed in the interval
-- column write_count [count]: writes completed in the interval
-- column discard_count [count]: discards completed in the interval
-- column flush_count [count]: flushes completed in the interval
-- column read_bytes [bytes]: read in the interval
-- column write_bytes [bytes]: written in the interval
-- column discard_bytes [bytes]: discarded in the interval
-- column read_merge_count [count]: reads merged into others, in the interval
-- column write_merge_count [count]: writes merged into others, in the interval
-- column discard_merge_count [count]: discards merged into others, in the interval
WITH snapshot_before AS (
  SELECT source_id, snapshot, lag(snapshot) OVER w AS before, ts_ns - lag(ts_ns) OVER w AS interval_ns
  FROM (SELECT source_id, snapshot, max(ts_ns) AS ts_ns FROM proc_disk GROUP BY source_id, snapshot)
  WINDOW w AS (PARTITION BY source_id ORDER BY snapshot)
), counter AS (
  FROM proc_disk UNPIVOT (
    value FOR field IN (
      read_count, read_merge_count, read_bytes, read_ns, write_count, write_merge_count, write_bytes, write_ns, io_ns,
      weighted_io_ns, discard_count, discard_merge_count, discard_bytes, discard_ns, flush_count, flush_ns
    )
  )
), pair AS (
  SELECT c.source_id, c.snapshot, c.device, c.major, c.minor, c.field, c.value, b.value AS before,
    -- The kernel counts sectors of 512 bytes and ms in 32 bits.
    4294967296 * CASE WHEN c.field LIKE '%\_bytes' ESCAPE '\' THEN 512 WHEN c.field LIKE '%\_ns' ESCAPE '\' THEN 1000000 ELSE 1 END AS wrap
  FROM counter AS c
  JOIN snapshot_before AS s ON s.source_id = c.source_id AND s.snapshot = c.snapshot
  LEFT JOIN counter AS b
    ON b.source_id = c.source_id AND b.snapshot = s.before AND b.device = c.device AND b.major = c.major
    AND b.minor = c.minor AND b.field = c.field
  WHERE s.interval_ns > 0
), judged AS (
  SELECT *, @counter_step(value, before, wrap) AS step
  FROM pair
), step AS (
  SELECT source_id, snapshot, device, major, minor, field, value AS total,
    -- A device that is new, or of which one counter began again, counts from 0.
    CASE WHEN before IS NULL OR bool_or(before IS NOT NULL AND step IS NULL) OVER (PARTITION BY source_id, snapshot, device, major, minor)
      THEN value ELSE step END AS n
  FROM judged
), grown AS (
  SELECT source_id, snapshot, device, major, minor,
    max(n) FILTER (field = 'read_count') AS read_count, max(n) FILTER (field = 'read_merge_count') AS read_merge_count,
    max(n) FILTER (field = 'read_bytes') AS read_bytes, max(n) FILTER (field = 'read_ns') AS read_ns,
    max(n) FILTER (field = 'write_count') AS write_count, max(n) FILTER (field = 'write_merge_count') AS write_merge_count,
    max(n) FILTER (field = 'write_bytes') AS write_bytes, max(n) FILTER (field = 'write_ns') AS write_ns,
    max(n) FILTER (field = 'discard_count') AS discard_count,
    max(n) FILTER (field = 'discard_merge_count') AS discard_merge_count,
    max(n) FILTER (field = 'discard_bytes') AS discard_bytes, max(n) FILTER (field = 'discard_ns') AS discard_ns,
    max(n) FILTER (field = 'flush_count') AS flush_count, max(n) FILTER (field = 'flush_ns') AS flush_ns,
    max(n) FILTER (field = 'io_ns') AS io_ns, max(n) FILTER (field = 'weighted_io_ns') AS weighted_io_ns
  FROM step
  GROUP BY source_id, snapshot, device, major, minor
  HAVING max(total) > 0
)
SELECT
  d.ts_ns - s.interval_ns AS ts_ns, s.interval_ns, d.device,
  @per_second(g.read_count, s.interval_ns) AS read_per_s,
  @per_second(g.write_count, s.interval_ns) AS write_per_s,
  @per_second(g.discard_count, s.interval_ns) AS discard_per_s,
  @per_second(g.flush_count, s.interval_ns) AS flush_per_s,
  @per_second(g.read_bytes, s.interval_ns) AS read_bytes_per_s,
  @per_second(g.write_bytes, s.interval_ns) AS write_bytes_per_s,
  @per_second(g.discard_bytes, s.interval_ns) AS discard_bytes_per_s,
  @per_second(g.read_merge_count, s.interval_ns) AS read_merge_per_s,
  @per_second(g.write_merge_count, s.interval_ns) AS write_merge_per_s,
  @per_second(g.discard_merge_count, s.interval_ns) AS discard_merge_per_s,
  @ratio(g.read_merge_count, g.read_merge_count + g.read_count) AS read_merge_ratio,
  @ratio(g.write_merge_count, g.write_merge_count + g.write_count) AS write_merge_ratio,
  @ratio(g.discard_merge_count, g.discard_merge_count + g.discard_count) AS discard_merge_ratio,
  @ratio(g.read_ns, g.read_count) AS read_await_ns,
  @ratio(g.write_ns, g.write_count) AS write_await_ns,
  @ratio(g.discard_ns, g.discard_count) AS discard_await_ns,
  @ratio(g.flush_ns, g.flush_count) AS flush_await_ns,
  @ratio(g.read_bytes, g.read_count) AS read_size_bytes,
  @ratio(g.write_bytes, g.write_count) AS write_size_bytes,
  @ratio(g.discard_bytes, g.discard_count) AS discard_size_bytes,
  (g.read_bytes + g.write_bytes + coalesce(g.discard_bytes, 0))
    / nullif(g.read_count + g.write_count + coalesce(g.discard_count, 0), 0) AS request_size_bytes,
  g.weighted_io_ns / s.interval_ns AS queue_length,
  d.in_flight_count,
  g.io_ns / s.interval_ns AS util_ratio,
  g.io_ns AS busy_ns,
  g.read_count, g.write_count, g.discard_count, g.flush_count, g.read_bytes, g.write_bytes, g.discard_bytes,
  g.read_merge_count, g.write_merge_count, g.discard_merge_count
FROM grown AS g
JOIN snapshot_before AS s ON s.source_id = g.source_id AND s.snapshot = g.snapshot
JOIN proc_disk AS d
  ON d.source_id = g.source_id AND d.snapshot = g.snapshot AND d.device = g.device AND d.major = g.major
  AND d.minor = g.minor
ORDER BY d.ts_ns, d.source_id, d.major, d.minor, d.device
