-- recorder_cost: The recording itself used CPU time that the host's own work needed
-- condition: during the recording the recorder used 5 % or more of all CPUs, and everything else used 10 % or more, so that
--   there was work to disturb. A warning from 10 %: a published probe raised the ready time of a database from 12.5 % to 20 %
-- means: the figures of this capture describe the host with the recorder on it. Without the recorder, threads would wait less
-- next: record less: fewer events (perfcase-record --help), a longer --interval, only one command or control group
-- taught by: A tale of ten bugs (9)
-- source: blame, capture, cpu_summary, recorder_overhead, recorder_thread
-- evidence: SELECT process, phase, cpu_ns, cpu_ratio, event_count FROM recorder_overhead
-- judged when: SELECT count(busy_ratio) > 0 FROM cpu_summary
-- not judged: how busy the host was. It needs two snapshots of /proc; perfcase-record takes them by default
WITH threshold AS (
  SELECT 0.05 AS note_ratio, 0.1 AS warning_ratio, 0.1 AS others_ratio
), cost AS (
  SELECT sum(cpu_ns) AS cpu_ns, sum(cpu_ratio) AS one_cpu_ratio, arg_max(process, (cpu_ns, process)) AS most, max(cpu_ns) AS most_ns
  FROM recorder_overhead
  -- A command that the recorder ran is counted with its own children: what it took is not the recording's cost.
  WHERE coalesce(phase, 'recording') = 'recording' AND process NOT LIKE '%, and the recorded command'
  HAVING count(cpu_ratio) > 0
), host AS (
  SELECT busy_ratio FROM cpu_summary WHERE cpu = 'all'
), share AS (
  SELECT k.*, k.one_cpu_ratio / c.cpu_count AS all_cpu_ratio, h.busy_ratio
  FROM cost AS k
  CROSS JOIN host AS h
  CROSS JOIN capture AS c
  WHERE c.cpu_count > 0
), taken AS (
  SELECT CASE WHEN count(*) > 0 THEN @total_or_zero(duration_ns, cause = 'cpu_taken' AND on_utid IN (SELECT utid FROM recorder_thread)) END AS taken_ns
  FROM blame
  WHERE utid NOT IN (SELECT utid FROM recorder_thread)
)
SELECT
  @severity(false, s.all_cpu_ratio >= h.warning_ratio) AS severity,
  'the recorder' AS subject,
  format('it used {:.2f} s of CPU time while it recorded, {:.1f} % of all CPUs, which were {:.1f} % busy; most of it {}, {:.2f} s',
    s.cpu_ns / 1e9, 100 * s.all_cpu_ratio, 100 * s.busy_ratio, s.most, s.most_ns / 1e9) AS message,
  @whole(t.taken_ns) AS cost_ns
FROM share AS s
CROSS JOIN taken AS t
CROSS JOIN threshold AS h
WHERE s.all_cpu_ratio >= h.note_ratio AND s.busy_ratio - s.all_cpu_ratio >= h.others_ratio
