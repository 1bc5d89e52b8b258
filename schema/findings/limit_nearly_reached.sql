-- limit_nearly_reached: A limit of the kernel, or of a control group, is nearly used up
-- condition: at a snapshot, so much of it was in use: 90 % of the memory, of the swap space, of the open files (fs.file-max), of the processes and threads (kernel.pid_max, threads-max; pids.max of a
--   control group), of the tracked connections (nf_conntrack_max) or of the memory of a control group, its page cache left out; two thirds of the TCP memory (where the kernel
--   begins to save it); 25 % of the orphaned sockets (the kernel counts an orphan up to four times). A warning at 98 % of memory and swap, 95 % of processes and tracked connections, 90 % of open
--   files and TCP memory, 50 % of orphans: the alerts ram_in_use, ram_available, used_swap, system_file_descriptors_utilization, active_processes, netfilter_conntrack_full,
--   cgroup_ram_in_use, tcp_memory and tcp_orphans of netdata. What this costs is not told: until the limit is met it costs nothing
-- means: at the limit something fails at once and for all: fork with EAGAIN, open with ENFILE, new connections are dropped in silence, the OOM killer chooses a process
-- next: perfcase view limit_use: each limit at each snapshot
-- next: perfcase findings: who grows (memory_growth_steady, fd_leak, thread_leak), and whether a call failed already (failing_calls)
-- next: perfcase view kernel_log: what the kernel says at the limit (nf_conntrack: table full, dropping packet; TCP: out of memory)
-- taught by: -
-- source: limit_use
-- evidence: SELECT limited, cgroup, ts_ns, used_value, limit_value, unit, used_ratio FROM limit_use WHERE used_ratio >= 0.25 ORDER BY limited, cgroup, ts_ns
-- judged when: SELECT count(*) > 0 FROM limit_use
-- not judged: what is in use beside its limit. It needs a snapshot of /proc and the settings of the host; perfcase-record takes them by default
WITH threshold AS (
  SELECT limited, note_ratio, warning_ratio
  FROM (VALUES ('memory', 0.9, 0.98), ('swap', 0.9, 0.98), ('open files', 0.9, 0.9), ('processes and threads', 0.9, 0.95), ('tracked connections', 0.9, 0.95),
    ('TCP memory', 2 / 3, 0.9), ('orphaned TCP sockets', 0.25, 0.5), ('tasks of a control group', 0.9, 0.95), ('memory of a control group', 0.9, 0.98)
  ) AS t(limited, note_ratio, warning_ratio)
), most AS (
  SELECT limited, cgroup, max(used_ratio) AS used_ratio, arg_max(used_value, (used_ratio, -ts_ns)) AS used_value, arg_max(limit_value, (used_ratio, -ts_ns)) AS limit_value,
    arg_max(ts_ns, (used_ratio, -ts_ns)) AS ts_ns, any_value(unit) AS unit, any_value(setting) AS setting
  FROM limit_use
  GROUP BY limited, cgroup
)
SELECT
  @severity(false, m.used_ratio >= h.warning_ratio) AS severity,
  CASE WHEN m.cgroup IS NULL THEN m.limited ELSE m.cgroup || ': ' || replace(m.limited, ' of a control group', '') END AS subject,
  format('{:.1f} % was in use at {:.2f} s: {} of {}{}', 100 * m.used_ratio, m.ts_ns / 1e9,
    CASE m.unit WHEN 'bytes' THEN @size(m.used_value) ELSE m.used_value::VARCHAR END,
    CASE m.unit WHEN 'bytes' THEN @size(m.limit_value) WHEN 'pages' THEN m.limit_value || ' pages' ELSE m.limit_value::VARCHAR END,
    CASE WHEN m.setting IS NULL THEN '' ELSE ' (' || m.setting || ')' END) AS message
FROM most AS m
JOIN threshold AS h USING (limited)
WHERE m.used_ratio >= h.note_ratio
