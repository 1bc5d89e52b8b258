-- syscall_summary: how often each thread made each system call, and how long the calls took
-- grain: a thread, a name that it had, and a system call
-- source: syscall, thread, thread_name, recorder_thread
-- caveat: a call counts where its entry and its own return are in the capture; what the capture's edges or lost events cut is in open_count and return_count
-- caveat: the perf_ columns are those of perf trace -s: every return counts, so a fork counts for the parent and for the child. Its time runs from the thread's latest known entry, whatever call that was; it is 0 if there is none
-- caveat: if a program has 32 bits and ran before a bare trace.dat began, nothing tells that: its calls have the names that their numbers have for 64-bit programs, and import_issue counts such calls (syscall_abi_unknown)
-- diff by: comm, name
-- diff sum: duration_total_ns, call_count, error_count
-- diff mean: duration_avg_ns by call_count
-- diff max: duration_max_ns
-- diff weight: 0.9
-- keys: utid, tid, pid, comm
-- as in syscall: name
-- column call_count [count]: calls with both ends in the capture
-- column error_count [count]: how many of them returned a negative value
-- column duration_total_ns [ns]: time in these calls
-- column duration_min_ns [ns]: the shortest of these calls
-- column duration_avg_ns [ns]: mean time of a call
-- column duration_max_ns [ns]: the longest of these calls
-- column duration_stddev_ns [ns]: standard deviation (n - 1)
-- column open_count [count]: entries without a return in the capture
-- column return_count [count]: returns without an entry: a new thread's return from the call that made it, and what the capture's beginning or lost events cut
-- column perf_call_count [count]: returns of the call, as perf trace -s counts calls
-- column perf_error_count [count]: returns with a negative value
-- column perf_duration_total_ns [ns]: time since the thread's latest entry, over all returns
-- column perf_duration_min_ns [ns]: the shortest of these times
-- column perf_duration_avg_ns [ns]: their mean
-- column perf_duration_max_ns [ns]: the longest
-- column perf_duration_stddev_ratio [ratio]: standard error of the mean as a share of the mean: what perf trace -s prints as stddev
SELECT
  t.utid, t.tid, t.pid, coalesce(n.comm, t.comm) AS comm, s.name,
  count(s.duration_ns) AS call_count,
  count(*) FILTER (s.duration_ns IS NOT NULL AND s.ret < 0) AS error_count,
  @total_or_zero(s.duration_ns, true) AS duration_total_ns,
  min(s.duration_ns) AS duration_min_ns,
  avg(s.duration_ns) AS duration_avg_ns,
  max(s.duration_ns) AS duration_max_ns,
  stddev_samp(s.duration_ns) AS duration_stddev_ns,
  count(*) FILTER (s.pairing = 'enter_only') AS open_count,
  count(*) FILTER (s.pairing = 'exit_only') AS return_count,
  count(s.exit_ts_ns) AS perf_call_count,
  count(*) FILTER (s.ret < 0) AS perf_error_count,
  @total_or_zero(s.perf_duration_ns, true) AS perf_duration_total_ns,
  min(s.perf_duration_ns) AS perf_duration_min_ns,
  avg(s.perf_duration_ns) AS perf_duration_avg_ns,
  max(s.perf_duration_ns) AS perf_duration_max_ns,
  coalesce(stddev_samp(s.perf_duration_ns), 0) / sqrt(nullif(count(s.exit_ts_ns), 0))
    / nullif(avg(s.perf_duration_ns), 0) AS perf_duration_stddev_ratio
FROM syscall AS s
JOIN thread AS t USING (utid)
LEFT JOIN thread_name AS n ON n.name_id = s.name_id
GROUP BY t.utid, t.tid, t.pid, coalesce(n.comm, t.comm), s.name
ORDER BY t.utid IN (SELECT utid FROM recorder_thread), duration_total_ns DESC, t.utid, comm, s.name
