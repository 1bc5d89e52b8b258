-- small_hot_functions: functions that cost much in total but little under any one path: what a call tree hides
-- grain: an event and a function
-- source: stack_weight
-- caveat: the top-down tree spreads such a function over many places; here they are ordered by scattered_period: self time that is not under its most frequent caller path. At the top are small functions called from everywhere
-- caveat: paths are distinguished by the functions' names from the root down. Without callchains there is one path and nothing is scattered
-- diff no: function_profile has these functions
-- as in stack_weight: event
-- column symbol: the function
-- column self_count [count]: samples taken in the function itself
-- column self_period: what they stand for, in the event's unit (ns for cpu-clock)
-- column self_ratio [ratio]: self_period as a share of the event's whole period
-- column total_period: what the samples in the function or below it stand for
-- column total_ratio [ratio]: total_period as a share of the event's whole period
-- column caller_count [count]: distinct functions that called it, in its self samples
-- column path_count [count]: distinct paths from the root to it
-- column top_caller: the caller with the most of its self time; NULL where it is the root
-- column top_caller_ratio [ratio]: the share of its self time under that caller
-- column top_path_period: self time under the most frequent path
-- column top_path_ratio [ratio]: top_path_period as a share of the function's self time
-- column top_path_event_ratio [ratio]: top_path_period as a share of the event's whole period: the most that one place of the call tree shows
-- column scattered_period: self_period without top_path_period
WITH path AS (
  SELECT event, labels[len(labels)] AS symbol, labels[len(labels) - 1] AS caller, labels, sum(sample_count) AS samples,
    sum(period) AS period
  FROM stack_weight
  GROUP BY ALL
), caller AS (
  SELECT event, symbol, caller, sum(period) AS period FROM path GROUP BY ALL
), top_caller AS (
  SELECT event, symbol, count(caller) AS callers, arg_max(caller, (period, caller)) AS caller, max(period) AS period
  FROM caller
  GROUP BY ALL
), self AS (
  SELECT event, symbol, @total(samples) AS self_count, @total_period(period) AS self_period, count(*) AS path_count,
    TRY_CAST(max(period) AS UBIGINT) AS top_path_period
  FROM path
  GROUP BY ALL
), total AS (
  SELECT event, symbol, @total_period(period) AS period
  FROM (SELECT event, unnest(list_distinct(labels)) AS symbol, period FROM path)
  GROUP BY ALL
), everything AS (
  SELECT event, sum(period) AS period FROM path GROUP BY event
)
SELECT s.event, s.symbol, s.self_count, s.self_period, s.self_period / e.period AS self_ratio,
  t.period AS total_period, t.period / e.period AS total_ratio,
  c.callers AS caller_count, s.path_count, c.caller AS top_caller, c.period / s.self_period AS top_caller_ratio,
  s.top_path_period, s.top_path_period / s.self_period AS top_path_ratio,
  s.top_path_period / e.period AS top_path_event_ratio,
  s.self_period - s.top_path_period AS scattered_period
FROM self AS s
JOIN everything AS e USING (event)
JOIN total AS t USING (event, symbol)
JOIN top_caller AS c USING (event, symbol)
WHERE s.self_period > 0
ORDER BY s.event, scattered_period DESC, s.self_period DESC, s.symbol
