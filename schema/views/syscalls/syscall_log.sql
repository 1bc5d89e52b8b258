-- syscall_log: every system call in order, one line each, as strace -f -r -tt -T -yy writes them
-- grain: a system call
-- source: syscall, syscall_definition, syscall_value, descriptor, fd_history, thread, thread_name, capture
-- caveat: what pointers point to is not recorded: paths, buffers and structures are addresses
-- caveat: a descriptor is followed by what it is, if fd_history knows that for this time
-- caveat: a call whose return or entry is not in the capture reads <unfinished ...> or <... resumed>; cut_at says whether the edge of the capture is the reason
-- caveat: lines are in the order of entries; relative_ns counts from the entry on the line before, which may be of another thread
-- caveat: SET VARIABLE syscall_log_limit = 1000 makes the text of the first 1000 lines only, which takes no longer in a large capture; perfcase view sets it where it shows the first lines of all
-- diff no: events; syscall_summary adds them up
-- as in syscall: ts_ns
-- column relative_ns [ns]: time since the line before (strace -r); NULL on the first line
-- column time_of_day: UTC, to the microsecond (strace -tt); NULL where the capture has no anchor to wall time
-- keys: utid, tid, pid
-- column comm: the thread's name when the call ended, else when it began
-- as in syscall: name
-- column text: the call, its arguments and what it returned
-- column duration_ns [ns]: how long it took (strace -T); NULL without both ends
-- as in syscall: ret, errno_name, cut_at
-- column line: all of it in one line of text
WITH form AS (
  -- What the arguments of a call are: their kinds and sets of names by position. What it returns is one more value.
  SELECT *, row_number() OVER (ORDER BY abi, number, test_argument, test_value) AS form_id,
    kinds[1] AS k1, kinds[2] AS k2, kinds[3] AS k3, kinds[4] AS k4, kinds[5] AS k5, kinds[6] AS k6,
    sets[1] AS s1, sets[2] AS s2, sets[3] AS s3, sets[4] AS s4, sets[5] AS s5, sets[6] AS s6,
    list_position(kinds, 'f') AS first_fd, first_fd + list_position(kinds[first_fd + 1:], 'f') AS second_fd,
    split_part(result, ':', 1) AS k0, nullif(split_part(result, ':', 2), '') AS s0
  FROM (
    SELECT *, [item[1] FOR item IN items] AS kinds, [nullif(split_part(item, ':', 3), '') FOR item IN items] AS sets
    FROM (SELECT *, string_split(nullif(arguments, ''), ' ') AS items FROM syscall_definition)
  )
), given AS (
  -- The first rows of all are found without the others: text is made for them only.
  SELECT *, row_number() OVER () AS id
  FROM (
    (FROM syscall ORDER BY ts_ns, utid, exit_ts_ns LIMIT coalesce(getvariable('syscall_log_limit'), 0))
    UNION ALL
    FROM syscall WHERE getvariable('syscall_log_limit') IS NULL
  )
), name AS (
  SELECT utid, max(ts_ns) AS since_ts_ns, arg_max(comm, {ts_ns: ts_ns, name_id: name_id}) AS comm FROM thread_name GROUP BY utid
), call AS (
  SELECT l.id, l.ts_ns, l.exit_ts_ns, l.duration_ns, l.utid, l.abi, l.name, l.args, l.descriptor_id, l.ret, l.errno, l.errno_name,
    l.pairing, l.cut_at, t.upid, t.tid, t.pid, t.pid_text, t.comm AS last_comm, f.form_id IS NULL OR f.arguments IS NULL AS is_unknown,
    f.first_fd, f.second_fd, f.k1, f.k2, f.k3, f.k4, f.k5, f.k6, f.s1, f.s2, f.s3, f.s4, f.s5, f.s6,
    l.args[1] AS b1, l.args[2] AS b2, l.args[3] AS b3, l.args[4] AS b4, l.args[5] AS b5, l.args[6] AS b6,
    CASE WHEN l.ret IS NOT NULL AND l.errno IS NULL THEN f.k0 END AS k0,
    CASE WHEN l.ret IS NOT NULL AND l.errno IS NULL THEN f.s0 END AS s0, l.ret::BIGINT & 4294967295 AS b0
  FROM given AS l
  JOIN (SELECT *, printf('[pid %5d] ', tid) AS pid_text FROM thread) AS t USING (utid)
  LEFT JOIN form AS plain ON plain.abi = l.abi AND plain.number = l.number AND plain.test_argument IS NULL
  LEFT JOIN form AS special ON special.abi = l.abi AND special.number = l.number
    AND l.args[special.test_argument] & special.test_mask = special.test_value
  LEFT JOIN form AS f ON f.form_id = coalesce(special.form_id, plain.form_id)
), looked_up AS (
  SELECT abi, s1 AS set_name, b1 & 4294967295 AS word FROM call WHERE s1 IS NOT NULL
  UNION
  SELECT abi, s2 AS set_name, b2 & 4294967295 AS word FROM call WHERE s2 IS NOT NULL
  UNION
  SELECT abi, s3 AS set_name, b3 & 4294967295 AS word FROM call WHERE s3 IS NOT NULL
  UNION
  SELECT abi, s4 AS set_name, b4 & 4294967295 AS word FROM call WHERE s4 IS NOT NULL
  UNION
  SELECT abi, s5 AS set_name, b5 & 4294967295 AS word FROM call WHERE s5 IS NOT NULL
  UNION
  SELECT abi, s6 AS set_name, b6 & 4294967295 AS word FROM call WHERE s6 IS NOT NULL
  UNION
  SELECT abi, s0, b0 FROM call WHERE s0 IS NOT NULL
), matching AS (
  SELECT w.*, v.name, v.mask, v.position, bit_or(v.mask) OVER (
    PARTITION BY w.abi, w.set_name, w.word ORDER BY v.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM looked_up AS w
  JOIN syscall_value AS v ON v.abi = w.abi AND v.set_name = w.set_name AND w.word & v.mask = v.value
), spelled AS (
  SELECT abi, set_name, word, string_agg(name, '|' ORDER BY position)
    || CASE WHEN word & ~bit_or(mask) > 0 THEN printf('|0x%x', word & ~bit_or(mask)) ELSE '' END AS names
  FROM matching
  WHERE before IS NULL OR before & mask <> mask
  GROUP BY abi, set_name, word
), history AS (
  SELECT upid, fd, label, coalesce(ts_ns, -4611686018427387904) AS from_ts_ns, coalesce(end_ts_ns, 9223372036854775807) AS to_ts_ns
  FROM fd_history
), other AS (
  -- The import says what the first descriptor of a call was. Few calls have another, or return one.
  SELECT u.id, u.is_result, h.label
  FROM (
    SELECT id, upid, ts_ns, TRY_CAST(args[second_fd] & 4294967295 AS INTEGER) AS fd, false AS is_result
    FROM call
    WHERE second_fd IS NOT NULL
    UNION ALL
    SELECT id, upid, exit_ts_ns, TRY_CAST(b0 AS INTEGER), true FROM call WHERE k0 = 'f' AND ret >= 0
  ) AS u
  ASOF JOIN history AS h ON h.upid = u.upid AND h.fd = u.fd AND u.ts_ns >= h.from_ts_ns
  WHERE u.ts_ns < h.to_ts_ns
), earlier AS (
  -- Few calls are of a time when their thread had another name than its last one.
  SELECT c.id, n.comm
  FROM (
    SELECT c.id, c.utid, coalesce(c.exit_ts_ns, c.ts_ns) AS ts_ns
    FROM call AS c
    JOIN name AS m ON m.utid = c.utid AND coalesce(c.exit_ts_ns, c.ts_ns) < m.since_ts_ns
  ) AS c
  ASOF JOIN thread_name AS n ON n.utid = c.utid AND c.ts_ns >= n.ts_ns
), anchor AS (
  SELECT max(start_realtime_ns) AS start_realtime_ns FROM capture
), told AS (
  SELECT c.ts_ns, c.exit_ts_ns, c.utid, c.tid, c.pid, c.pid_text, c.name,
    coalesce(CASE WHEN coalesce(c.exit_ts_ns, c.ts_ns) < m.since_ts_ns THEN g.comm ELSE m.comm END, c.last_comm) AS comm,
    CASE WHEN c.pairing = 'exit_only' THEN '<... ' || c.name || ' resumed>)'
      ELSE c.name || '('
        || CASE WHEN c.is_unknown THEN coalesce(array_to_string(list_transform(c.args, lambda v: '0x' || lower(to_hex(v))), ', '), '')
          ELSE concat_ws(', ',
            @call_argument(c.k1, c.s1, c.b1, w1.names, c.abi, CASE 1 WHEN c.first_fd THEN d.label WHEN c.second_fd THEN e.label END),
            @call_argument(c.k2, c.s2, c.b2, w2.names, c.abi, CASE 2 WHEN c.first_fd THEN d.label WHEN c.second_fd THEN e.label END),
            @call_argument(c.k3, c.s3, c.b3, w3.names, c.abi, CASE 3 WHEN c.first_fd THEN d.label WHEN c.second_fd THEN e.label END),
            @call_argument(c.k4, c.s4, c.b4, w4.names, c.abi, CASE 4 WHEN c.first_fd THEN d.label WHEN c.second_fd THEN e.label END),
            @call_argument(c.k5, c.s5, c.b5, w5.names, c.abi, CASE 5 WHEN c.first_fd THEN d.label WHEN c.second_fd THEN e.label END),
            @call_argument(c.k6, c.s6, c.b6, w6.names, c.abi, CASE 6 WHEN c.first_fd THEN d.label WHEN c.second_fd THEN e.label END)) END
        || CASE WHEN c.pairing = 'strict' OR c.name IN ('exit', 'exit_group') THEN ')' ELSE ' <unfinished ...>' END
    END
    || CASE
      WHEN c.ret IS NULL THEN CASE WHEN c.name IN ('exit', 'exit_group') THEN ' = ?' ELSE '' END
      -- From 512 on errors are the kernel's own: the call will be made again, or the program sees another.
      WHEN c.errno BETWEEN 512 AND 530 THEN ' = ? ' || coalesce(c.errno_name, 'errno ' || c.errno)
      WHEN c.errno IS NOT NULL THEN ' = -1 ' || coalesce(c.errno_name, 'errno ' || c.errno)
      WHEN c.k0 IS NULL THEN ' = ' || c.ret
      WHEN c.k0 = 'p' THEN ' = 0x' || lower(to_hex(c.ret))
      WHEN c.k0 = 'o' THEN CASE WHEN c.b0 < 64 THEN printf(' = %03o', c.b0) ELSE printf(' = 0%o', c.b0) END
      WHEN c.k0 = 'x' AND c.ret = 0 AND w0.names IS NULL THEN ' = 0'
      WHEN c.k0 = 'x' THEN printf(' = 0x%x', c.b0) || coalesce(' (flags ' || w0.names || ')', '')
      ELSE ' = ' || c.ret || coalesce('<' || r.label || '>', '')
    END AS text,
    c.duration_ns, c.ret, c.errno_name, c.cut_at
  FROM call AS c
  LEFT JOIN name AS m USING (utid)
  LEFT JOIN earlier AS g ON g.id = c.id
  LEFT JOIN descriptor AS d USING (descriptor_id)
  LEFT JOIN other AS e ON e.id = c.id AND NOT e.is_result
  LEFT JOIN other AS r ON r.id = c.id AND r.is_result
  LEFT JOIN spelled AS w0 ON w0.abi = c.abi AND w0.set_name = c.s0 AND w0.word = c.b0
  LEFT JOIN spelled AS w1 ON w1.abi = c.abi AND w1.set_name = c.s1 AND w1.word = c.b1 & 4294967295
  LEFT JOIN spelled AS w2 ON w2.abi = c.abi AND w2.set_name = c.s2 AND w2.word = c.b2 & 4294967295
  LEFT JOIN spelled AS w3 ON w3.abi = c.abi AND w3.set_name = c.s3 AND w3.word = c.b3 & 4294967295
  LEFT JOIN spelled AS w4 ON w4.abi = c.abi AND w4.set_name = c.s4 AND w4.word = c.b4 & 4294967295
  LEFT JOIN spelled AS w5 ON w5.abi = c.abi AND w5.set_name = c.s5 AND w5.word = c.b5 & 4294967295
  LEFT JOIN spelled AS w6 ON w6.abi = c.abi AND w6.set_name = c.s6 AND w6.word = c.b6 & 4294967295
)
SELECT
  ts_ns, relative_ns, time_of_day, utid, tid, pid, comm, name, text, duration_ns, ret, errno_name, cut_at,
  pid_text || coalesce(time_of_day || ' ', '') || '(+' || repeat(' ', 13 - length(relative_text)) || relative_text || ') ' || text
    || coalesce(' <' || @seconds(duration_ns) || '>', '') AS line
FROM (
  SELECT t.*, t.ts_ns - lag(t.ts_ns) OVER () AS relative_ns, @seconds(coalesce(relative_ns, 0)) AS relative_text,
    strftime(make_timestamp((n.start_realtime_ns + t.ts_ns) // 1000), '%H:%M:%S.%f') AS time_of_day
  -- Sorted before the rest is made: a sort of whole lines takes as long as to make them.
  FROM (FROM told ORDER BY ts_ns, utid, exit_ts_ns) AS t
  CROSS JOIN anchor AS n
)
