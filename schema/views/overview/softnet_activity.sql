-- softnet_activity: packets that each CPU took from its queue, those that the queue had no room for, and turns that were too short
-- grain: an interval between two snapshots × CPU
-- source: proc_softnet
-- caveat: all network namespaces together
-- caveat: 32-bit counters wrap at 2^32 and go on correctly from there; a CPU that was offline in between begins with the next snapshot
-- diff by: -
-- diff sum: processed_count, drop_count, squeeze_count
-- diff apart: drop_count
-- diff weight: 0.7
-- keys: ts_ns, interval_ns
-- as in proc_softnet: cpu
-- column processed_count [count]: packets that it took from its queue and from network cards, in the interval
-- column drop_count [count]: packets that were dropped because its queue was full, in the interval
-- column squeeze_count [count]: turns that ended with packets left, in the interval
-- column processed_per_s [1/s]: packets that it took
-- column drop_per_s [1/s]: packets that were dropped
-- column squeeze_per_s [1/s]: turns that ended with packets left
WITH step AS (
  SELECT source_id, snapshot, ts_ns, cpu, ts_ns - lag(ts_ns) OVER w AS interval_ns,
    @counter_step(processed_count, lag(processed_count) OVER w, 4294967296) AS processed_count,
    @counter_step(drop_count, lag(drop_count) OVER w, 4294967296) AS drop_count,
    @counter_step(squeeze_count, lag(squeeze_count) OVER w, 4294967296) AS squeeze_count
  FROM proc_softnet
  WINDOW w AS (PARTITION BY source_id, cpu ORDER BY snapshot, ts_ns)
)
SELECT ts_ns - interval_ns AS ts_ns, interval_ns, cpu, processed_count, drop_count, squeeze_count,
  @per_second(processed_count, interval_ns) AS processed_per_s, @per_second(drop_count, interval_ns) AS drop_per_s,
  @per_second(squeeze_count, interval_ns) AS squeeze_per_s
FROM step
WHERE interval_ns > 0
ORDER BY step.ts_ns, source_id, cpu
