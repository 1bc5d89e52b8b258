-- softnet_drops: Packets arrive and are dropped: the queue of a CPU is full
-- condition: 10 packets a second or more, 20 or more in all, found the queue of a CPU full (dropped in /proc/net/softnet_stat; the alert 1min_netdev_backlog_exceeded of
--   netdata). A warning from one in a hundred of all packets, critical from one in ten (as for receive_drops), else a note. Or 10 turns a second or more, 100 or
--   more, ended with packets left (1min_netdev_budget_ran_outs): a note, as these packets only come later
-- means: the CPU that takes packets from the network does not keep up: with their number, or because something else holds it. A datagram is lost for good; TCP sends it again
-- next: perfcase view softnet_activity: which CPU, and when. cpu_utilization: softirq_ratio of this CPU
-- next: perfcase findings: whether one CPU handles the soft interrupts (softirq_one_cpu)
-- next: raise net.core.netdev_max_backlog for bursts, and net.core.netdev_budget where turns are too short; spread the packets over CPUs: receive queues (ethtool -l), RPS (rps_cpus)
-- about: the packets that arrive
-- taught by: -
-- source: softnet_activity
-- evidence: SELECT cpu, ts_ns, interval_ns, processed_count, drop_count, squeeze_count FROM softnet_activity WHERE drop_count + squeeze_count > 0 ORDER BY cpu, ts_ns
-- judged when: SELECT count(*) > 0 FROM softnet_activity
-- not judged: what the queues dropped. It needs two snapshots of /proc/net/softnet_stat; perfcase-record takes them by default
WITH threshold AS (
  SELECT 10 AS event_per_s, 20 AS drop_count, 100 AS squeeze_count, 0.01 AS warning_ratio, 0.1 AS critical_ratio
), by_cpu AS (
  SELECT cpu, sum(interval_ns) AS duration_ns, sum(processed_count) AS processed_count, coalesce(sum(drop_count), 0) AS drop_count,
    coalesce(sum(squeeze_count), 0) AS squeeze_count
  FROM softnet_activity
  GROUP BY cpu
), total AS (
  SELECT max(duration_ns) / 1e9 AS duration_s, sum(processed_count) AS processed_count, sum(drop_count) AS drop_count, sum(squeeze_count) AS squeeze_count,
    @ratio(sum(drop_count), sum(drop_count) + sum(processed_count)) AS drop_ratio, arg_max(cpu, (drop_count, squeeze_count, -cpu::BIGINT)) AS cpu,
    max(drop_count) AS most_count
  FROM by_cpu
  HAVING count(*) > 0
), judged AS (
  SELECT t.*, t.drop_count >= h.drop_count AND t.drop_count >= h.event_per_s * t.duration_s AS is_dropping
  FROM total AS t
  CROSS JOIN threshold AS h
  WHERE t.duration_s > 0
)
SELECT
  @severity(t.is_dropping AND t.drop_ratio >= h.critical_ratio, t.is_dropping AND t.drop_ratio >= h.warning_ratio) AS severity,
  'the packet queues of the CPUs' AS subject,
  CASE WHEN t.drop_count > 0 THEN format('{} packets were dropped, {:.1f} % of all ({} on CPU {}); ', @whole(t.drop_count), 100 * t.drop_ratio, @whole(t.most_count), t.cpu) ELSE '' END
    || format('{} turns ended with packets left, in {:.0f} s', @whole(t.squeeze_count), t.duration_s) AS message,
  nullif(t.drop_ratio, 0)::DOUBLE AS failed_ratio, ['packets that arrive'] AS about
FROM judged AS t
CROSS JOIN threshold AS h
WHERE t.is_dropping OR t.squeeze_count >= h.squeeze_count AND t.squeeze_count >= h.event_per_s * t.duration_s
