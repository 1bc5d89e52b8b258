-- process_summary: what each process did over the whole capture, as the averages of pidstat -urdw
-- grain: a process and a name that it had
-- source: process_activity, recorder_thread
-- caveat: what a process did between its last snapshot and its end is not included
-- caveat: process_activity has the intervals, and more caveats about the figures
-- diff no: process_activity is compared, with the noise of its intervals
-- keys: upid, pid
-- column comm: its name at the end of the intervals that are added up
-- column duration_ns [ns]: the time between the snapshots that saw it
-- as in process_activity: user_ns, system_ns, cpu_ns
-- column cpu_ratio [ratio]: cpu_ns as a share of one CPU over duration_ns: may be more than 1
-- column cpu_max_ratio [ratio]: the largest cpu_ratio of an interval
-- as in process_activity: run_queue_ns, block_delay_ns, major_fault_count
-- column resident_max_bytes [bytes]: the most resident memory that a snapshot saw
-- column read_bytes [bytes]: bytes fetched from storage
-- column write_bytes [bytes]: bytes sent to storage, or that will be
-- as in process_activity: voluntary_switch_count, involuntary_switch_count
-- column switch_count [count]: voluntary and involuntary switches together
-- column is_recorder: true for a process of the recorder
WITH total AS (
  SELECT upid, pid, comm, @total(interval_ns) AS duration_ns, @total(user_ns) AS user_ns, @total(system_ns) AS system_ns, @total(cpu_ns) AS cpu_ns,
    @ratio(@total(cpu_ns), @total_where(interval_ns, cpu_ns IS NOT NULL)) AS cpu_ratio, max(cpu_ratio) AS cpu_max_ratio,
    @total(run_queue_ns) AS run_queue_ns, @total(block_delay_ns) AS block_delay_ns, @total(major_fault_count) AS major_fault_count,
    max(resident_bytes) AS resident_max_bytes, @total(read_bytes) AS read_bytes, @total(write_bytes) AS write_bytes,
    @total(voluntary_switch_count) AS voluntary_switch_count, @total(involuntary_switch_count) AS involuntary_switch_count,
    try_cast(sum(voluntary_switch_count) + sum(involuntary_switch_count) AS BIGINT) AS switch_count
  FROM process_activity
  GROUP BY upid, pid, comm
)
SELECT *, upid IN (SELECT upid FROM recorder_thread WHERE upid IS NOT NULL) IS TRUE AS is_recorder
FROM total
ORDER BY is_recorder, cpu_ns DESC NULLS LAST, upid, comm
