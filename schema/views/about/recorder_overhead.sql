-- recorder_overhead: what the recording itself cost the host
-- grain: a process of the recorder, or a phase of the recorder's own work
-- source: recorder_process, capture
-- caveat: the kernel writes each event in the thread that caused it: this time is counted as the thread's own, and cannot be separated from its work
-- caveat: writing the archive, after the figures are in it, is not counted: some 20 ms
-- diff by: process, phase
-- diff sum: cpu_ns, read_bytes, write_bytes, output_bytes
-- diff weight: 0.1
-- as in recorder_process: process, pid, phase
-- column cpu_ns [ns]: CPU time, user and kernel together
-- column cpu_ratio [ratio]: cpu_ns as a share of one CPU over the capture; NULL for work before or after the capture
-- as in recorder_process: user_ns, system_ns, resident_max_bytes, read_bytes, write_bytes, output_bytes, event_count
SELECT
  p.process, p.pid, p.phase,
  p.user_ns + p.system_ns AS cpu_ns,
  CASE WHEN coalesce(p.phase, 'recording') = 'recording' THEN (p.user_ns + p.system_ns) / nullif(c.duration_ns, 0) END AS cpu_ratio,
  p.user_ns, p.system_ns, p.resident_max_bytes, p.read_bytes, p.write_bytes, p.output_bytes, p.event_count
FROM recorder_process AS p
CROSS JOIN capture AS c
ORDER BY cpu_ns DESC, p.process, p.pid
