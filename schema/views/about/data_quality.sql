-- data_quality: what each source holds, what it lost, how much of the capture it covers, and what that means
-- grain: a source of the capture
-- source: source, import_issue, capture, proc_system, pmc_interval, view_coverage
-- caveat: lost_count is what the kernel and the tools report; damage is in import_issue with its place
-- diff no: its figures are among the things that make two captures comparable; diff says these first
-- column source: the source's name
-- as in source: kind, status
-- column is_present: true when records were imported from it
-- as in source: event_count, lost_count
-- column lost_ratio [ratio]: lost_count as a share of lost and imported together
-- as in source: clock, first_ts_ns, last_ts_ns
-- column coverage_ratio [ratio]: the time from first_ts_ns to last_ts_ns as a share of the capture
-- column longest_gap_ns [ns]: the longest time between two readings of snapshots or counters: only the sum over this time is known
-- column warning_count [count]: warnings in import_issue
-- column error_count [count]: errors in import_issue
-- column feeds: the tables that were made from it
-- column empty_views: the views that have no rows because it is missing; another source may fill some of them
-- column meaning: what the state of the source means for the figures
-- column remedy: what would give more
WITH reading AS (
  SELECT DISTINCT source_id, ts_ns FROM proc_system
  UNION
  SELECT DISTINCT source_id, ts_ns FROM pmc_interval
), gap AS (
  SELECT source_id, max(gap_ns) AS longest_gap_ns
  FROM (SELECT source_id, ts_ns - lag(ts_ns) OVER (PARTITION BY source_id ORDER BY ts_ns) AS gap_ns FROM reading)
  GROUP BY source_id
), empty_view AS (
  SELECT source, string_agg(view_name, ', ' ORDER BY view_name) AS views
  FROM (SELECT view_name, unnest(string_split(sources, ', ')) AS source FROM view_coverage WHERE NOT is_fed AND kind = 'view')
  GROUP BY source
), trouble AS (
  SELECT source, count(*) FILTER (severity = 'warning') AS warnings, count(*) FILTER (severity = 'error') AS errors
  FROM import_issue
  GROUP BY source
), use AS (
  SELECT source_id, array_to_string(list_filter([
    CASE WHEN is_timeline THEN 'thread_state' END,
    CASE WHEN is_syscall_source THEN 'syscall' END,
    CASE WHEN is_block_source THEN 'block_io' END], lambda t: t IS NOT NULL), ', ') AS feeds
  FROM source
)
SELECT
  s.name AS source, s.kind, s.status,
  s.event_count > 0 AS is_present,
  s.event_count, s.lost_count,
  @ratio(s.lost_count, s.lost_count + s.event_count) AS lost_ratio,
  s.clock, s.first_ts_ns, s.last_ts_ns,
  -- least() would take NULL for no bound.
  CASE WHEN s.last_ts_ns IS NOT NULL
    THEN least(1.0, (s.last_ts_ns - s.first_ts_ns) / nullif(c.duration_ns, 0)) END AS coverage_ratio,
  g.longest_gap_ns,
  coalesce(t.warnings, 0) AS warning_count,
  coalesce(t.errors, 0) AS error_count,
  nullif(u.feeds, '') AS feeds,
  e.views AS empty_views,
  CASE
    WHEN s.status = 'missing' THEN coalesce(s.reason, 'not recorded') || ': views that need it are empty'
    WHEN coalesce(t.errors, 0) > 0 THEN 'damaged: rows before the damage are kept, what came after is missing'
    WHEN s.lost_count > 0 THEN s.lost_count || ' events were lost: counts are too small, and times around the gaps are doubtful'
    WHEN s.event_count = 0 AND s.kind IN ('perf_data', 'trace_dat', 'ftrace_raw', 'perf_script', 'perf_stat', 'proc_snapshots') THEN 'nothing was recorded'
    WHEN s.status = 'degraded' THEN coalesce(s.reason, 'degraded')
    ELSE 'complete'
  END AS meaning,
  s.remedy
FROM source AS s
CROSS JOIN capture AS c
LEFT JOIN trouble AS t ON t.source IN (s.name, s.member)
LEFT JOIN use AS u USING (source_id)
LEFT JOIN gap AS g USING (source_id)
LEFT JOIN empty_view AS e ON e.source = s.name
ORDER BY s.source_id
