-- run_queue_distribution: how long threads waited for a CPU, all threads together, as a histogram in powers of two
-- grain: a power of two
-- source: run_queue_latency, recorder_thread
-- caveat: the recorder's own threads are left out; run_queue_latency has the threads
-- caveat: only waits whose both ends are in the capture count
-- diff no: run_queue_latency is compared, by the names of threads
-- column bucket_min_ns [ns]: the range begins here: 0, 2, 4, 8, …
-- column bucket_max_ns [ns]: and ends before this: 2, 4, 8, 16, …
-- column wait_count [count]: how many waits
-- column wait_ns [ns]: these waits together
SELECT bucket_min_ns, bucket_max_ns, @total(wait_count) AS wait_count, @total(wait_ns) AS wait_ns
FROM run_queue_latency
WHERE utid NOT IN (SELECT utid FROM recorder_thread)
GROUP BY bucket_min_ns, bucket_max_ns
ORDER BY bucket_min_ns
