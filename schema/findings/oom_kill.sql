-- oom_kill: The kernel killed a process because memory was used up
-- condition: the kernel's log has a message of it from the time of the capture: "Out of memory: Killed process" (the host's memory), or
--   "Memory cgroup out of memory: Killed process" (the limit of a control group); kernels before 5.0 say "Kill process". Always critical
-- means: the process is gone, with all that it had in memory and all connections. A service manager may have started it again, so that
--   only its clients know. The kernel chooses who has the most memory for its oom_score_adj: not always who asked for too much
-- next: perfcase view kernel_log: the kernel's table of all processes and their memory, before each such message
-- next: perfcase view memory, cgroup_activity: who has the memory, and which limit was met
-- next: perfcase view memory_growth: who grew
-- taught by: -
-- source: kernel_log
-- evidence: SELECT ts_ns, level, text FROM kernel_log WHERE is_in_capture AND (text LIKE '%ut of memory: Kill%' OR text LIKE 'oom-kill:%') ORDER BY ts_ns, text
WITH threshold AS (
  SELECT 1 AS kill_count
), said AS (
  SELECT ts_ns, text, regexp_extract(text, 'Kill(?:ed)? process ([0-9]+)', 1) AS pid,
    regexp_extract(text, 'Kill(?:ed)? process [0-9]+ \((.*?)\)(?:,| total-vm:| score |$)', 1) AS name,
    TRY_CAST(regexp_extract(text, 'anon-rss:([0-9]+)kB', 1) AS BIGINT) AS anon_kib,
    text LIKE 'Memory cgroup%' AS is_of_group
  FROM kernel_log
  WHERE is_in_capture AND regexp_matches(text, '^(Memory cgroup out|Out) of memory: Kill(ed)? process [0-9]+')
), chosen AS (
  SELECT regexp_extract(text, ',pid=([0-9]+)', 1) AS pid, nullif(regexp_extract(text, ',oom_memcg=([^,]*)', 1), '') AS limit_cgroup,
    nullif(regexp_extract(text, ',task_memcg=([^,]*)', 1), '') AS cgroup, ts_ns
  FROM kernel_log
  WHERE is_in_capture AND text LIKE 'oom-kill:%'
), killed AS (
  SELECT s.name, s.pid, s.is_of_group, max(s.anon_kib) AS anon_kib, max(s.ts_ns) AS ts_ns, count(*) AS kill_count, max(c.limit_cgroup) AS limit_cgroup, max(c.cgroup) AS cgroup
  FROM said AS s
  ASOF LEFT JOIN chosen AS c ON c.pid = s.pid AND c.ts_ns <= s.ts_ns
  GROUP BY s.name, s.pid, s.is_of_group
)
SELECT
  @severity(true, true) AS severity,
  format('{} ({})', CASE k.name WHEN '' THEN '?' ELSE k.name END, k.pid) AS subject,
  format('the kernel killed it at {:.2f} s: {}{}{}', k.ts_ns / 1e9,
    CASE WHEN k.is_of_group THEN 'the memory limit of ' || coalesce(k.limit_cgroup, 'its control group') || ' was met' ELSE 'the memory of the host was used up' END,
    CASE WHEN k.cgroup IS NULL OR k.cgroup IS NOT DISTINCT FROM k.limit_cgroup THEN '' ELSE '; it was in ' || k.cgroup END,
    CASE WHEN k.anon_kib IS NULL THEN '' ELSE format('; it had {} of its own', @size(@product(k.anon_kib, 1024))) END) AS message,
  -- All that it had under way failed.
  1::DOUBLE AS failed_ratio
FROM killed AS k
CROSS JOIN threshold AS h
WHERE k.kill_count >= h.kill_count
