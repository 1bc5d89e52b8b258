-- What the threads of each process did between two snapshots, by definition: each row with the one before it of the same thread.
WITH thread_step AS (
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
  JOIN thread AS th USING (utid)
  WINDOW w AS (PARTITION BY t.source_id, t.utid ORDER BY t.snapshot, t.ts_ns)
), by_thread AS (
  SELECT source_id, snapshot, upid, max(pid) AS pid, min(ts_ns) AS ts_ns, max(comm) FILTER (tid = pid) AS comm,
    min(start_boottime_ns) FILTER (tid = pid) AS start_boottime_ns, max(thread_count) AS thread_count,
    max(virtual_bytes) AS virtual_bytes, max(resident_bytes) AS resident_bytes,
    TRY_CAST(sum(user_ns) AS BIGINT) AS user_ns, TRY_CAST(sum(system_ns) AS BIGINT) AS system_ns, TRY_CAST(sum(run_queue_ns) AS BIGINT) AS run_queue_ns,
    TRY_CAST(sum(block_delay_ns) AS BIGINT) AS block_delay_ns, TRY_CAST(sum(minor_fault_count) AS BIGINT) AS minor_fault_count,
    TRY_CAST(sum(major_fault_count) AS BIGINT) AS major_fault_count, TRY_CAST(sum(read_bytes) AS BIGINT) AS read_bytes,
    TRY_CAST(sum(write_bytes) AS BIGINT) AS write_bytes, TRY_CAST(sum(cancelled_write_bytes) AS BIGINT) AS cancelled_write_bytes,
    TRY_CAST(sum(voluntary_switch_count) AS BIGINT) AS voluntary_switch_count,
    TRY_CAST(sum(involuntary_switch_count) AS BIGINT) AS involuntary_switch_count
  FROM thread_step
  GROUP BY source_id, snapshot, upid
)
FROM by_thread
