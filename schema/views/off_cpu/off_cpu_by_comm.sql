-- off_cpu_by_comm: where threads of a name were when they left the CPU, and how long they stayed away, all threads of the name together
-- grain: a name of threads, a state and the callchain that they left the CPU with
-- source: off_cpu_by_stack, thread_time, recorder_thread
-- caveat: the idle task, the recorder's threads and threads that the capture never saw running are left out; off_cpu_by_stack has each thread
-- caveat: only intervals with both ends in the capture count
-- diff no: off_cpu_by_stack is compared, by the same names
-- column comm: the threads' name when they left the CPU
-- as in off_cpu_by_stack: state
-- column stack: the callchain, root first, frames separated by semicolons; NULL where switches were recorded without callchains
-- column is_kernel_thread: whether the callchain begins where those of kernel threads do; false without a callchain
-- column thread_count [count]: threads
-- column off_cpu_ns [ns]: their time in this state with this callchain
-- as in off_cpu_by_stack: off_cpu_count, off_cpu_max_ns
SELECT comm, state, stack, coalesce(starts_with(stack, 'ret_from_fork'), false) AS is_kernel_thread, count(DISTINCT utid) AS thread_count,
  @total(off_cpu_ns) AS off_cpu_ns, @total(off_cpu_count) AS off_cpu_count, max(off_cpu_max_ns) AS off_cpu_max_ns
FROM off_cpu_by_stack
WHERE tid <> 0 AND utid IN (SELECT utid FROM thread_time WHERE switch_count > 0) AND utid NOT IN (SELECT utid FROM recorder_thread)
GROUP BY comm, state, stack
ORDER BY comm IN (SELECT comm FROM recorder_thread WHERE comm IS NOT NULL) IS TRUE, off_cpu_ns DESC, comm, state, stack
