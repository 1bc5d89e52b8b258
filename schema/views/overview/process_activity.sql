-- process_activity: what each process did, as pidstat -urdw prints it
-- grain: an interval between two snapshots × process that was in the later one
-- source: proc_process, proc_thread, thread, process_name, capture
-- caveat: CPU time is counted in ticks (10 ms with 100 ticks a second) and adjusted to the exact total: the split into user and system time is an estimate
-- caveat: CPU time, faults and storage are the process's own totals, ended threads included; if a capture has no files of processes, they are sums over its threads. Switches and run_queue_ns are always sums over the threads that a snapshot saw: what a thread did after its last snapshot is not included. Without files of threads, the switches are those of /proc/PID/status if the process has one thread, else unknown. (pidstat -w without -t shows the main thread's switches only.)
-- caveat: a process that started since the last snapshot counts from its start, which is known to one tick
-- caveat: bytes read and written are those of storage; what the page cache answered is in read_char_bytes of proc_process
-- diff by: comm
-- diff sum: cpu_ns, run_queue_ns, block_delay_ns, major_fault_count, minor_fault_count, read_bytes, write_bytes, voluntary_switch_count, involuntary_switch_count
-- diff level: resident_bytes, thread_count
-- diff weight: 0.65
-- plot: intervals cpu_ratio, run_queue_ratio, resident_bytes, read_bytes_per_s, write_bytes_per_s by pid, comm
-- keys: ts_ns, interval_ns, upid, pid
-- column comm: its name at the end of the interval
-- column user_ratio [ratio]: CPU time in user mode as a share of one CPU; it may be more than 1
-- column system_ratio [ratio]: CPU time in the kernel as a share of one CPU
-- column cpu_ratio [ratio]: user_ratio and system_ratio together
-- column user_ns [ns]: CPU time in user mode, guests included
-- column system_ns [ns]: CPU time in the kernel
-- column cpu_ns [ns]: user_ns and system_ns together
-- column run_queue_ns [ns]: time its threads waited for a CPU, all threads together
-- column run_queue_ratio [ratio]: run_queue_ns as a share of the interval; it may be more than 1
-- as in proc_process: block_delay_ns, minor_fault_count, major_fault_count
-- column minor_fault_per_s [1/s]: minor_fault_count per second
-- column major_fault_per_s [1/s]: major_fault_count per second
-- column virtual_bytes [bytes]: address space at the end
-- column resident_bytes [bytes]: resident memory at the end
-- column resident_ratio [ratio]: resident_bytes as a share of the host's memory
-- as in proc_process: read_bytes, write_bytes, cancelled_write_bytes
-- column read_bytes_per_s [bytes/s]: read_bytes per second
-- column write_bytes_per_s [bytes/s]: write_bytes per second
-- column cancelled_write_bytes_per_s [bytes/s]: cancelled_write_bytes per second
-- column voluntary_switch_count [count]: times its threads gave up the CPU
-- column involuntary_switch_count [count]: times the CPU was taken from its threads
-- column voluntary_switch_per_s [1/s]: voluntary_switch_count per second
-- column involuntary_switch_per_s [1/s]: involuntary_switch_count per second
-- column thread_count [count]: its threads at the end
WITH seen AS (
  SELECT source_id, utid, min(snapshot) AS first_snapshot, max(snapshot) AS last_snapshot, sum(hash(snapshot)) AS snapshots,
    count(user_ns) IN (0, count(*)) AND count(system_ns) IN (0, count(*)) AND count(run_queue_ns) IN (0, count(*))
      AND count(block_delay_ns) IN (0, count(*)) AND count(minor_fault_count) IN (0, count(*))
      AND count(major_fault_count) IN (0, count(*)) AND count(read_bytes) IN (0, count(*))
      AND count(write_bytes) IN (0, count(*)) AND count(cancelled_write_bytes) IN (0, count(*))
      AND count(voluntary_switch_count) IN (0, count(*)) AND count(involuntary_switch_count) IN (0, count(*)) AS is_even
  FROM proc_thread
  GROUP BY source_id, utid
), taken_thread AS (
  SELECT source_id, snapshot, lag(snapshot) OVER w AS before, sum(hash(snapshot)) OVER w AS snapshots
  FROM (SELECT DISTINCT source_id, snapshot FROM proc_thread)
  WINDOW w AS (PARTITION BY source_id ORDER BY snapshot)
), begun AS (
  SELECT s.source_id, s.utid, s.last_snapshot, t.snapshots - hash(t.snapshot) + s.snapshots AS snapshots
  FROM seen AS s
  JOIN taken_thread AS t ON t.source_id = s.source_id AND t.snapshot = s.first_snapshot
  WHERE s.is_even
), steady AS (
  -- Most threads are once in each snapshot from their first to their last one: the sum of their steps is the step of their sum. No row
  -- has to find the one before it, which takes four times as long. The hashes tell a thread that is twice in one and not in the next.
  SELECT b.source_id, b.utid, t.upid, b.last_snapshot
  FROM begun AS b
  JOIN taken_thread AS l ON l.source_id = b.source_id AND l.snapshot = b.last_snapshot AND l.snapshots = b.snapshots
  JOIN thread AS t USING (utid)
), other AS (
  SELECT s.source_id, s.utid, t.upid
  FROM seen AS s
  JOIN thread AS t USING (utid)
  ANTI JOIN steady AS e ON e.source_id = s.source_id AND e.utid = s.utid
), level AS (
  SELECT t.source_id, t.snapshot, s.upid, max(t.pid) AS pid, min(t.ts_ns) AS ts_ns, max(t.comm) FILTER (t.tid = t.pid) AS comm,
    min(t.start_boottime_ns) FILTER (t.tid = t.pid) AS start_boottime_ns, max(t.thread_count) AS thread_count,
    max(t.virtual_bytes) AS virtual_bytes, max(t.resident_bytes) AS resident_bytes,
    sum(t.user_ns) AS user_ns, sum(t.system_ns) AS system_ns, sum(t.run_queue_ns) AS run_queue_ns,
    sum(t.block_delay_ns) AS block_delay_ns, sum(t.minor_fault_count) AS minor_fault_count,
    sum(t.major_fault_count) AS major_fault_count, sum(t.read_bytes) AS read_bytes, sum(t.write_bytes) AS write_bytes,
    sum(t.cancelled_write_bytes) AS cancelled_write_bytes, sum(t.voluntary_switch_count) AS voluntary_switch_count,
    sum(t.involuntary_switch_count) AS involuntary_switch_count
  FROM proc_thread AS t
  JOIN steady AS s USING (source_id, utid)
  GROUP BY t.source_id, t.snapshot, s.upid
), gone AS (
  -- What threads had that are in no later snapshot: the sum is less without them, and nobody did less.
  SELECT t.source_id, t.snapshot, s.upid,
    sum(t.user_ns) AS user_ns, sum(t.system_ns) AS system_ns, sum(t.run_queue_ns) AS run_queue_ns,
    sum(t.block_delay_ns) AS block_delay_ns, sum(t.minor_fault_count) AS minor_fault_count,
    sum(t.major_fault_count) AS major_fault_count, sum(t.read_bytes) AS read_bytes, sum(t.write_bytes) AS write_bytes,
    sum(t.cancelled_write_bytes) AS cancelled_write_bytes, sum(t.voluntary_switch_count) AS voluntary_switch_count,
    sum(t.involuntary_switch_count) AS involuntary_switch_count
  FROM proc_thread AS t
  JOIN steady AS s ON s.source_id = t.source_id AND s.utid = t.utid AND s.last_snapshot = t.snapshot
  WHERE (t.source_id, t.snapshot) NOT IN (SELECT (source_id, max(snapshot)) FROM taken_thread GROUP BY source_id)
  GROUP BY t.source_id, t.snapshot, s.upid
), step_of_sum AS (
  SELECT l.source_id, l.snapshot, l.upid, l.pid, l.ts_ns, l.comm, l.start_boottime_ns, l.thread_count, l.virtual_bytes, l.resident_bytes,
    l.user_ns - (coalesce(b.user_ns, 0) - coalesce(g.user_ns, 0)) AS user_ns,
    l.system_ns - (coalesce(b.system_ns, 0) - coalesce(g.system_ns, 0)) AS system_ns,
    l.run_queue_ns - (coalesce(b.run_queue_ns, 0) - coalesce(g.run_queue_ns, 0)) AS run_queue_ns,
    l.block_delay_ns - (coalesce(b.block_delay_ns, 0) - coalesce(g.block_delay_ns, 0)) AS block_delay_ns,
    l.minor_fault_count - (coalesce(b.minor_fault_count, 0) - coalesce(g.minor_fault_count, 0)) AS minor_fault_count,
    l.major_fault_count - (coalesce(b.major_fault_count, 0) - coalesce(g.major_fault_count, 0)) AS major_fault_count,
    l.read_bytes - (coalesce(b.read_bytes, 0) - coalesce(g.read_bytes, 0)) AS read_bytes,
    l.write_bytes - (coalesce(b.write_bytes, 0) - coalesce(g.write_bytes, 0)) AS write_bytes,
    l.cancelled_write_bytes - (coalesce(b.cancelled_write_bytes, 0) - coalesce(g.cancelled_write_bytes, 0)) AS cancelled_write_bytes,
    l.voluntary_switch_count - (coalesce(b.voluntary_switch_count, 0) - coalesce(g.voluntary_switch_count, 0)) AS voluntary_switch_count,
    l.involuntary_switch_count - (coalesce(b.involuntary_switch_count, 0) - coalesce(g.involuntary_switch_count, 0)) AS involuntary_switch_count
  FROM level AS l
  JOIN taken_thread AS n ON n.source_id = l.source_id AND n.snapshot = l.snapshot
  LEFT JOIN level AS b ON b.source_id = l.source_id AND b.snapshot = n.before AND b.upid IS NOT DISTINCT FROM l.upid
  LEFT JOIN gone AS g ON g.source_id = l.source_id AND g.snapshot = n.before AND g.upid IS NOT DISTINCT FROM l.upid
), thread_step AS (
  -- lag with a default would be shorter, but DuckDB 1.4 cannot read it from a database that DuckDB 2 wrote.
  SELECT t.source_id, t.snapshot, th.upid, t.pid, t.ts_ns, t.comm, t.tid, t.start_boottime_ns, t.thread_count,
    t.virtual_bytes, t.resident_bytes,
    t.user_ns - CASE WHEN lag(t.snapshot) OVER w IS NULL THEN 0 ELSE lag(t.user_ns) OVER w END AS user_ns,
    t.system_ns - CASE WHEN lag(t.snapshot) OVER w IS NULL THEN 0 ELSE lag(t.system_ns) OVER w END AS system_ns,
    t.run_queue_ns - CASE WHEN lag(t.snapshot) OVER w IS NULL THEN 0 ELSE lag(t.run_queue_ns) OVER w END AS run_queue_ns,
    t.block_delay_ns - CASE WHEN lag(t.snapshot) OVER w IS NULL THEN 0 ELSE lag(t.block_delay_ns) OVER w END AS block_delay_ns,
    t.minor_fault_count - CASE WHEN lag(t.snapshot) OVER w IS NULL THEN 0 ELSE lag(t.minor_fault_count) OVER w END AS minor_fault_count,
    t.major_fault_count - CASE WHEN lag(t.snapshot) OVER w IS NULL THEN 0 ELSE lag(t.major_fault_count) OVER w END AS major_fault_count,
    t.read_bytes - CASE WHEN lag(t.snapshot) OVER w IS NULL THEN 0 ELSE lag(t.read_bytes) OVER w END AS read_bytes,
    t.write_bytes - CASE WHEN lag(t.snapshot) OVER w IS NULL THEN 0 ELSE lag(t.write_bytes) OVER w END AS write_bytes,
    t.cancelled_write_bytes - CASE WHEN lag(t.snapshot) OVER w IS NULL THEN 0 ELSE lag(t.cancelled_write_bytes) OVER w END AS cancelled_write_bytes,
    t.voluntary_switch_count - CASE WHEN lag(t.snapshot) OVER w IS NULL THEN 0 ELSE lag(t.voluntary_switch_count) OVER w END AS voluntary_switch_count,
    t.involuntary_switch_count - CASE WHEN lag(t.snapshot) OVER w IS NULL THEN 0 ELSE lag(t.involuntary_switch_count) OVER w END AS involuntary_switch_count
  FROM proc_thread AS t
  JOIN other AS th USING (source_id, utid)
  WINDOW w AS (PARTITION BY t.source_id, t.utid ORDER BY t.snapshot, t.ts_ns)
), by_thread AS (
  SELECT source_id, snapshot, upid, max(pid) AS pid, min(ts_ns) AS ts_ns, max(comm) AS comm,
    min(start_boottime_ns) AS start_boottime_ns, max(thread_count) AS thread_count,
    max(virtual_bytes) AS virtual_bytes, max(resident_bytes) AS resident_bytes,
    @total(user_ns) AS user_ns, @total(system_ns) AS system_ns, @total(run_queue_ns) AS run_queue_ns,
    @total(block_delay_ns) AS block_delay_ns, @total(minor_fault_count) AS minor_fault_count,
    @total(major_fault_count) AS major_fault_count, @total(read_bytes) AS read_bytes, @total(write_bytes) AS write_bytes,
    @total(cancelled_write_bytes) AS cancelled_write_bytes, @total(voluntary_switch_count) AS voluntary_switch_count,
    @total(involuntary_switch_count) AS involuntary_switch_count
  FROM (
    FROM step_of_sum
    UNION ALL BY NAME
    SELECT * EXCLUDE (tid) REPLACE (CASE WHEN tid = pid THEN comm END AS comm,
      CASE WHEN tid = pid THEN start_boottime_ns END AS start_boottime_ns)
    FROM thread_step
  )
  GROUP BY source_id, snapshot, upid
), by_process AS (
  SELECT source_id, snapshot, upid, pid, ts_ns, comm, start_boottime_ns, thread_count, virtual_bytes, resident_bytes,
    user_ns - CASE WHEN lag(snapshot) OVER w IS NULL THEN 0 ELSE lag(user_ns) OVER w END AS user_ns,
    system_ns - CASE WHEN lag(snapshot) OVER w IS NULL THEN 0 ELSE lag(system_ns) OVER w END AS system_ns,
    block_delay_ns - CASE WHEN lag(snapshot) OVER w IS NULL THEN 0 ELSE lag(block_delay_ns) OVER w END AS block_delay_ns,
    minor_fault_count - CASE WHEN lag(snapshot) OVER w IS NULL THEN 0 ELSE lag(minor_fault_count) OVER w END AS minor_fault_count,
    major_fault_count - CASE WHEN lag(snapshot) OVER w IS NULL THEN 0 ELSE lag(major_fault_count) OVER w END AS major_fault_count,
    read_bytes - CASE WHEN lag(snapshot) OVER w IS NULL THEN 0 ELSE lag(read_bytes) OVER w END AS read_bytes,
    write_bytes - CASE WHEN lag(snapshot) OVER w IS NULL THEN 0 ELSE lag(write_bytes) OVER w END AS write_bytes,
    cancelled_write_bytes - CASE WHEN lag(snapshot) OVER w IS NULL THEN 0 ELSE lag(cancelled_write_bytes) OVER w END AS cancelled_write_bytes,
    -- The status of a process has the switches of its main thread.
    CASE WHEN thread_count = 1 AND coalesce(lag(thread_count) OVER w, 1) = 1
      THEN voluntary_switch_count - CASE WHEN lag(snapshot) OVER w IS NULL THEN 0 ELSE lag(voluntary_switch_count) OVER w END
    END AS voluntary_switch_count,
    CASE WHEN thread_count = 1 AND coalesce(lag(thread_count) OVER w, 1) = 1
      THEN involuntary_switch_count - CASE WHEN lag(snapshot) OVER w IS NULL THEN 0 ELSE lag(involuntary_switch_count) OVER w END
    END AS involuntary_switch_count
  FROM proc_process
  WHERE user_ns IS NOT NULL
  WINDOW w AS (PARTITION BY source_id, upid ORDER BY snapshot, ts_ns)
), step AS (
  SELECT source_id, snapshot, upid, coalesce(p.pid, t.pid) AS pid, coalesce(p.ts_ns, t.ts_ns) AS ts_ns,
    coalesce(p.comm, t.comm) AS comm, coalesce(p.start_boottime_ns, t.start_boottime_ns) AS start_boottime_ns,
    coalesce(p.thread_count, t.thread_count) AS thread_count,
    coalesce(p.virtual_bytes, t.virtual_bytes) AS virtual_bytes,
    coalesce(p.resident_bytes, t.resident_bytes) AS resident_bytes,
    coalesce(p.user_ns, t.user_ns) AS user_ns, coalesce(p.system_ns, t.system_ns) AS system_ns,
    t.run_queue_ns, coalesce(p.block_delay_ns, t.block_delay_ns) AS block_delay_ns,
    coalesce(p.minor_fault_count, t.minor_fault_count) AS minor_fault_count,
    coalesce(p.major_fault_count, t.major_fault_count) AS major_fault_count,
    coalesce(p.read_bytes, t.read_bytes) AS read_bytes, coalesce(p.write_bytes, t.write_bytes) AS write_bytes,
    coalesce(p.cancelled_write_bytes, t.cancelled_write_bytes) AS cancelled_write_bytes,
    coalesce(t.voluntary_switch_count, p.voluntary_switch_count) AS voluntary_switch_count,
    coalesce(t.involuntary_switch_count, p.involuntary_switch_count) AS involuntary_switch_count
  FROM by_process AS p
  FULL JOIN by_thread AS t USING (source_id, snapshot, upid)
), taken AS (
  SELECT source_id, snapshot, lag(ts_ns) OVER (PARTITION BY source_id ORDER BY snapshot) AS before_ns
  FROM (SELECT source_id, snapshot, min(ts_ns) AS ts_ns FROM step GROUP BY source_id, snapshot)
), interval AS (
  SELECT step.* REPLACE (
    -- Not greatest(), which takes NULL for no bound.
    CASE WHEN step.user_ns < 0 THEN 0 ELSE step.user_ns END AS user_ns,
    CASE WHEN step.system_ns < 0 THEN 0 ELSE step.system_ns END AS system_ns),
    step.ts_ns - coalesce(
      lag(step.ts_ns) OVER (PARTITION BY source_id, upid ORDER BY snapshot),
      -- Not there before: it counts from its start, when that was after the snapshot before.
      CASE WHEN step.start_boottime_ns - c.start_boottime_ns >= taken.before_ns - 10000000
        THEN step.start_boottime_ns - c.start_boottime_ns END
    ) AS interval_ns
  FROM step
  JOIN taken USING (source_id, snapshot)
  LEFT JOIN capture AS c ON true
)
SELECT
  i.ts_ns - i.interval_ns AS ts_ns, i.interval_ns, i.upid, i.pid, coalesce(i.comm, p.name) AS comm,
  i.user_ns / i.interval_ns AS user_ratio,
  i.system_ns / i.interval_ns AS system_ratio,
  (i.user_ns::DOUBLE + i.system_ns) / i.interval_ns AS cpu_ratio,
  i.user_ns, i.system_ns,
  try_cast(i.user_ns::HUGEINT + i.system_ns AS BIGINT) AS cpu_ns,
  i.run_queue_ns, i.run_queue_ns / i.interval_ns AS run_queue_ratio, i.block_delay_ns,
  i.minor_fault_count, i.major_fault_count,
  @per_second(i.minor_fault_count, i.interval_ns) AS minor_fault_per_s,
  @per_second(i.major_fault_count, i.interval_ns) AS major_fault_per_s,
  i.virtual_bytes, i.resident_bytes, i.resident_bytes / c.memory_bytes AS resident_ratio,
  i.read_bytes, i.write_bytes, i.cancelled_write_bytes,
  @per_second(i.read_bytes, i.interval_ns) AS read_bytes_per_s,
  @per_second(i.write_bytes, i.interval_ns) AS write_bytes_per_s,
  @per_second(i.cancelled_write_bytes, i.interval_ns) AS cancelled_write_bytes_per_s,
  i.voluntary_switch_count, i.involuntary_switch_count,
  @per_second(i.voluntary_switch_count, i.interval_ns) AS voluntary_switch_per_s,
  @per_second(i.involuntary_switch_count, i.interval_ns) AS involuntary_switch_per_s,
  i.thread_count
FROM interval AS i
ASOF LEFT JOIN process_name AS p ON p.upid = i.upid AND p.since_ts_ns <= i.ts_ns
LEFT JOIN capture AS c ON true
WHERE i.interval_ns > 0
ORDER BY i.ts_ns, i.source_id, i.pid, i.upid
