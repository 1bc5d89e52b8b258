-- tcp_activity: what TCP did on the host and in each network namespace of recorded processes, as sar -n TCP,ETCP prints it, and what listening sockets refused
-- grain: a network namespace × interval between two snapshots
-- source: proc_net_counter, network_namespace
-- caveat: IPv4 and IPv6 together; what one namespace of the host sends to another is counted in both
-- caveat: what a namespace counted before the first snapshot that saw it is not known
-- caveat: a counter that goes backwards and did not wrap at 2^32 is unknown in that interval
-- diff by: process
-- diff sum: active_open_count, passive_open_count, in_segment_count, out_segment_count, retransmit_count, listen_overflow_count, listen_drop_count
-- diff mean: established_count, retransmit_ratio by out_segment_count
-- diff apart: retransmit_count, listen_overflow_count
-- diff weight: 0.7
-- keys: ts_ns, interval_ns
-- as in proc_net_counter: netns_inode
-- as in network_namespace: process, pid
-- column active_open_per_s [1/s]: connections opened from here (active/s)
-- column passive_open_per_s [1/s]: connections accepted (passive/s)
-- column in_segment_per_s [1/s]: segments received (iseg/s)
-- column out_segment_per_s [1/s]: segments sent, without those sent again (oseg/s)
-- column attempt_fail_per_s [1/s]: connections that failed to open (atmptf/s)
-- column established_reset_per_s [1/s]: connections that were reset (estres/s)
-- column retransmit_per_s [1/s]: segments sent again (retrans/s)
-- column in_error_per_s [1/s]: segments received damaged (isegerr/s)
-- column out_reset_per_s [1/s]: resets sent (orsts/s)
-- column timeout_per_s [1/s]: retransmission timers that expired (TCPTimeouts)
-- column listen_overflow_per_s [1/s]: connections refused because the accept queue was full (ListenOverflows)
-- column listen_drop_per_s [1/s]: connection requests dropped by listening sockets, for any reason (ListenDrops)
-- column retransmit_ratio [ratio]: segments sent again as a share of those sent
-- column established_count [count]: connections that were open at the end of the interval
-- column active_open_count [count]: connections opened from here, in the interval
-- column passive_open_count [count]: connections accepted in the interval
-- column in_segment_count [count]: segments received in the interval
-- column out_segment_count [count]: segments sent in the interval: retransmit_ratio is a share of them
-- column retransmit_count [count]: segments sent again in the interval
-- column timeout_count [count]: retransmission timers that expired in the interval
-- column listen_overflow_count [count]: connections refused because the accept queue was full, in the interval
-- column listen_drop_count [count]: connection requests dropped by listening sockets, in the interval
-- column attempt_fail_count [count]: connections that failed to open, in the interval
-- column out_reset_count [count]: resets sent in the interval
WITH counter AS (
  SELECT source_id, snapshot, netns_inode, ts_ns, name, value, lag(value) OVER w AS before, ts_ns - lag(ts_ns) OVER w AS interval_ns
  FROM proc_net_counter
  WHERE (protocol = 'Tcp' AND name IN (
      'ActiveOpens', 'PassiveOpens', 'InSegs', 'OutSegs', 'AttemptFails', 'EstabResets', 'RetransSegs', 'InErrs', 'OutRsts',
      'CurrEstab'
    )) OR (protocol = 'TcpExt' AND name IN ('ListenOverflows', 'ListenDrops', 'TCPTimeouts'))
  WINDOW w AS (PARTITION BY source_id, netns_inode, protocol, name ORDER BY snapshot, ts_ns)
), step AS (
  SELECT source_id, snapshot, netns_inode, ts_ns, interval_ns, name, value,
    @counter_step(value, before, 4294967296) AS n
  FROM counter
  WHERE interval_ns > 0
), flat AS (
  SELECT source_id, snapshot, netns_inode,
    -- The two files are read one after the other: each counter has its own interval.
    max(ts_ns) FILTER (name = 'InSegs') AS ts_ns, max(interval_ns) FILTER (name = 'InSegs') AS interval_ns,
    max(interval_ns) FILTER (name = 'ListenDrops') AS ext_interval_ns,
    max(n) FILTER (name = 'ActiveOpens') AS active_open, max(n) FILTER (name = 'PassiveOpens') AS passive_open,
    max(n) FILTER (name = 'InSegs') AS in_segment, max(n) FILTER (name = 'OutSegs') AS out_segment,
    max(n) FILTER (name = 'AttemptFails') AS attempt_fail, max(n) FILTER (name = 'EstabResets') AS established_reset,
    max(n) FILTER (name = 'RetransSegs') AS retransmit, max(n) FILTER (name = 'InErrs') AS in_error,
    max(n) FILTER (name = 'OutRsts') AS out_reset, max(n) FILTER (name = 'TCPTimeouts') AS timeout,
    max(n) FILTER (name = 'ListenOverflows') AS listen_overflow, max(n) FILTER (name = 'ListenDrops') AS listen_drop,
    max(value) FILTER (name = 'CurrEstab') AS established
  FROM step
  GROUP BY source_id, snapshot, netns_inode
)
SELECT
  ts_ns - interval_ns AS ts_ns, interval_ns, netns_inode, s.process, s.pid,
  @per_second(active_open, interval_ns) AS active_open_per_s,
  @per_second(passive_open, interval_ns) AS passive_open_per_s,
  @per_second(in_segment, interval_ns) AS in_segment_per_s,
  @per_second(out_segment, interval_ns) AS out_segment_per_s,
  @per_second(attempt_fail, interval_ns) AS attempt_fail_per_s,
  @per_second(established_reset, interval_ns) AS established_reset_per_s,
  @per_second(retransmit, interval_ns) AS retransmit_per_s,
  @per_second(in_error, interval_ns) AS in_error_per_s,
  @per_second(out_reset, interval_ns) AS out_reset_per_s,
  @per_second(timeout, ext_interval_ns) AS timeout_per_s,
  @per_second(listen_overflow, ext_interval_ns) AS listen_overflow_per_s,
  @per_second(listen_drop, ext_interval_ns) AS listen_drop_per_s,
  @ratio(retransmit, out_segment) AS retransmit_ratio,
  established AS established_count,
  active_open AS active_open_count, passive_open AS passive_open_count, in_segment AS in_segment_count,
  out_segment AS out_segment_count, retransmit AS retransmit_count, timeout AS timeout_count, listen_overflow AS listen_overflow_count,
  listen_drop AS listen_drop_count, attempt_fail AS attempt_fail_count, out_reset AS out_reset_count
FROM flat
LEFT JOIN network_namespace AS s USING (netns_inode)
WHERE interval_ns IS NOT NULL
ORDER BY flat.ts_ns, source_id, netns_inode
