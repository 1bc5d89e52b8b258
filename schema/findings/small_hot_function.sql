-- small_hot_function: A small function with many callers is hot: a top-down call tree hides it
-- condition: one named function of a program has 10 % or more of the CPU time that was not idle, in 50 samples or more, on 10
--   call paths or more, and the most frequent path has less than half of it. A warning from 25 %. Paths differ by their
--   functions: recursion and addresses without a name make no new paths. The published function had 39 %, while the top-down
--   tree showed 87 % below the start of the threads
-- means: no caller looks expensive, because each has a small share. Make this one function cheaper, or call it less: everything
--   becomes faster
-- next: perfcase view small_hot_functions: callers, paths, and the largest share of one path
-- next: perfcase view callers: the inverted call tree
-- taught by: A tale of ten bugs (4)
-- source: frame_label, perf_event, sample, stack_weight
-- evidence: SELECT event, symbol, self_count, self_ratio, caller_count, path_count, top_caller, top_path_ratio FROM small_hot_functions
--   WHERE event SIMILAR TO '(cpu-cycles|cycles|cpu-clock|task-clock)([:/].*)?'
-- judged when: SELECT EXISTS (FROM sample JOIN perf_event USING (event_id) JOIN stack_folded USING (stack_id)
--   WHERE name SIMILAR TO '(cpu-cycles|cycles|cpu-clock|task-clock)([:/].*)?' AND len(labels) > 1)
-- not judged: CPU samples with callchains; perfcase-record takes them by default (perf record -g)
WITH threshold AS (
  SELECT 0.1 AS busy_ratio, 0.25 AS warning_ratio, 50 AS samples, 10 AS paths, 0.5 AS path_ratio
), busy AS (
  SELECT v.name AS event, sum(coalesce(s.period, 1)) AS period
  FROM sample AS s
  JOIN perf_event AS v USING (event_id)
  WHERE coalesce(s.utid, 1) <> 0 AND v.name SIMILAR TO '(cpu-cycles|cycles|cpu-clock|task-clock)([:/].*)?'
  GROUP BY v.name
), program AS (
  SELECT label FROM frame_label GROUP BY label HAVING NOT bool_or(is_kernel) AND bool_and(unnamed_address IS NULL)
), way AS (
  SELECT w.event, p.label AS symbol, sum(w.sample_count) AS samples, sum(w.period) AS period,
    list_sort(list_distinct(list_transform(w.labels, lambda l: CASE WHEN starts_with(l, '[') THEN split_part(l, ']', 1) ELSE l END))) AS functions
  FROM stack_weight AS w
  JOIN program AS p ON p.label = w.labels[len(w.labels)]
  WHERE w.event SIMILAR TO '(cpu-cycles|cycles|cpu-clock|task-clock)([:/].*)?'
  GROUP BY ALL
), hot AS (
  SELECT y.event, y.symbol, @total(y.samples) AS samples, count(*) AS paths, max(y.period) / sum(y.period) AS path_ratio,
    sum(y.period) / any_value(b.period) AS busy_ratio
  FROM way AS y
  JOIN busy AS b USING (event)
  GROUP BY y.event, y.symbol
)
SELECT
  @severity(false, f.busy_ratio >= h.warning_ratio) AS severity, f.symbol AS subject,
  format('{:,} samples, {:.1f} % of the CPU time that was not idle, on {:,} call paths, of which the most frequent has {:.1f} % of it',
    f.samples, 100 * f.busy_ratio, f.paths, 100 * f.path_ratio) AS message,
  least(1.0, f.busy_ratio)::DOUBLE AS of_run_ratio
FROM hot AS f
CROSS JOIN threshold AS h
WHERE f.busy_ratio >= h.busy_ratio AND f.samples >= h.samples AND f.paths >= h.paths AND f.path_ratio < h.path_ratio
QUALIFY row_number() OVER (PARTITION BY f.symbol ORDER BY f.samples DESC, f.event) = 1
