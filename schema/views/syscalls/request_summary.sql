-- request_summary: the requests that a process answered: how long they took, and what the slowest have that the usual ones have not
-- grain: a process, its own address, and a band of its requests there
-- source: request_time
-- caveat: band is all; usual (those that took the median time or less); slowest (those that took longer than 99 of 100, the longest at least). A band's mean times sum to its mean duration
-- caveat: the band unanswered has those that had no answer until the recording ended, or their process, although one was due: its times are lower bounds, and no other band has them
-- caveat: what request_time says about requests holds here
-- diff by: process, local, band
-- diff sum: request_count
-- diff mean: duration_avg_ns, on_cpu_avg_ns, run_queue_avg_ns, disk_avg_ns, network_avg_ns, other_thread_avg_ns, other_avg_ns by request_count
-- diff max: duration_max_ns
-- diff weight: 0.9
-- as in request_time: process, local
-- column band: all (of the answered ones), usual, slowest, or unanswered
-- column request_count [count]: requests of the band
-- column duration_avg_ns [ns]: mean time of a request; of unanswered ones at least
-- column duration_max_ns [ns]: the longest; of unanswered ones at least
-- column on_cpu_avg_ns [ns]: of the mean time: on a CPU
-- column run_queue_avg_ns [ns]: of the mean time: waiting for a CPU
-- column disk_avg_ns [ns]: of the mean time: behind a block device
-- column network_avg_ns [ns]: of the mean time: waiting for data from another end
-- column other_thread_avg_ns [ns]: of the mean time: behind another thread that ran
-- column other_avg_ns [ns]: of the mean time: the rest
WITH ranked AS (
  SELECT *, quantile_disc(duration_ns, 0.5) OVER one AS p50_ns, quantile_disc(duration_ns, 0.99) OVER one AS p99_ns, max(duration_ns) OVER one AS max_ns
  FROM request_time
  WHERE NOT is_open
  WINDOW one AS (PARTITION BY process, local)
), banded AS (
  SELECT *, unnest(['all', CASE WHEN duration_ns <= p50_ns THEN 'usual' END,
    CASE WHEN duration_ns > p99_ns OR duration_ns = max_ns THEN 'slowest' END]) AS band
  FROM ranked
  UNION ALL
  SELECT *, NULL, NULL, NULL, 'unanswered' FROM request_time WHERE is_open
)
SELECT process, local, band, count(*) AS request_count, avg(duration_ns) AS duration_avg_ns, max(duration_ns) AS duration_max_ns,
  avg(on_cpu_ns) AS on_cpu_avg_ns, avg(run_queue_ns) AS run_queue_avg_ns, avg(disk_ns) AS disk_avg_ns, avg(network_ns) AS network_avg_ns,
  avg(other_thread_ns) AS other_thread_avg_ns, avg(other_ns) AS other_avg_ns
FROM banded
WHERE band IS NOT NULL
GROUP BY process, local, band
ORDER BY process, local, band
