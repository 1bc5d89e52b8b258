-- thread_time: how long each thread ran, waited for a CPU and slept
-- grain: a thread that was seen in a context switch, and a name that it had
-- source: followed_state, thread, thread_name, recorder_thread
-- caveat: only intervals with both ends in the capture count, as perf sched timehist -s counts them; what the capture's edges cut is in the open_ columns
-- caveat: ambiguous_on_cpu_ns is the part of on_cpu_ns for which the switch is missing that put the thread on the CPU: another thread may have run in it. perf lets such a run begin at the CPU's previous switch; here it begins no earlier than the thread had left another CPU or was woken
-- caveat: a run counts for the name that the thread had at the end of the run: the time between an exec and the switch before it counts for the new name
-- diff by: comm
-- diff sum: on_cpu_ns, run_queue_ns, sleep_ns, disk_sleep_ns
-- diff weight: 0.7
-- keys: utid, tid, pid, comm
-- column on_cpu_ns [ns]: time on a CPU
-- column run_queue_ns [ns]: time it could run and waited for a CPU: after a wakeup, or preempted
-- column active_ns [ns]: time it ran or could have run: on_cpu_ns and run_queue_ns together
-- column sleep_ns [ns]: time it slept interruptibly, or was stopped, traced or parked
-- column disk_sleep_ns [ns]: time it slept uninterruptibly: usually storage, or a kernel lock
-- column on_cpu_ratio [ratio]: on_cpu_ns as a share of the four times together
-- column run_queue_ratio [ratio]: run_queue_ns as a share of the four times together
-- column sleep_ratio [ratio]: sleep_ns as a share of the four times together
-- column disk_sleep_ratio [ratio]: disk_sleep_ns as a share of the four times together
-- column switch_count [count]: how many times it is known to have run and left a CPU
-- column voluntary_count [count]: how many of these times it went to sleep
-- column involuntary_count [count]: how many of these times it still wanted to run
-- column run_min_ns [ns]: its shortest stay on a CPU
-- column run_max_ns [ns]: its longest stay on a CPU
-- column run_delay_ns [ns]: the part of run_queue_ns that follows a wakeup: perf's sch delay
-- column run_delay_max_ns [ns]: the longest wait for a CPU after a wakeup
-- column ambiguous_on_cpu_ns [ns]: the part of on_cpu_ns that missing switches make doubtful
-- column open_on_cpu_ns [ns]: time on a CPU that the end of the capture cut
-- column open_off_cpu_ns [ns]: time off the CPU that the end of the capture cut
WITH state AS (
  -- Few rows of many: names, and what each state counts for, are then asked of these.
  SELECT utid, name_id, state, next_state, is_ambiguous, is_open, sum(duration_ns) AS ns, count(*) AS number,
    min(duration_ns) AS min_ns, max(duration_ns) AS max_ns
  FROM followed_state
  WHERE state <> 'idle'
  GROUP BY utid, name_id, state, next_state, is_ambiguous, is_open
), times AS (
  SELECT
    s.utid, coalesce(n.comm, t.comm) AS comm, t.tid, t.pid,
    @total_or_zero(ns, state = 'running' AND NOT is_open) AS on_cpu_ns,
    @total_or_zero(ns, state IN ('runnable', 'runnable_preempted') AND NOT is_open)
      AS run_queue_ns,
    @total_or_zero(ns, state NOT IN ('running', 'runnable', 'runnable_preempted', 'disk_sleep') AND NOT is_open) AS sleep_ns,
    @total_or_zero(ns, state = 'disk_sleep' AND NOT is_open) AS disk_sleep_ns,
    @total_or_zero(number, state = 'running' AND NOT is_open) AS switch_count,
    @total_or_zero(number, state = 'running' AND NOT is_open AND next_state NOT IN ('runnable', 'runnable_preempted'))
      AS voluntary_count,
    @total_or_zero(number, state = 'running' AND NOT is_open AND next_state IN ('runnable', 'runnable_preempted'))
      AS involuntary_count,
    min(min_ns) FILTER (state = 'running' AND NOT is_open) AS run_min_ns,
    max(max_ns) FILTER (state = 'running' AND NOT is_open) AS run_max_ns,
    @total_or_zero(ns, state = 'runnable' AND NOT is_open) AS run_delay_ns,
    max(max_ns) FILTER (state = 'runnable' AND NOT is_open) AS run_delay_max_ns,
    @total_or_zero(ns, state = 'running' AND is_ambiguous AND NOT is_open)
      AS ambiguous_on_cpu_ns,
    @total_or_zero(ns, state = 'running' AND is_open) AS open_on_cpu_ns,
    @total_or_zero(ns, state <> 'running' AND is_open) AS open_off_cpu_ns
  FROM state AS s
  JOIN thread AS t USING (utid)
  LEFT JOIN thread_name AS n ON n.name_id = s.name_id
  GROUP BY s.utid, t.tid, t.pid, coalesce(n.comm, t.comm)
)
SELECT
  x.utid, x.tid, x.pid, x.comm,
  x.on_cpu_ns, x.run_queue_ns, try_cast(x.on_cpu_ns::HUGEINT + x.run_queue_ns AS BIGINT) AS active_ns, x.sleep_ns, x.disk_sleep_ns,
  @ratio(x.on_cpu_ns, x.on_cpu_ns::HUGEINT + x.run_queue_ns + x.sleep_ns + x.disk_sleep_ns) AS on_cpu_ratio,
  @ratio(x.run_queue_ns, x.on_cpu_ns::HUGEINT + x.run_queue_ns + x.sleep_ns + x.disk_sleep_ns) AS run_queue_ratio,
  @ratio(x.sleep_ns, x.on_cpu_ns::HUGEINT + x.run_queue_ns + x.sleep_ns + x.disk_sleep_ns) AS sleep_ratio,
  @ratio(x.disk_sleep_ns, x.on_cpu_ns::HUGEINT + x.run_queue_ns + x.sleep_ns + x.disk_sleep_ns) AS disk_sleep_ratio,
  x.switch_count, x.voluntary_count, x.involuntary_count, x.run_min_ns, x.run_max_ns,
  x.run_delay_ns, x.run_delay_max_ns, x.ambiguous_on_cpu_ns, x.open_on_cpu_ns, x.open_off_cpu_ns
FROM times AS x
ORDER BY x.utid IN (SELECT utid FROM recorder_thread), x.on_cpu_ns DESC, x.utid, x.comm
