-- callees: what each function calls: the call tree below it, all its call sites merged
-- grain: an event, a function and a path below it
-- source: call_path
-- caveat: if a function is in a callchain more than once, the occurrence nearest to the root counts
-- caveat: filter by symbol: the view holds the callees of every function
-- diff no: paths from every function; function_profile compares the functions
-- as in call_path: event, symbol
-- column depth: 0 is the function itself, 1 what it calls, 2 what these call
-- column path: the names from the function down to the callee at this depth, separated by semicolons
-- column callee: the name at this depth
-- as in call_path: weight, sample_count
-- column self_weight: the part of weight that was sampled in this node itself
-- as in call_path: weight_ratio
SELECT event, symbol, depth, path, name AS callee, weight, sample_count, self_weight, weight_ratio
FROM call_path
WHERE direction = 'callees'
ORDER BY event, symbol, depth, weight DESC, path
