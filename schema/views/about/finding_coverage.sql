-- finding_coverage: which rules could be judged on this capture; for the others, what is missing, why, and what would record it
-- grain: a rule
-- source: block_io, cgroup_activity, contended_cache_line, cpu_frequency, cpu_summary, cpu_utilization, disk_utilization, file_system,
--   finding_rule, followed_state, limit_use, machine_config, machine_fact, memory_growth, microarchitecture, net_utilization, perf_event, pmcarch,
--   proc_net_counter, proc_net_link, proc_socket, proc_sockstat, proc_vmstat, ready_time_by_cgroup, sample, socket, softnet_activity,
--   stack_folded, tcp_activity, view_coverage
-- diff no: perfcase findings says for each capture what could not be judged
-- as in finding_rule: finding, title
-- column is_judged: true if the capture has what the rule looks at; if such a rule did not fire, it found no problem
-- column missing: what the capture lacks for this rule, or why it cannot be worked out
-- as in view_coverage: reason, how, remedy
WITH enough AS (
@enough
)
SELECT
  r.finding, r.title, c.is_fed IS NOT FALSE AND e.is_enough IS TRUE AND e.failure IS NULL AS is_judged,
  CASE
    WHEN c.is_fed IS FALSE THEN 'nothing in ' || c.missing_tables
    WHEN e.failure IS NOT NULL THEN e.failure
    WHEN e.is_enough IS NOT TRUE THEN r.not_judged
  END AS missing,
  CASE WHEN NOT c.is_fed THEN c.reason END AS reason,
  CASE WHEN NOT c.is_fed THEN c.how END AS how,
  CASE WHEN NOT c.is_fed THEN c.remedy END AS remedy
FROM finding_rule AS r
JOIN enough AS e USING (finding)
LEFT JOIN view_coverage AS c ON c.view_name = r.finding AND c.kind = 'finding'
ORDER BY r.finding
