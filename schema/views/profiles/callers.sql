-- callers: who calls each function: the call tree turned upside down from the function (the Caller View)
-- grain: an event, a function and a path of its callers
-- source: call_path
-- caveat: if a function is in a callchain more than once, the occurrence nearest to the leaf counts
-- caveat: filter by symbol: the view holds the callers of every function
-- diff no: paths from every function; function_profile compares the functions
-- as in call_path: event, symbol
-- column depth: 0 is the function itself, 1 its callers, 2 theirs
-- column path: the names from the function up to the caller at this depth, separated by semicolons
-- column caller: the name at this depth
-- as in call_path: weight, sample_count
-- column self_weight: the part of weight that was sampled in the function itself
-- as in call_path: weight_ratio
SELECT event, symbol, depth, path, name AS caller, weight, sample_count, self_weight, weight_ratio
FROM call_path
WHERE direction = 'callers'
ORDER BY event, symbol, depth, weight DESC, path
