-- cgroup_activity: what each control group used: CPU, memory, storage, tasks; and where its limits or the host kept it waiting
-- grain: an interval between two snapshots × control group
-- source: proc_cgroup_stat
-- caveat: a group's figures include those of the groups below it (in version 1 if its memory hierarchy is on, which is the default): do not add a group to its parent
-- caveat: version 1 has a hierarchy for each controller: groups with the same path are shown as one, because container managers create them so. For version 1 there is no pressure, no number of requests, no user and system time
-- caveat: the recorder copies the files of the groups of recorded processes and of those above; a group that is new in a snapshot has its first row with the next one
-- caveat: a counter that goes backwards is unknown in that interval: the group was removed and created again
-- caveat: io is what the block devices did for the group. A request to a device-mapper or md device counts there, and again at each device below it; a device that is new in a group's statistics counts from 0
-- diff by: cgroup
-- diff sum: cpu_ns, throttled_ns, throttled_count, memory_limit_hit_count, oom_kill_count, read_bytes, write_bytes, cpu_pressure_ns, memory_pressure_ns, io_pressure_ns
-- diff level: memory_bytes, task_count
-- diff mean: cpu_limit_used_ratio, memory_limit_used_ratio
-- diff weight: 0.85
-- plot: intervals cpu_ratio, throttled_ratio, memory_bytes, read_bytes_per_s, write_bytes_per_s, task_count, cpu_pressure_ratio, memory_pressure_ratio, io_pressure_ratio by cgroup
-- chart lines 8: Control groups, CPU: cpu_ratio as CPUs by cgroup
-- chart lines 9: Control groups, memory: memory_bytes as memory by cgroup
-- keys: ts_ns, interval_ns
-- column cgroup: its path, without the name of a version 1 controller; / is the root
-- column cpu_ns [ns]: CPU time
-- column cpu_ratio [ratio]: cpu_ns as a share of one CPU; it may be more than 1
-- column user_ns [ns]: the part in user mode
-- column system_ns [ns]: the part in the kernel
-- column cpu_limit_ratio [ratio]: CPU time that it may use as a share of one CPU (quota over period); NULL: no limit
-- column cpu_limit_used_ratio [ratio]: cpu_ratio as a share of cpu_limit_ratio
-- column period_count [count]: periods of its quota in which it wanted to run
-- column throttled_count [count]: periods in which the quota was used up
-- column throttled_period_ratio [ratio]: throttled_count as a share of period_count
-- column throttled_ns [ns]: time that the quota kept it from running, on all CPUs together
-- column throttled_ratio [ratio]: throttled_ns as a share of the interval; it may be more than 1
-- column memory_bytes [bytes]: memory at the end, page cache included
-- column memory_limit_bytes [bytes]: the most memory it may have; NULL: no limit
-- column memory_limit_used_ratio [ratio]: memory_bytes as a share of memory_limit_bytes
-- column anon_bytes [bytes]: the anonymous part of memory_bytes
-- column file_bytes [bytes]: the page cache in memory_bytes
-- column memory_limit_hit_count [count]: times that its limit made it reclaim memory
-- column oom_kill_count [count]: processes of the group that the OOM killer killed
-- column read_bytes [bytes]: bytes read from block devices
-- column write_bytes [bytes]: bytes written to block devices
-- column read_bytes_per_s [bytes/s]: read_bytes per second
-- column write_bytes_per_s [bytes/s]: write_bytes per second
-- column read_count [count]: requests to read
-- column write_count [count]: requests to write
-- column task_count [count]: tasks (processes and threads) at the end
-- column task_limit_count [count]: how many tasks it may have; NULL: no limit
-- column cpu_pressure_ns [ns]: time in which some of its tasks waited for a CPU (PSI some)
-- column cpu_pressure_ratio [ratio]: cpu_pressure_ns as a share of the interval
-- column memory_pressure_ns [ns]: time in which some of its tasks waited for memory
-- column memory_pressure_ratio [ratio]: memory_pressure_ns as a share of the interval
-- column memory_pressure_full_ns [ns]: time in which all of its tasks that had work waited for memory
-- column io_pressure_ns [ns]: time in which some of its tasks waited for input or output
-- column io_pressure_ratio [ratio]: io_pressure_ns as a share of the interval
-- column io_pressure_full_ns [ns]: time in which all of its tasks that had work waited for input or output
WITH seen AS (
  -- What the names of both versions mean; times in ns. A value of 2^61 and more is how version 1 shows no limit: the importer bounds what is larger.
  SELECT source_id, snapshot, ts_ns, cgroup AS hierarchy, regexp_replace(cgroup, '^[^/]*:', '') AS cgroup, name,
    CASE
      WHEN name = 'cpu.stat.usage_usec' THEN 'cpu'
      WHEN name = 'cpuacct.usage' THEN 'cpu_v1'
      WHEN name = 'cpu.stat.user_usec' THEN 'user'
      WHEN name = 'cpu.stat.system_usec' THEN 'system'
      WHEN name = 'cpu.stat.nr_periods' THEN 'period'
      WHEN name = 'cpu.stat.nr_throttled' THEN 'throttled_period'
      WHEN name IN ('cpu.stat.throttled_usec', 'cpu.stat.throttled_time') THEN 'throttled'
      WHEN name IN ('cpu.max', 'cpu.cfs_quota_us') THEN 'quota'
      WHEN name IN ('cpu.max.period', 'cpu.cfs_period_us') THEN 'quota_period'
      WHEN name IN ('memory.current', 'memory.usage_in_bytes') THEN 'memory'
      WHEN name IN ('memory.max', 'memory.limit_in_bytes') THEN 'memory_limit'
      WHEN name IN ('memory.stat.anon', 'memory.stat.total_rss') THEN 'anon'
      WHEN name IN ('memory.stat.file', 'memory.stat.total_cache') THEN 'file'
      WHEN name IN ('memory.events.max', 'memory.failcnt') THEN 'memory_limit_hit'
      WHEN name = 'memory.events.oom_kill' THEN 'oom_kill'
      WHEN regexp_matches(name, '^io\.stat\..*\.rbytes$|^blkio\.throttle\.io_service_bytes\..*\.Read$') THEN 'read_bytes'
      WHEN regexp_matches(name, '^io\.stat\..*\.wbytes$|^blkio\.throttle\.io_service_bytes\..*\.Write$') THEN 'write_bytes'
      WHEN regexp_matches(name, '^io\.stat\..*\.rios$') THEN 'read'
      WHEN regexp_matches(name, '^io\.stat\..*\.wios$') THEN 'write'
      WHEN name = 'pids.current' THEN 'task'
      WHEN name = 'pids.max' THEN 'task_limit'
      WHEN name = 'cpu.pressure.some.total' THEN 'cpu_pressure'
      WHEN name = 'memory.pressure.some.total' THEN 'memory_pressure'
      WHEN name = 'memory.pressure.full.total' THEN 'memory_pressure_full'
      WHEN name = 'io.pressure.some.total' THEN 'io_pressure'
      WHEN name = 'io.pressure.full.total' THEN 'io_pressure_full'
    END AS field,
    CASE
      WHEN name LIKE '%\_usec' ESCAPE '\' OR name LIKE '%.total' THEN @product(value, 1000)
      WHEN name = 'cpu.cfs_quota_us' AND value < 0 OR value >= 2305843009213693952 THEN NULL
      ELSE value
    END AS value
  FROM proc_cgroup_stat
), snapshot_before AS (
  SELECT source_id, snapshot, hierarchy, lag(snapshot) OVER w AS before, lag(ts_ns) OVER w AS before_ns
  FROM (SELECT source_id, snapshot, hierarchy, max(ts_ns) AS ts_ns FROM seen GROUP BY source_id, snapshot, hierarchy)
  WINDOW w AS (PARTITION BY source_id, hierarchy ORDER BY snapshot)
), pair AS (
  SELECT s.*, b.before, lag(s.snapshot) OVER w AS value_snapshot, lag(s.value) OVER w AS before_value,
    s.ts_ns - coalesce(lag(s.ts_ns) OVER w, b.before_ns) AS interval_ns
  FROM seen AS s
  JOIN snapshot_before AS b USING (source_id, snapshot, hierarchy)
  WHERE s.field IS NOT NULL
  WINDOW w AS (PARTITION BY s.source_id, s.hierarchy, s.name ORDER BY s.snapshot, s.ts_ns)
), step AS (
  SELECT source_id, snapshot, ts_ns, interval_ns, cgroup, field, value,
    CASE
      WHEN value_snapshot = before THEN @counter_step(value, before_value, NULL)
      -- A device that the group had not used before is not in its statistics.
      WHEN value_snapshot IS NULL AND before IS NOT NULL AND field IN ('read_bytes', 'write_bytes', 'read', 'write') THEN value
    END AS n
  FROM pair
  WHERE before IS NOT NULL
), summed AS (
  -- Devices are added up; a sum of which a part is unknown is unknown.
  SELECT source_id, snapshot, cgroup, field, max(ts_ns) AS ts_ns, max(interval_ns) AS interval_ns, max(value) AS value,
    CASE WHEN count(n) = count(*) THEN @total(n) END AS n
  FROM step
  GROUP BY source_id, snapshot, cgroup, field
), flat AS (
  SELECT source_id, snapshot, cgroup, max(ts_ns) AS ts_ns, max(interval_ns) AS interval_ns,
    max(interval_ns) FILTER (field = 'cpu') AS cpu_interval_ns, max(n) FILTER (field = 'cpu') AS cpu,
    max(interval_ns) FILTER (field = 'cpu_v1') AS cpu_v1_interval_ns, max(n) FILTER (field = 'cpu_v1') AS cpu_v1,
    max(n) FILTER (field = 'user') AS user_ns, max(n) FILTER (field = 'system') AS system_ns,
    max(n) FILTER (field = 'period') AS period, max(n) FILTER (field = 'throttled_period') AS throttled_period,
    max(n) FILTER (field = 'throttled') AS throttled_ns,
    max(value) FILTER (field = 'quota') / max(value) FILTER (field = 'quota_period') AS cpu_limit_ratio,
    max(value) FILTER (field = 'memory') AS memory, max(value) FILTER (field = 'memory_limit') AS memory_limit,
    max(value) FILTER (field = 'anon') AS anon, max(value) FILTER (field = 'file') AS file,
    max(n) FILTER (field = 'memory_limit_hit') AS memory_limit_hit, max(n) FILTER (field = 'oom_kill') AS oom_kill,
    max(n) FILTER (field = 'read_bytes') AS read_bytes, max(n) FILTER (field = 'write_bytes') AS write_bytes,
    max(n) FILTER (field = 'read') AS read, max(n) FILTER (field = 'write') AS write,
    max(value) FILTER (field = 'task') AS task, max(value) FILTER (field = 'task_limit') AS task_limit,
    max(n) FILTER (field = 'cpu_pressure') AS cpu_pressure, max(n) FILTER (field = 'memory_pressure') AS memory_pressure,
    max(n) FILTER (field = 'memory_pressure_full') AS memory_pressure_full,
    max(n) FILTER (field = 'io_pressure') AS io_pressure, max(n) FILTER (field = 'io_pressure_full') AS io_pressure_full
  FROM summed
  GROUP BY source_id, snapshot, cgroup
)
SELECT
  ts_ns - interval_ns AS ts_ns, interval_ns, cgroup,
  coalesce(cpu, cpu_v1) AS cpu_ns,
  coalesce(cpu / cpu_interval_ns, cpu_v1 / cpu_v1_interval_ns) AS cpu_ratio,
  user_ns, system_ns, cpu_limit_ratio,
  @ratio(coalesce(cpu / cpu_interval_ns, cpu_v1 / cpu_v1_interval_ns), cpu_limit_ratio) AS cpu_limit_used_ratio,
  period AS period_count, throttled_period AS throttled_count,
  @ratio(throttled_period, period) AS throttled_period_ratio,
  throttled_ns, throttled_ns / interval_ns AS throttled_ratio,
  memory AS memory_bytes, memory_limit AS memory_limit_bytes, @ratio(memory, memory_limit) AS memory_limit_used_ratio,
  anon AS anon_bytes, file AS file_bytes, memory_limit_hit AS memory_limit_hit_count, oom_kill AS oom_kill_count,
  read_bytes, write_bytes,
  @per_second(read_bytes, interval_ns) AS read_bytes_per_s, @per_second(write_bytes, interval_ns) AS write_bytes_per_s,
  read AS read_count, write AS write_count, task AS task_count, task_limit AS task_limit_count,
  cpu_pressure AS cpu_pressure_ns, cpu_pressure / interval_ns AS cpu_pressure_ratio,
  memory_pressure AS memory_pressure_ns, memory_pressure / interval_ns AS memory_pressure_ratio,
  memory_pressure_full AS memory_pressure_full_ns,
  io_pressure AS io_pressure_ns, io_pressure / interval_ns AS io_pressure_ratio,
  io_pressure_full AS io_pressure_full_ns
FROM flat
WHERE interval_ns > 0
ORDER BY flat.ts_ns, source_id, cgroup
