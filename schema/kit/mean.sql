-- mean: the mean over several rows, each with its weight; a row whose value is unknown does not count
-- takes: value, weight
sum(1e0 * $value * $weight) / nullif(sum($weight) FILTER ($value IS NOT NULL), 0)
