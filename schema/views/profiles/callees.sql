-- callees: what each function calls: the call tree below it, all its call sites merged
-- grain: an event, a function and a path below it
-- source: stack_weight
-- caveat: of a function that is in a callchain more than once, the occurrence nearest to the root counts
-- caveat: filter by symbol: the view holds the callees of every function
-- column event: the event's name
-- column symbol: the function
-- column depth: 0 is the function itself, 1 what it calls, 2 what these call
-- column path: the names from the function down to the callee at this depth, separated by semicolons
-- column callee: the name at this depth
-- column weight: what the samples with this path stand for, in the event's unit (ns for cpu-clock)
-- column sample_count [count]: samples with this path
-- column self_weight: the part of weight that was sampled in this node itself
-- column weight_ratio [ratio]: weight as a share of all of the function's weight
WITH occurrence AS (
  SELECT event, labels, sample_count, period, unnest(generate_series(1, len(labels))) AS position FROM stack_weight
), chosen AS (
  SELECT event, labels[position] AS symbol, labels[position:] AS downward, sample_count, period
  FROM occurrence
  WHERE list_position(labels, labels[position]) = position
), node AS (
  SELECT event, symbol, downward, sample_count, period, unnest(generate_series(0, len(downward) - 1)) AS depth
  FROM chosen
)
SELECT
  event, symbol, depth,
  array_to_string(list_transform(downward[1:depth + 1], lambda l: replace(l, ';', ':')), ';') AS path,
  downward[depth + 1] AS callee,
  sum(period)::UBIGINT AS weight,
  sum(sample_count)::BIGINT AS sample_count,
  coalesce(sum(period) FILTER (len(downward) = depth + 1), 0)::UBIGINT AS self_weight,
  sum(period) / max(sum(period)) OVER (PARTITION BY event, symbol) AS weight_ratio
FROM node
GROUP BY event, symbol, depth, downward[1:depth + 1], downward[depth + 1]
ORDER BY event, symbol, depth, weight DESC, path
