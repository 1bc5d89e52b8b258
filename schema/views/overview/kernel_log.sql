-- kernel_log: the kernel's log, as dmesg prints it
-- grain: a message
-- source: kernel_message, capture
-- caveat: the kernel stamps messages by its own clock, which may differ from the capture's by some milliseconds a day
-- caveat: in a recording of a command, processes or a control group only the kernel's own messages are kept; audit records with arguments of programs never are
-- diff no: texts, no figures
-- as in kernel_message: ts_ns, uptime_ns
-- column realtime_ns [ns]: wall time, ns since 1970-01-01 UTC
-- as in kernel_message: level, facility, device, text
-- column is_in_capture: whether it was logged while the capture was recorded
SELECT
  m.ts_ns, m.uptime_ns, c.start_realtime_ns + m.ts_ns AS realtime_ns, m.level, m.facility, m.device, m.text,
  m.ts_ns BETWEEN 0 AND c.duration_ns AS is_in_capture
FROM kernel_message AS m
LEFT JOIN capture AS c ON true
ORDER BY m.sequence
