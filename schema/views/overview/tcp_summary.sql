-- tcp_summary: what TCP did on the host and in each network namespace of recorded processes over the whole capture, as the averages of sar -n TCP,ETCP, and what listening sockets refused
-- grain: a network namespace that two snapshots saw
-- source: tcp_activity
-- caveat: IPv4 and IPv6 together; what one namespace of the host sends to another is counted in both
-- caveat: tcp_activity has the intervals
-- diff no: tcp_activity is compared, with the noise of its intervals
-- as in tcp_activity: netns_inode, process, pid
-- column duration_ns [ns]: the time between the first and the last snapshot
-- column active_open_count [count]: connections opened from here
-- column passive_open_count [count]: connections accepted
-- column in_segment_count [count]: segments received
-- column out_segment_count [count]: segments sent, without those sent again
-- as in tcp_activity: active_open_per_s, passive_open_per_s, in_segment_per_s
-- column out_segment_per_s [1/s]: segments sent (oseg/s)
-- column retransmit_count [count]: segments sent again
-- as in tcp_activity: retransmit_per_s
-- column retransmit_ratio [ratio]: retransmit_count as a share of out_segment_count
-- column retransmit_max_ratio [ratio]: the largest retransmit_ratio of an interval
-- column timeout_count [count]: retransmission timers that expired
-- column listen_overflow_count [count]: connections refused because the accept queue was full
-- column listen_drop_count [count]: connection requests dropped by listening sockets, for any reason: those in listen_overflow_count are among them
-- column listen_drop_max_count [count]: most dropped connection requests in an interval
SELECT
  netns_inode, any_value(process) AS process, any_value(pid) AS pid, @total(interval_ns) AS duration_ns,
  @total(active_open_count) AS active_open_count, @total(passive_open_count) AS passive_open_count,
  @total(in_segment_count) AS in_segment_count, @total(out_segment_count) AS out_segment_count,
  @rate(active_open_count, interval_ns) AS active_open_per_s, @rate(passive_open_count, interval_ns) AS passive_open_per_s,
  @rate(in_segment_count, interval_ns) AS in_segment_per_s, @rate(out_segment_count, interval_ns) AS out_segment_per_s,
  @total(retransmit_count) AS retransmit_count, @rate(retransmit_count, interval_ns) AS retransmit_per_s,
  @ratio(@total(retransmit_count), @total_where(out_segment_count, retransmit_count IS NOT NULL)) AS retransmit_ratio,
  max(retransmit_ratio) AS retransmit_max_ratio,
  @total(timeout_count) AS timeout_count,
  @total(listen_overflow_count) AS listen_overflow_count, @total(listen_drop_count) AS listen_drop_count, max(listen_drop_count) AS listen_drop_max_count
FROM tcp_activity
GROUP BY netns_inode
ORDER BY netns_inode NULLS FIRST
