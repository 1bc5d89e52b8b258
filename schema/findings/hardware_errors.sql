-- hardware_errors: The kernel reports errors of the hardware
-- condition: a message of the kernel's log from the time of the capture says so: of a CPU or of memory (machine checks, [Hardware Error] of the firmware, EDAC, Memory failure), or of storage
--   (I/O error, critical medium or target error, a disk of an array that failed, the counters of btrfs, a file system that is now read-only). Documentation/admin-guide/RAS of the kernel describes
--   the first. A warning: nothing tells what it costs
-- means: a corrected error costs microseconds, many of them cost more, and the next one may not be corrected. A request to a failing disk is tried again for seconds
-- next: perfcase view kernel_log: the messages and what stands around them
-- next: perfcase view disk_utilization: the times of the requests of the disk that it names
-- next: on the host: ras-mc-ctl, smartctl, /proc/mdstat: what they counted before the recording
-- taught by: -
-- source: kernel_log
-- evidence: SELECT ts_ns, level, device, text FROM kernel_log WHERE is_in_capture AND level IN ('emerg', 'alert', 'crit', 'err', 'warn') ORDER BY ts_ns, text
WITH threshold AS (
  SELECT 1 AS message_count
), said AS (
  SELECT ts_ns, text,
    CASE
      WHEN regexp_matches(text, '(?i)\[hardware error\]|hardware error from apei|machine check events logged|\bedac\b.*\b(errors?|ce|ue)\b|\bmemory failure:') THEN 'a CPU or memory'
      WHEN regexp_matches(text, '(?i)i/o error|critical [a-z ]+ error|md/raid.*disk failure|btrfs.*\bbdev\b.*\berrs:|remounting filesystem read-only') THEN 'storage'
    END AS part
  FROM kernel_log
  WHERE is_in_capture
), found AS (
  SELECT part, count(*) AS message_count, min(ts_ns) AS ts_ns, arg_min(text, (ts_ns, text)) AS text
  FROM said
  WHERE part IS NOT NULL
  GROUP BY part
)
SELECT @severity(false, true) AS severity, f.part AS subject,
  format('{} message{} of the kernel, the first at {:.2f} s: {}', f.message_count, CASE f.message_count WHEN 1 THEN '' ELSE 's' END, f.ts_ns / 1e9,
    CASE WHEN length(f.text) > 160 THEN left(f.text, 159) || '…' ELSE f.text END) AS message
FROM found AS f
CROSS JOIN threshold AS h
WHERE f.message_count >= h.message_count
