-- blame_by_comm: what threads waited for while they had work, followed to the cause
-- grain: a name of threads that waited, the kind of their work, the call they were in, and a cause: what it is, the name of the thread it is due to, that thread's call and what the call was about
-- source: blame, thread, thread_name, descriptor, block_device, recorder_thread, stack, frame_label
-- caveat: a wait is replaced by what its waker did meanwhile, and so on, over at most 20 wakers; wait_ns of all causes of a name and a kind of work sum to all that it waited
-- caveat: nobody knows whether a thread of the work thread had something to do: only its waits that a running thread, a taken CPU or a disk kept up are here, and those in calls that nobody makes without work (flock, fsync, openat, …): pools and loops without work wait for nothing
-- caveat: if the recording does not say whether an interrupt did a wakeup (perf script's text), the thread that it hit looks like the waker
-- caveat: an event loop with several requests under way has its wait ended by any of them: the other end is then that of the one that came first; a new request ends no wait
-- caveat: waits for a CPU of threads of which nobody knows whether they had work come last, before the recorder's
-- caveat: a recording of some processes does not know what other processes did: what is due to them is not_recorded
-- caveat: without system calls in the recording, no request, no question and no idle wait is known: work is command or thread
-- diff by: comm, work, cause, on_comm, on_target
-- diff sum: wait_ns
-- diff max: wait_max_ns
-- diff where: (cause NOT IN ('sleep', 'stopped') OR work IN ('request', 'call')) AND (work <> 'thread' OR cause NOT IN ('cpu_taken', 'cpu_idle', 'quota'))
-- diff weight: 0.8
-- column comm: the name of the threads that waited
-- as in blame: work, call, cause
-- column on_comm: the name of the thread that the time is due to: the waker, the waker's waker, …, who had the CPU, or the thread itself
-- as in blame: on_call
-- column on_target: what that call was about: a connection's other end, a file, a block device; the clients of a service are told together, with * for their port; NULL where it was about nothing, or it is not known
-- column wait_ns [ns]: time that the threads waited for this
-- column wait_ratio [ratio]: its share of all that threads of this name waited in this kind of work
-- column wait_count [count]: parts of waits
-- column wait_max_ns [ns]: the longest of them
-- column on_function: where on_comm ran for most of this time, by the samples of its CPU time: the innermost function that is not the kernel's, or the object of one without a name; NULL where it did not run or was not sampled
WITH part AS (
  -- Few rows of many: names are then asked of these.
  SELECT b.utid, b.name_id, b.work, b.call, b.cause, b.on_utid, b.on_name_id, b.on_call, b.on_descriptor_id, b.device,
    coalesce(k.frame_ids[k.kernel_depth + 1], k.frame_ids[1]) AS frame_id, sum(b.duration_ns) AS wait_ns, count(*) AS wait_count, max(b.duration_ns) AS wait_max_ns
  FROM blame AS b
  LEFT JOIN stack AS k ON k.stack_id = b.on_stack_id AND b.cause = 'running'
  GROUP BY ALL
), named AS (
  SELECT coalesce(n.comm, t.comm) AS comm, b.work, b.call, b.cause, coalesce(k.comm, o.comm) AS on_comm, b.on_call,
    CASE WHEN b.device IS NOT NULL THEN coalesce(v.device_name, b.device)
      ELSE coalesce(@other_end(d.local, d.peer), d.target, d.kind) END AS on_target,
    CASE WHEN l.unnamed_address IS NULL THEN l.label ELSE l.dso END AS on_function, b.wait_ns, b.wait_count, b.wait_max_ns, b.utid IN (SELECT utid FROM recorder_thread) AS is_recorder
  FROM part AS b
  JOIN thread AS t USING (utid)
  LEFT JOIN thread_name AS n ON n.name_id = b.name_id
  LEFT JOIN thread AS o ON o.utid = b.on_utid
  LEFT JOIN thread_name AS k ON k.name_id = b.on_name_id
  LEFT JOIN descriptor AS d ON d.descriptor_id = b.on_descriptor_id
  LEFT JOIN block_device AS v ON v.device = b.device
  LEFT JOIN frame_label AS l ON l.frame_id = b.frame_id
), spread AS (
  SELECT comm, work, call, cause, on_comm, on_call, on_target, on_function, @total(wait_ns) AS wait_ns, @total(wait_count) AS wait_count,
    max(wait_max_ns) AS wait_max_ns, bool_and(is_recorder) AS is_recorder
  FROM named
  GROUP BY comm, work, call, cause, on_comm, on_call, on_target, on_function
), cause AS (
  SELECT comm, work, call, cause, on_comm, on_call, on_target, @total(wait_ns) AS wait_ns, @total(wait_count) AS wait_count,
    max(wait_max_ns) AS wait_max_ns, bool_and(is_recorder) AS is_recorder,
    arg_max(on_function, (wait_ns, on_function)) FILTER (on_function IS NOT NULL) AS on_function
  FROM spread
  GROUP BY comm, work, call, cause, on_comm, on_call, on_target
)
SELECT comm, work, call, cause, on_comm, on_call, on_target, wait_ns,
  @ratio(wait_ns, sum(wait_ns) OVER (PARTITION BY comm, work)) AS wait_ratio, wait_count, wait_max_ns, on_function
FROM cause
ORDER BY is_recorder, work = 'thread' AND cause IN ('cpu_taken', 'cpu_idle', 'quota'), wait_ns DESC, comm, work, call, cause, on_comm, on_call, on_target
