-- syscall_summary: how often each thread made each system call, and how long the calls took
-- grain: a thread and a system call
-- source: syscall, thread
-- caveat: counts and times are those of perf trace -s: every return counts, and its time runs from the thread's latest known entry, whatever call that was; 0 where there is none
-- caveat: the strict_ columns count only calls whose own entry and return are both in the capture; they differ where events were lost
-- caveat: calls that had not returned when the capture ended are in open_count only
-- diff by: comm, name
-- diff sum: total_ns, call_count, error_count
-- diff mean: avg_ns by call_count
-- diff max: max_ns
-- diff weight: 0.9
-- column utid: the capture's own key of the thread
-- column tid: thread id, a label
-- column pid: process id, a label
-- column comm: the thread's last name
-- caveat: of a program of 32 bits that ran before a bare trace.dat began nothing tells: its calls have the names that their numbers have for programs of 64 bits, and import_issue counts such calls (syscall_abi_unknown)
-- column name: the call, by the recorded architecture's table
-- column call_count [count]: returns of the call
-- column error_count [count]: returns with a negative value
-- column total_ns [ns]: time in the call
-- column min_ns [ns]: the shortest call
-- column avg_ns [ns]: the mean
-- column max_ns [ns]: the longest call
-- column stddev_ns [ns]: standard deviation of the calls (n - 1)
-- column stddev_ratio [ratio]: standard error of the mean as a share of the mean: what perf trace -s prints as stddev
-- column strict_count [count]: calls with both ends in the capture
-- column strict_total_ns [ns]: their time
-- column open_count [count]: entries without a return in the capture
SELECT
  t.utid, t.tid, t.pid, t.comm, s.name,
  count(s.exit_ts_ns) AS call_count,
  count(*) FILTER (s.ret < 0) AS error_count,
  coalesce(sum(s.perf_duration_ns), 0)::BIGINT AS total_ns,
  min(s.perf_duration_ns) AS min_ns,
  avg(s.perf_duration_ns) AS avg_ns,
  max(s.perf_duration_ns) AS max_ns,
  stddev_samp(s.perf_duration_ns) AS stddev_ns,
  coalesce(stddev_samp(s.perf_duration_ns), 0) / sqrt(nullif(count(s.exit_ts_ns), 0))
    / nullif(avg(s.perf_duration_ns), 0) AS stddev_ratio,
  count(*) FILTER (s.pairing = 'strict') AS strict_count,
  coalesce(sum(s.duration_ns), 0)::BIGINT AS strict_total_ns,
  count(*) FILTER (s.pairing = 'enter_only') AS open_count
FROM syscall AS s
JOIN thread AS t USING (utid)
GROUP BY t.utid, t.tid, t.pid, t.comm, s.name
ORDER BY total_ns DESC, t.utid, s.name
