-- call_path: the callchains around each function: those of its callers and those of what it calls
-- grain: a direction, an event, a function and a path from it
-- source: stack_weight
-- caveat: if a function is in a callchain more than once, only one occurrence counts: for callers the one nearest to the leaf, for callees the one nearest to the root
-- caveat: the views callers and callees are its two halves; filter by direction and symbol
-- diff no: paths up and down from every function; function_profile compares the functions
-- column direction: callers or callees
-- as in stack_weight: event
-- column symbol: the function
-- column depth: 0 is the function itself, 1 its callers or what it calls, and so on
-- column path: the names from the function to the one at this depth, separated by semicolons
-- column name: the name at this depth
-- column weight: what the samples with this path stand for, in the event's unit (ns for cpu-clock)
-- column sample_count [count]: samples with this path
-- column self_weight: for callers, the part of weight that was sampled in the function itself; for callees, in the function at this depth
-- column weight_ratio [ratio]: weight as a share of the function's whole weight
WITH stack AS MATERIALIZED (
  SELECT event, labels, sample_count, period FROM stack_weight
), chain AS (
  SELECT 'callers' AS direction, event, list_reverse(labels) AS labels, sample_count, period FROM stack
  UNION ALL
  SELECT 'callees', event, labels, sample_count, period FROM stack
), occurrence AS (
  SELECT *, unnest(generate_series(1, len(labels))) AS position FROM chain
), chosen AS (
  SELECT direction, event, labels[position] AS symbol, labels[position:] AS labels, position, sample_count, period
  FROM occurrence
  WHERE list_position(labels, labels[position]) = position
), node AS (
  SELECT *, unnest(generate_series(0, len(labels) - 1)) AS depth FROM chosen
)
SELECT
  direction, event, symbol, depth,
  array_to_string(list_transform(labels[1:depth + 1], lambda l: replace(l, ';', ':')), ';') AS path,
  labels[depth + 1] AS name,
  @total_period(period) AS weight,
  @total(sample_count) AS sample_count,
  @total_period_or_zero(period, CASE direction WHEN 'callers' THEN position = 1 ELSE len(labels) = depth + 1 END)
    AS self_weight,
  sum(period) / max(sum(period)) OVER (PARTITION BY direction, event, symbol) AS weight_ratio
FROM node
GROUP BY direction, event, symbol, depth, labels[1:depth + 1], labels[depth + 1]
ORDER BY direction, event, symbol, depth, weight DESC, path
