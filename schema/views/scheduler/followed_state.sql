-- followed_state: what each thread did, of the threads that the recording followed: thread_state without strangers
-- grain: an interval of a thread in one state
-- source: thread_state, thread, proc_command
-- caveat: a recording of some processes sees a stranger only where it leaves its CPU to one of theirs or takes it over; what it did in between is not known, and the table would call it running. Strangers have no known process; where no process was looked at (a bare perf.data or trace.dat) nobody is taken for one
-- diff no: intervals; thread_time adds them up
-- column ts_ns [ns]: when it began
-- column duration_ns [ns]: how long it lasted; of an open interval until the capture's edge
-- column utid: the thread
-- column name_id: its name when it left the CPU, in thread_name
-- column state: as in the table thread_state
-- column cpu: the CPU it ran on, or left
-- column next_state: for running: the state that it left the CPU in
-- column stack_id: callchain at the switch that took it off the CPU
-- column waker_utid: the thread that ended the sleep
-- column waker_name_id: its name at that moment
-- column waker_cpu: its CPU
-- column waker_stack_id: its callchain
-- column run_queue_ns [ns]: for a sleep that ended with a wakeup: how long the thread then waited for a CPU
-- column is_ambiguous: for running: the switch before it is missing, so that another thread may have run in it
-- column is_open: cut by the capture's edge, or by the thread's exit
SELECT s.ts_ns, s.duration_ns, s.utid, s.name_id, s.state, s.cpu, s.next_state, s.stack_id, s.waker_utid,
  s.waker_name_id, s.waker_cpu, s.waker_stack_id, s.run_queue_ns, s.is_ambiguous, s.is_open
FROM thread_state AS s
-- Not "is known or nobody is": of IN and a scalar subquery joined by OR, DuckDB 2.0.0 makes sums of 8 bits.
WHERE s.utid NOT IN (SELECT utid FROM thread WHERE upid IS NULL AND (SELECT count(*) FROM proc_command) > 0)
