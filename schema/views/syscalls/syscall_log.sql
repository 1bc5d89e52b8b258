-- syscall_log: every system call in order, one line each, as strace -f -r -tt -T writes them
-- grain: a system call
-- source: syscall, syscall_definition, thread, thread_name, capture
-- caveat: what pointers point to is not recorded: paths, buffers and structures are addresses
-- caveat: a call whose return or entry is not in the capture reads <unfinished ...> or <... resumed>; cut_at says whether the capture's edge is why
-- caveat: lines stand in the order of entries; relative_ns counts from the entry on the line before, of whatever thread
-- column ts_ns [ns]: when it was entered; without a known entry, when it returned
-- column relative_ns [ns]: since the line before (strace -r); NULL on the first
-- column time_of_day: UTC, to the microsecond (strace -tt); NULL where the capture has no anchor to wall time
-- column utid: the capture's own key of the thread
-- column tid: thread id, a label
-- column pid: process id, a label
-- column comm: the thread's name when the call ended, else when it began
-- column name: the call
-- column text: the call, its arguments and what it returned
-- column duration_ns [ns]: how long it took (strace -T); NULL without both ends
-- column ret: what it returned; NULL when it did not
-- column errno_name: the error's name; NULL when it succeeded
-- column cut_at: start or end of the capture, where that cuts the call
-- column line: all of it in one line of text
WITH definition AS (
  SELECT abi, number,
    CASE WHEN arguments = '' THEN []::VARCHAR[] ELSE string_split(arguments, ' ') END AS arguments
  FROM syscall_definition
), anchor AS (
  SELECT max(start_realtime_ns) AS start_realtime_ns FROM capture
), call AS (
  SELECT
    s.ts_ns, s.utid, s.name, s.duration_ns, s.ret, s.errno_name, s.cut_at, s.pairing, s.exit_ts_ns,
    coalesce(s.exit_ts_ns, s.ts_ns) AS named_ts_ns,
    array_to_string(
      CASE WHEN d.arguments IS NULL THEN list_transform(s.args, lambda v: '0x' || lower(to_hex(v)))
      ELSE list_transform(d.arguments[1:len(s.args)], lambda a, i:
        substr(a, 3) || ': ' ||
        CASE
          WHEN a[1] = 'p' THEN CASE WHEN s.args[i] = 0 THEN 'NULL' ELSE '0x' || lower(to_hex(s.args[i])) END
          WHEN a[1] = 'x' THEN '0x' || lower(to_hex(s.args[i]))
          WHEN a[1] = 'u' THEN s.args[i]::VARCHAR
          WHEN a[1] = 'l' THEN (s.args[i]::HUGEINT
            - CASE WHEN s.args[i] >= 9223372036854775808 THEN 18446744073709551616 ELSE 0 END)::VARCHAR
          WHEN a[1] = 'f' AND s.args[i] & 4294967295 = 4294967196 THEN 'AT_FDCWD'
          ELSE ((s.args[i] & 4294967295)::BIGINT
            - CASE WHEN s.args[i] & 4294967295 >= 2147483648 THEN 4294967296 ELSE 0 END)::VARCHAR
        END)
      END, ', ') AS arguments,
    CASE
      WHEN s.ret IS NULL THEN NULL
      WHEN s.errno IS NOT NULL THEN '-1 ' || coalesce(s.errno_name, 'errno ' || s.errno)
      WHEN s.name IN ('mmap', 'mmap2', 'brk', 'mremap', 'shmat') THEN '0x' || lower(to_hex(s.ret))
      ELSE s.ret::VARCHAR
    END AS result
  FROM syscall AS s
  LEFT JOIN definition AS d ON d.abi = s.abi AND d.number = s.number
), told AS (
  SELECT
    c.ts_ns, c.ts_ns - lag(c.ts_ns) OVER (ORDER BY c.ts_ns, c.utid, c.exit_ts_ns) AS relative_ns,
    strftime(make_timestamp((a.start_realtime_ns + c.ts_ns) // 1000), '%H:%M:%S.%f') AS time_of_day,
    c.utid, c.named_ts_ns, c.name, c.exit_ts_ns,
    CASE c.pairing
      WHEN 'enter_only' THEN c.name || '(' || c.arguments || ' <unfinished ...>'
      WHEN 'exit_only' THEN '<... ' || c.name || ' resumed>) = ' || c.result
      ELSE c.name || '(' || c.arguments || ') = ' || c.result
    END AS text,
    c.duration_ns, c.ret, c.errno_name, c.cut_at
  FROM call AS c
  CROSS JOIN anchor AS a
)
SELECT
  l.ts_ns, l.relative_ns, l.time_of_day, l.utid, t.tid, t.pid, coalesce(n.comm, t.comm) AS comm, l.name, l.text,
  l.duration_ns, l.ret, l.errno_name, l.cut_at,
  printf('[pid %5d] ', t.tid) || coalesce(l.time_of_day || ' ', '')
    || printf('(+%13.6f) ', coalesce(l.relative_ns, 0) / 1e9) || l.text
    || coalesce(printf(' <%.6f>', l.duration_ns / 1e9), '') AS line
FROM told AS l
ASOF LEFT JOIN thread_name AS n ON n.utid = l.utid AND l.named_ts_ns >= n.ts_ns
JOIN thread AS t ON t.utid = l.utid
ORDER BY l.ts_ns, l.utid, l.exit_ts_ns
