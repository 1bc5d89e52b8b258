-- call_tree: the callchains of each event as a tree, root first
-- grain: an event and a node of its tree
-- source: stack_weight
-- diff no: a tree of stacks; function_profile compares the functions
-- as in stack_weight: event
-- column depth: 1 is a root
-- column path: the names from the root down to the node, separated by semicolons
-- column symbol: the node's own name
-- column self_count [count]: samples that end in this node
-- column total_count [count]: samples that end in this node or below it
-- column self_period: what the self samples stand for, in the event's unit
-- column total_period: what the total samples stand for
WITH node AS (
  SELECT event, labels, sample_count, period, unnest(generate_series(1, len(labels))) AS depth
  FROM stack_weight
)
SELECT
  event, depth,
  array_to_string(list_transform(labels[1:depth], lambda l: replace(l, ';', ':')), ';') AS path,
  labels[depth] AS symbol,
  @total_or_zero(sample_count, depth = len(labels)) AS self_count,
  @total(sample_count) AS total_count,
  @total_period_or_zero(period, depth = len(labels)) AS self_period,
  @total_period(period) AS total_period
FROM node
GROUP BY event, depth, labels[1:depth], labels[depth]
ORDER BY event, path, symbol
