-- callers: who calls each function: the call tree turned upside down from the function (the Caller View)
-- grain: an event, a function and a path of its callers
-- source: stack_weight
-- caveat: of a function that is in a callchain more than once, the occurrence nearest to the leaf counts
-- caveat: filter by symbol: the view holds the callers of every function
-- column event: the event's name
-- column symbol: the function
-- column depth: 0 is the function itself, 1 its callers, 2 theirs
-- column path: the names from the function up to the caller at this depth, separated by semicolons
-- column caller: the name at this depth
-- column weight: what the samples with this path stand for, in the event's unit (ns for cpu-clock)
-- column sample_count [count]: samples with this path
-- column self_weight: the part of weight that was sampled in the function itself
-- column weight_ratio [ratio]: weight as a share of all of the function's weight
WITH chain AS (
  SELECT event, list_reverse(labels) AS labels, sample_count, period FROM stack_weight
), occurrence AS (
  SELECT event, labels, sample_count, period, unnest(generate_series(1, len(labels))) AS position FROM chain
), chosen AS (
  SELECT event, labels[position] AS symbol, labels[position:] AS upward, position, sample_count, period
  FROM occurrence
  WHERE list_position(labels, labels[position]) = position
), node AS (
  SELECT event, symbol, upward, position, sample_count, period,
    unnest(generate_series(0, len(upward) - 1)) AS depth
  FROM chosen
)
SELECT
  event, symbol, depth,
  array_to_string(list_transform(upward[1:depth + 1], lambda l: replace(l, ';', ':')), ';') AS path,
  upward[depth + 1] AS caller,
  sum(period)::UBIGINT AS weight,
  sum(sample_count)::BIGINT AS sample_count,
  coalesce(sum(period) FILTER (position = 1), 0)::UBIGINT AS self_weight,
  sum(period) / max(sum(period)) OVER (PARTITION BY event, symbol) AS weight_ratio
FROM node
GROUP BY event, symbol, depth, upward[1:depth + 1], upward[depth + 1]
ORDER BY event, symbol, depth, weight DESC, path
