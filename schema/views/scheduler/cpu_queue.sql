-- cpu_queue: what each CPU did and how many threads waited for it, at every moment
-- grain: a stretch of time on one CPU in which none of this changed
-- source: cpu_level
-- caveat: a CPU is known from its first switch, or from the first thread that waits for it; if it neither runs a thread nor is idle, its state is not known
-- caveat: without sched_migrate_task, a whole wait counts for the CPU on which it ended
-- diff no: stretches of time; run_queue_length adds them up
-- keys: ts_ns
-- as in cpu_level: duration_ns
-- keys: cpu
-- as in cpu_level: waiting_count, is_running, is_idle
SELECT ts_ns, duration_ns, cpu, waiting_count::BIGINT AS waiting_count, is_running, is_idle
FROM cpu_level
ORDER BY cpu, ts_ns
