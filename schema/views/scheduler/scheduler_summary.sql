-- scheduler_summary: how long threads ran and waited for a CPU over the whole capture, and how long CPUs were idle meanwhile
-- grain: the capture, if context switches are in it
-- source: thread_time, unclaimed_cpu
-- caveat: the recorder's threads are counted; thread_time has each thread, unclaimed_cpu the intervals
-- diff no: thread_time and unclaimed_cpu are compared
-- column on_cpu_ns [ns]: time that threads ran
-- column run_queue_ns [ns]: time that threads could run and waited for a CPU
-- column run_queue_ratio [ratio]: run_queue_ns as a share of on_cpu_ns and run_queue_ns together
-- column cpu_ns [ns]: known time of all CPUs, busy and idle
-- as in unclaimed_cpu: unclaimed_ns
-- column unclaimed_ratio [ratio]: unclaimed_ns as a share of cpu_ns
WITH queue AS (
  SELECT @total(busy_ns::HUGEINT + idle_ns) AS cpu_ns, @total(unclaimed_ns) AS unclaimed_ns FROM unclaimed_cpu
)
SELECT
  @total(on_cpu_ns) AS on_cpu_ns, @total(run_queue_ns) AS run_queue_ns, @ratio(sum(run_queue_ns), sum(run_queue_ns) + sum(on_cpu_ns)) AS run_queue_ratio,
  (SELECT cpu_ns FROM queue) AS cpu_ns, (SELECT unclaimed_ns FROM queue) AS unclaimed_ns, (SELECT @ratio(unclaimed_ns, cpu_ns) FROM queue) AS unclaimed_ratio
FROM thread_time
HAVING count(*) > 0
