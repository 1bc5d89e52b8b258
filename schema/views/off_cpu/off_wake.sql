-- off_wake: who slept where, and who woke them from where
-- grain: a name of sleeping threads, their callchain, a name of wakers, the wakers' callchain, and whether an interrupt ended the sleeps
-- source: followed_state, thread, thread_name, stack_folded, recorder_thread
-- caveat: off_cpu_ns runs until the thread is on a CPU again, as bcc's offwaketime counts it; sleep_ns only until the wakeup
-- caveat: sleeps whose wakeup is not in the capture have a NULL waker
-- caveat: who woke is the thread that ran on that CPU, as bcc's offwaketime has it. If an interrupt did it, that thread has nothing to do with it (is_interrupt)
-- caveat: without sched_waking, the waker of a thread that was woken on an idle CPU is the idle task (Linux 5.8 and later)
-- diff by: comm, waker_comm
-- diff where: NOT is_interrupt
-- diff sum: off_cpu_ns, sleep_count
-- diff max: off_cpu_max_ns
-- diff weight: 0.6
-- column comm: name of the threads that slept, when they fell asleep
-- column stack: their callchain, root first, frames separated by semicolons
-- column waker_comm: name of the threads that woke them: the thread that ran on the waking CPU, even if it was only interrupted by what did the wakeup
-- column is_interrupt: whether an interrupt did the wakeups: a hard one (a timer, a device; without sched_waking also another CPU, which passes a wakeup on), or a soft one on an idle CPU. False where the recording does not say
-- column waker_stack: the wakers' callchain, root first
-- column off_cpu_ns [ns]: time from leaving the CPU until the thread is on a CPU again
-- column sleep_count [count]: number of sleeps
-- column sleep_ns [ns]: the part of off_cpu_ns before the wakeup
-- column off_cpu_max_ns [ns]: the longest time off the CPU
-- column stack_id: key of the sleepers' callchain
-- column waker_stack_id: key of the wakers' callchain
SELECT
  x.comm, f.folded AS stack, x.waker_comm, x.is_interrupt, w.folded AS waker_stack,
  x.off_cpu_ns, x.sleep_count, x.sleep_ns, x.off_cpu_max_ns, x.stack_id, x.waker_stack_id
FROM (
  SELECT
    coalesce(n.comm, t.comm) AS comm, s.stack_id, coalesce(m.comm, k.comm) AS waker_comm, s.is_interrupt, s.waker_stack_id,
    @total(s.off_cpu_ns) AS off_cpu_ns, @total(s.sleep_count) AS sleep_count, @total(s.sleep_ns) AS sleep_ns, max(s.off_cpu_max_ns) AS off_cpu_max_ns
  FROM (
    -- Few rows of many: names are then asked of these.
    SELECT utid, name_id, stack_id, waker_utid, waker_name_id, waker_stack_id,
      @by_interrupt(waker_context, waker_utid) AS is_interrupt, sum(duration_ns + coalesce(run_queue_ns, 0)) AS off_cpu_ns,
      count(*) AS sleep_count, sum(duration_ns) AS sleep_ns, max(duration_ns + coalesce(run_queue_ns, 0)) AS off_cpu_max_ns
    FROM followed_state
    WHERE state NOT IN ('running', 'idle', 'runnable', 'runnable_preempted') AND NOT is_open
    GROUP BY ALL
  ) AS s
  JOIN thread AS t USING (utid)
  LEFT JOIN thread AS k ON k.utid = s.waker_utid
  LEFT JOIN thread_name AS n ON n.name_id = s.name_id
  LEFT JOIN thread_name AS m ON m.name_id = s.waker_name_id
  GROUP BY ALL
) AS x
LEFT JOIN stack_folded AS f ON f.stack_id = x.stack_id
LEFT JOIN stack_folded AS w ON w.stack_id = x.waker_stack_id
ORDER BY x.comm IN (SELECT comm FROM recorder_thread WHERE comm IS NOT NULL) IS TRUE, x.off_cpu_ns DESC, x.comm, x.stack_id, x.waker_comm, x.waker_stack_id, x.is_interrupt
