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
  SELECT event, labels, sum(sample_count) AS sample_count, sum(period) AS period FROM stack_weight GROUP BY event, labels
), name AS MATERIALIZED (
  -- Paths of numbers are compared faster than paths of names.
  SELECT label, row_number() OVER (ORDER BY label) AS number FROM (SELECT DISTINCT unnest(labels) AS label FROM stack)
), known AS (
  SELECT list(replace(label, ';', ':') ORDER BY number) AS shown FROM name
), numbered AS (
  SELECT s.event, s.sample_count, s.period, list(n.number ORDER BY s.position) AS numbers
  FROM (SELECT *, unnest(labels) AS label, unnest(generate_series(1, len(labels))) AS position FROM stack) AS s
  JOIN name AS n USING (label)
  GROUP BY s.event, s.labels, s.sample_count, s.period
), chain AS (
  SELECT 'callers' AS direction, event, list_reverse(numbers) AS numbers, sample_count, period FROM numbered
  UNION ALL
  SELECT 'callees', event, numbers, sample_count, period FROM numbered
), occurrence AS (
  SELECT *, unnest(generate_series(1, len(numbers))) AS position FROM chain
), chosen AS (
  SELECT direction, event, numbers[position] AS function, numbers[position:] AS numbers, position = 1 AS is_whole, sample_count, period
  FROM occurrence
  WHERE list_position(numbers, numbers[position]) = position
), alike AS (
  -- Few of many: most callchains of a function share what is above it or below it.
  SELECT direction, event, function, numbers, is_whole, sum(sample_count) AS sample_count, sum(period) AS period
  FROM chosen
  GROUP BY direction, event, function, numbers, is_whole
), whole AS (
  SELECT direction, event, function, sum(period) AS period FROM alike GROUP BY direction, event, function
), node AS (
  SELECT *, unnest(generate_series(0, len(numbers) - 1)) AS depth FROM alike
), path AS (
  SELECT direction, event, function, depth, numbers[1:depth + 1] AS numbers, sum(period) AS period, sum(sample_count) AS sample_count,
    sum(period) FILTER (CASE direction WHEN 'callers' THEN is_whole ELSE len(numbers) = depth + 1 END) AS self_period
  FROM node
  GROUP BY direction, event, function, depth, numbers[1:depth + 1]
)
SELECT
  p.direction, p.event, f.label AS symbol, p.depth, array_to_string(list_select(k.shown, p.numbers), ';') AS path, n.label AS name,
  TRY_CAST(p.period AS UBIGINT) AS weight, TRY_CAST(p.sample_count AS BIGINT) AS sample_count,
  TRY_CAST(coalesce(p.self_period, 0) AS UBIGINT) AS self_weight, p.period / w.period AS weight_ratio
FROM path AS p
JOIN whole AS w ON w.direction = p.direction AND w.event = p.event AND w.function = p.function
JOIN name AS f ON f.number = p.function
JOIN name AS n ON n.number = p.numbers[p.depth + 1]
CROSS JOIN known AS k
ORDER BY p.direction, p.event, symbol, p.depth, weight DESC, path
