-- cpu_node: the NUMA node of each CPU
-- grain: a CPU
-- source: machine_fact
-- caveat: no rows if the capture does not name nodes
-- diff no: the machine, no figures
-- keys: cpu
-- column node: the node that it belongs to
WITH part AS (
  -- The kernel knows of 8,192 CPUs at most: what a damaged capture says beyond that is not made into rows.
  SELECT TRY_CAST(regexp_extract(key, 'node(\d+)', 1) AS INTEGER) AS node, unnest(string_split(value, ',')[1:1024]) AS cpus
  FROM machine_fact
  WHERE regexp_matches(key, '^numa\.node\d{1,6}\.cpus$') AND regexp_matches(value, '^\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*$')
)
SELECT cpu, min(node) AS node
FROM (
  SELECT node, unnest(range(split_part(cpus, '-', 1)::BIGINT, least(split_part(cpus, '-', -1)::BIGINT, 8191) + 1)) AS cpu
  FROM part
)
GROUP BY cpu
ORDER BY cpu
