-- crashes: A process crashes: a fault in its own code ends it
-- condition: the kernel's log has a message of it from the time of the capture, of a process that was recorded: "segfault at" (a memory access that
--   failed: SIGSEGV) or "traps: … general protection" (SIGSEGV), "trap invalid opcode" (SIGILL), "trap divide error" (SIGFPE), as x86 writes them (arch/x86/mm/fault.c, show_signal_msg; arch/x86/kernel/traps.c,
--   show_signal), or "unhandled exception" of arm64 (arch/arm64/kernel/traps.c, arm64_show_signal: only with debug.exception-trace, which is off by default). The kernel writes them for signals
--   that the program has no handler for, and some ten in five seconds at most (printk_ratelimit; it says later how many it left out). The bits of the error say what the access was (arch/x86/include/asm/trap_pf.h). Processes of one service are
--   counted together. Critical if one of them had a request under way
-- means: the process is gone, with the requests that it had under way: their clients see a closed connection. A master (gunicorn, PHP-FPM, nginx, PostgreSQL) starts another one, so that
--   nothing but the kernel's log tells. It is a defect of the program, or of a library or an extension in C that it calls; an address near 0 is a null pointer
-- next: perfcase view kernel_log: all such messages, with the address of the code
-- next: on the host: coredumpctl info, or a core file in gdb: bt; python3 -X faulthandler for Python
-- about: the requests at the addresses of the process
-- taught by: -
-- source: kernel_log, process, request, service_address, service_process
-- evidence: SELECT ts_ns, level, text FROM kernel_log WHERE is_in_capture AND (text LIKE '%: segfault at %' OR text LIKE 'traps: %' OR text LIKE '%: unhandled exception: %') ORDER BY ts_ns, text
WITH threshold AS (
  SELECT 1 AS crash_count, 4096 AS null_bytes, 100000000 AS late_ns
), said AS (
  SELECT ts_ns, regexp_extract(text, '^(?:traps: )?(.*)\[([0-9]+)\]:? (?:segfault at|general protection|trap |unhandled exception)', 1) AS name,
    regexp_extract(text, '^(?:traps: )?.*\[([0-9]+)\]:? (?:segfault at|general protection|trap |unhandled exception)', 1)::INTEGER AS pid,
    CASE
      WHEN contains(text, ': segfault at ') THEN 'SIGSEGV'
      WHEN contains(text, '] general protection') THEN 'SIGSEGV'
      WHEN contains(text, '] trap invalid opcode') THEN 'SIGILL'
      WHEN contains(text, '] trap divide error') THEN 'SIGFPE'
    END AS signal,
    nullif(regexp_extract(text, ': segfault at ([0-9a-f]+) ', 1), '') AS address,
    TRY_CAST(('0x' || nullif(regexp_extract(text, ': segfault at .* error ([0-9a-f]+)', 1), '')) AS BIGINT) AS error,
    nullif(regexp_extract(text, ' in ([^ \[]+)\[', 1), '') AS file
  FROM kernel_log
  WHERE is_in_capture AND regexp_matches(text, '^(traps: )?.*\[[0-9]+\]:? (segfault at [0-9a-f]+ ip|general protection|trap (invalid opcode|divide error)|unhandled exception: )')
), crashed AS (
  SELECT s.*, p.upid, coalesce(g.service_upid, p.upid) AS service_upid
  FROM said AS s
  CROSS JOIN threshold AS h
  -- A recording of some processes has the whole log of the kernel: what else crashed on the host is not its matter.
  JOIN process AS p ON p.pid = s.pid AND coalesce(p.start_ts_ns <= s.ts_ns + h.late_ns, true) AND coalesce(p.end_ts_ns >= s.ts_ns - h.late_ns, true)
  LEFT JOIN service_process AS g ON g.upid = p.upid
), cut AS (
  SELECT c.upid, count(*) AS request_count
  FROM crashed AS c
  JOIN process AS p USING (upid)
  JOIN request AS r ON r.upid = c.upid AND r.end_ts_ns IS NULL AND r.ts_ns <= p.end_ts_ns
  GROUP BY c.upid
), total AS (
  SELECT c.service_upid, any_value(c.name) AS name, min(c.pid) AS pid, count(*) AS crash_count, count(DISTINCT c.pid) AS process_count, min(c.ts_ns) AS first_ns,
    mode(c.signal ORDER BY c.signal) AS signal, mode(c.file ORDER BY c.file) AS file, mode(c.address ORDER BY c.address) AS address, mode(c.error ORDER BY c.error) AS error, sum(r.request_count) AS request_count
  FROM crashed AS c
  LEFT JOIN cut AS r USING (upid)
  GROUP BY c.service_upid
), left_out AS (
  -- What the kernel says of its own limit names no process, and may be of the time before the capture.
  SELECT sum(TRY_CAST(regexp_extract(text, ': ([0-9]+) callbacks suppressed$', 1) AS BIGINT)) AS line_count
  FROM kernel_log
  WHERE is_in_capture AND regexp_matches(text, '^(show_signal_msg|show_signal|arm64_show_signal): [0-9]+ callbacks suppressed$')
), answered AS (
  SELECT g.service_upid, count(*) FILTER (r.end_ts_ns IS NOT NULL) AS request_count
  FROM request AS r
  JOIN service_process AS g USING (upid)
  WHERE g.service_upid IN (SELECT service_upid FROM total)
  GROUP BY g.service_upid
)
SELECT
  @severity(x.request_count > 0, true) AS severity,
  format('{} ({})', coalesce(p.name, x.name), p.pid) AS subject,
  format('{}: {}{}{}, the first at {:.2f} s{}', CASE x.process_count WHEN 1 THEN CASE WHEN p.pid <> x.pid THEN 'one of its processes crashed' ELSE 'it crashed' END ELSE format('{} of its processes crashed', x.process_count) END,
    coalesce(x.signal, 'an exception that it does not handle'),
    CASE WHEN x.error IS NULL THEN '' ELSE format(', it {} address 0x{}{}', CASE WHEN x.error & 16 > 0 THEN 'went on at' WHEN x.error & 2 > 0 THEN 'wrote to' ELSE 'read from' END, x.address,
      CASE WHEN TRY_CAST('0x' || x.address AS HUGEINT) < h.null_bytes THEN ' (a null pointer)' ELSE '' END) END,
    coalesce(' in ' || x.file, ''), x.first_ns / 1e9,
    CASE WHEN x.request_count > 0 THEN format('; {} request{} under way ended without an answer', x.request_count, CASE x.request_count WHEN 1 THEN '' ELSE 's' END) ELSE '' END ||
      coalesce(format('; the kernel left out {:,} more such lines, of any process: it writes ten in five seconds', nullif(o.line_count, 0)), '')) AS message,
  CASE WHEN x.request_count > 0 THEN x.request_count / (x.request_count + coalesce(a.request_count, 0)) END::DOUBLE AS failed_ratio,
  coalesce((SELECT list('peer ' || s.address ORDER BY s.address) FROM service_address AS s JOIN service_process AS g USING (upid) WHERE g.service_upid = x.service_upid), []) AS about
FROM total AS x
CROSS JOIN threshold AS h
CROSS JOIN left_out AS o
JOIN process AS p ON p.upid = x.service_upid
LEFT JOIN answered AS a ON a.service_upid = x.service_upid
WHERE x.crash_count >= h.crash_count
