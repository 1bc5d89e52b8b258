-- off_wake_by_comm: threads of which name slept, and threads of which name woke them, over all callchains
-- grain: a name of sleeping threads, whether they are kernel threads, and a name of wakers or an interrupt
-- source: off_wake, recorder_thread
-- caveat: a soft interrupt that ran in a thread counts as that thread: what it sent over loopback, but also a packet that came while it ran
-- caveat: sleeps whose wakeup is not in the capture have a NULL waker, too; off_wake has the callchains
-- caveat: without sched_waking, the waker of a thread that was woken on an idle CPU is the idle task (Linux 5.8 and later)
-- diff no: off_wake is compared, by the same names
-- as in off_wake: comm
-- column is_kernel_thread: whether their callchains begin where those of kernel threads do; false without a callchain
-- column waker_comm: name of the threads that woke them; NULL if an interrupt did: off_wake has who was interrupted
-- as in off_wake: is_interrupt
-- as in off_wake: off_cpu_ns, sleep_count, sleep_ns, off_cpu_max_ns
SELECT comm, coalesce(starts_with(stack, 'ret_from_fork'), false) AS is_kernel_thread,
  CASE WHEN NOT is_interrupt THEN waker_comm END AS waker_comm, is_interrupt, @total(off_cpu_ns) AS off_cpu_ns,
  @total(sleep_count) AS sleep_count, @total(sleep_ns) AS sleep_ns, max(off_cpu_max_ns) AS off_cpu_max_ns
FROM off_wake
GROUP BY comm, coalesce(starts_with(stack, 'ret_from_fork'), false), CASE WHEN NOT is_interrupt THEN waker_comm END, is_interrupt
ORDER BY comm IN (SELECT comm FROM recorder_thread WHERE comm IS NOT NULL) IS TRUE, off_cpu_ns DESC, comm, is_kernel_thread, waker_comm, is_interrupt
