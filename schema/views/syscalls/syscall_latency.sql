-- syscall_latency: how long system calls took, as a histogram in powers of two
-- grain: a name of threads, a call and a power of two
-- source: syscall, thread, thread_name
-- caveat: only calls whose own entry and return are both in the capture count, as in syscall_summary's strict_count
-- diff no: syscall_summary compares the calls
-- chart histograms 3: System calls: call_count as calls by name, comm
-- keys: comm
-- as in syscall: name
-- column bucket_min_ns [ns]: the range begins at this value: 0, 2, 4, 8, …
-- column bucket_max_ns [ns]: the range ends before this value: 2, 4, 8, 16, …
-- column call_count [count]: how many calls
-- column error_count [count]: how many of them returned a negative value
-- column latency_total_ns [ns]: time of these calls together
-- column latency_max_ns [ns]: the longest of these calls
WITH call AS (
  SELECT coalesce(n.comm, t.comm) AS comm, s.name, s.duration_ns, s.ret,
    -- length(bin(n)) is exact where log2 rounds.
    length(bin(greatest(s.duration_ns, 1))) - 1 AS power
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  LEFT JOIN thread_name AS n ON n.name_id = s.name_id
  WHERE s.duration_ns IS NOT NULL
)
SELECT
  comm, name,
  CASE power WHEN 0 THEN 0 ELSE 1::BIGINT << power END AS bucket_min_ns,
  CASE power WHEN 62 THEN 9223372036854775807 ELSE 1::BIGINT << (power + 1) END AS bucket_max_ns,
  count(*) AS call_count,
  count(*) FILTER (ret < 0) AS error_count,
  @total(duration_ns) AS latency_total_ns,
  max(duration_ns) AS latency_max_ns
FROM call
GROUP BY comm, name, power
ORDER BY comm, name, bucket_min_ns
