-- followed_state: what each thread did that the recording followed: thread_state without the threads of other processes
-- grain: an interval of a thread in one state
-- source: thread_state, thread, proc_command, source
-- caveat: a recording of some processes sees a thread of another process (a stranger) only when it leaves its CPU to a recorded thread or takes it over; what it did in between is not known, and the table would call it running. A bare perf.data sees less of it: that it was woken, or that it got a CPU. Strangers have no known process; a bare trace.dat, or the text of perf script, knows few processes, and no thread of it counts as a stranger
-- diff no: intervals; thread_time adds them up
-- as in thread_state: ts_ns, duration_ns, utid, name_id, state, cpu, next_state, stack_id, waker_utid, waker_name_id, waker_cpu, waker_stack_id, waker_context,
--   run_queue_ns, woken_by_utid, queue_cpu, ran_cpu, gap_ns, burst, waker_burst, waker_burst_count, is_ambiguous, is_open
SELECT s.ts_ns, s.duration_ns, s.utid, s.name_id, s.state, s.cpu, s.next_state, s.stack_id, s.waker_utid,
  s.waker_name_id, s.waker_cpu, s.waker_stack_id, s.waker_context, s.run_queue_ns, s.woken_by_utid, s.queue_cpu, s.ran_cpu,
  s.gap_ns, s.burst, s.waker_burst, s.waker_burst_count, s.is_ambiguous, s.is_open
FROM thread_state AS s
-- Not "is known or nobody is": of IN and a scalar subquery joined by OR, DuckDB 2.0.0 makes sums of 8 bits.
WHERE s.utid NOT IN (SELECT utid FROM thread WHERE @stranger(upid))
