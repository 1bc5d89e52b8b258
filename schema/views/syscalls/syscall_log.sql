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
), particular AS (
  SELECT abi, number, bool_or(second_fd IS NOT NULL) AS has_second_fd, bool_or(result IS NOT NULL) AS has_result
  FROM form
  GROUP BY abi, number
  HAVING has_second_fd OR has_result
), given AS (
  -- The first rows of all are found without the others: text is made for them only.
  (FROM syscall ORDER BY ts_ns, utid, exit_ts_ns LIMIT greatest(coalesce(getvariable('syscall_log_limit'), 0), 0))
  UNION ALL
  FROM syscall WHERE getvariable('syscall_log_limit') IS NULL
), name AS (
  SELECT utid, max(ts_ns) AS since_ts_ns, arg_max(comm, {ts_ns: ts_ns, name_id: name_id}) AS comm FROM thread_name GROUP BY utid
), earlier AS (
  -- Few calls are of a time when their thread had another name than its last one.
  SELECT c.utid, c.ts_ns, n.comm
  FROM (
    SELECT DISTINCT c.utid, coalesce(c.exit_ts_ns, c.ts_ns) AS ts_ns
    FROM syscall AS c
    JOIN name AS m ON m.utid = c.utid AND coalesce(c.exit_ts_ns, c.ts_ns) < m.since_ts_ns
  ) AS c
  ASOF JOIN thread_name AS n ON n.utid = c.utid AND c.ts_ns >= n.ts_ns
), call AS (
  -- Calls of a thread are alike but for their times and what they return; a particular one has text that follows from these, too.
  SELECT c.ts_ns, c.exit_ts_ns, c.duration_ns, c.ret, c.utid, c.abi, c.number, c.name, c.args, c.descriptor_id, c.errno, c.errno_name,
    c.pairing, c.cut_at, c.ret IS NULL AS is_open,
    CASE WHEN coalesce(c.exit_ts_ns, c.ts_ns) < m.since_ts_ns THEN g.comm ELSE m.comm END AS comm_then,
    CASE WHEN p.has_second_fd THEN c.ts_ns END AS made_ts_ns, CASE WHEN p.has_result THEN c.exit_ts_ns END AS told_ts_ns,
    CASE WHEN p.has_result THEN c.ret END AS told_ret,
    hash(c.utid, c.abi, c.number, c.name, c.args, c.descriptor_id, c.errno, c.errno_name, c.pairing, c.cut_at, is_open, comm_then,
      made_ts_ns, told_ts_ns, told_ret) AS hash
  FROM given AS c
  LEFT JOIN name AS m USING (utid)
  LEFT JOIN earlier AS g ON g.utid = c.utid AND g.ts_ns = coalesce(c.exit_ts_ns, c.ts_ns)
  LEFT JOIN particular AS p ON p.abi = c.abi AND p.number = c.number
), alike AS (
  SELECT k.*, t.upid, t.tid, t.pid, printf('[pid %5d] ', t.tid) AS pid_text, coalesce(k.comm_then, t.comm) AS comm,
    f.form_id IS NULL OR f.arguments IS NULL AS is_unknown,
    f.first_fd, f.second_fd, f.k1, f.k2, f.k3, f.k4, f.k5, f.k6, f.s1, f.s2, f.s3, f.s4, f.s5, f.s6,
    k.args[1] AS b1, k.args[2] AS b2, k.args[3] AS b3, k.args[4] AS b4, k.args[5] AS b5, k.args[6] AS b6,
    CASE WHEN NOT k.is_open AND k.errno IS NULL THEN f.k0 END AS k0,
    CASE WHEN NOT k.is_open AND k.errno IS NULL THEN f.s0 END AS s0, k.told_ret::BIGINT & 4294967295 AS b0, row_number() OVER () AS id
  FROM (SELECT DISTINCT COLUMNS(* EXCLUDE (ts_ns, exit_ts_ns, duration_ns, ret)) FROM call) AS k
  JOIN thread AS t USING (utid)
  LEFT JOIN form AS plain ON plain.abi = k.abi AND plain.number = k.number AND plain.test_argument IS NULL
  LEFT JOIN form AS special ON special.abi = k.abi AND special.number = k.number
    AND k.args[special.test_argument] & special.test_mask = special.test_value
  LEFT JOIN form AS f ON f.form_id = coalesce(special.form_id, plain.form_id)
), looked AS (
  SELECT id, abi, looked.place, looked.set_name, looked.word
  FROM (
    SELECT id, abi, unnest([
      {place: 1, set_name: s1, word: b1 & 4294967295}, {place: 2, set_name: s2, word: b2 & 4294967295},
      {place: 3, set_name: s3, word: b3 & 4294967295}, {place: 4, set_name: s4, word: b4 & 4294967295},
      {place: 5, set_name: s5, word: b5 & 4294967295}, {place: 6, set_name: s6, word: b6 & 4294967295},
      {place: 0, set_name: s0, word: b0}]) AS looked
    FROM alike
  )
  WHERE looked.set_name IS NOT NULL
), matching AS (
  SELECT w.*, v.name, v.mask, v.position, bit_or(v.mask) OVER (
    PARTITION BY w.abi, w.set_name, w.word ORDER BY v.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM (SELECT DISTINCT abi, set_name, word FROM looked) AS w
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
  SELECT u.id, u.place, h.label
  FROM (
    SELECT id, upid, made_ts_ns AS ts_ns, TRY_CAST(args[second_fd] & 4294967295 AS INTEGER) AS fd, 7 AS place
    FROM alike
    WHERE second_fd IS NOT NULL
    UNION ALL
    SELECT id, upid, told_ts_ns, TRY_CAST(b0 AS INTEGER), 8 FROM alike WHERE k0 = 'f' AND told_ret >= 0
  ) AS u
  ASOF JOIN history AS h ON h.upid = u.upid AND h.fd = u.fd AND u.ts_ns >= h.from_ts_ns
  WHERE u.ts_ns < h.to_ts_ns
), said AS (
  -- What each call is told with, in one row: a join for each argument would take DuckDB longer to plan than all others together.
  SELECT id, max(words) FILTER (place = 0) AS w0, max(words) FILTER (place = 1) AS w1, max(words) FILTER (place = 2) AS w2,
    max(words) FILTER (place = 3) AS w3, max(words) FILTER (place = 4) AS w4, max(words) FILTER (place = 5) AS w5,
    max(words) FILTER (place = 6) AS w6, max(words) FILTER (place = 7) AS second_label, max(words) FILTER (place = 8) AS result_label
  FROM (
    SELECT l.id, l.place, w.names AS words FROM looked AS l JOIN spelled AS w USING (abi, set_name, word)
    UNION ALL
    SELECT id, place, label FROM other
  )
  GROUP BY id
), told AS (
  -- A number that the call returned comes behind the text.
  SELECT COLUMNS(c.* EXCLUDE (upid, is_unknown, first_fd, second_fd, k0, k1, k2, k3, k4, k5, k6, s0, s1, s2, s3, s4, s5, s6,
      b0, b1, b2, b3, b4, b5, b6)),
    NOT c.is_open AND c.errno IS NULL AND c.k0 IS NULL AS is_number,
    CASE WHEN c.pairing = 'exit_only' THEN '<... ' || c.name || ' resumed>)'
      ELSE c.name || '('
        || CASE WHEN c.is_unknown THEN coalesce(array_to_string(list_transform(c.args, lambda v: '0x' || lower(to_hex(v))), ', '), '')
          ELSE concat_ws(', ',
            @call_argument(c.k1, c.s1, c.b1, a.w1, c.abi, CASE 1 WHEN c.first_fd THEN d.label WHEN c.second_fd THEN a.second_label END),
            @call_argument(c.k2, c.s2, c.b2, a.w2, c.abi, CASE 2 WHEN c.first_fd THEN d.label WHEN c.second_fd THEN a.second_label END),
            @call_argument(c.k3, c.s3, c.b3, a.w3, c.abi, CASE 3 WHEN c.first_fd THEN d.label WHEN c.second_fd THEN a.second_label END),
            @call_argument(c.k4, c.s4, c.b4, a.w4, c.abi, CASE 4 WHEN c.first_fd THEN d.label WHEN c.second_fd THEN a.second_label END),
            @call_argument(c.k5, c.s5, c.b5, a.w5, c.abi, CASE 5 WHEN c.first_fd THEN d.label WHEN c.second_fd THEN a.second_label END),
            @call_argument(c.k6, c.s6, c.b6, a.w6, c.abi, CASE 6 WHEN c.first_fd THEN d.label WHEN c.second_fd THEN a.second_label END)) END
        || CASE WHEN c.pairing = 'strict' OR c.name IN ('exit', 'exit_group') THEN ')' ELSE ' <unfinished ...>' END
    END
    || CASE
      WHEN c.is_open THEN CASE WHEN c.name IN ('exit', 'exit_group') THEN ' = ?' ELSE '' END
      -- From 512 on errors are the kernel's own: the call will be made again, or the program sees another.
      WHEN c.errno BETWEEN 512 AND 530 THEN ' = ? ' || coalesce(c.errno_name, 'errno ' || c.errno)
      WHEN c.errno IS NOT NULL THEN ' = -1 ' || coalesce(c.errno_name, 'errno ' || c.errno)
      WHEN c.k0 IS NULL THEN ' = '
      WHEN c.k0 = 'p' THEN ' = 0x' || lower(to_hex(c.told_ret))
      WHEN c.k0 = 'o' THEN CASE WHEN c.b0 < 64 THEN printf(' = %03o', c.b0) ELSE printf(' = 0%o', c.b0) END
      WHEN c.k0 = 'x' AND c.told_ret = 0 AND a.w0 IS NULL THEN ' = 0'
      WHEN c.k0 = 'x' THEN printf(' = 0x%x', c.b0) || coalesce(' (flags ' || a.w0 || ')', '')
      ELSE ' = ' || c.told_ret || coalesce('<' || a.result_label || '>', '')
    END AS text
  FROM alike AS c
  LEFT JOIN descriptor AS d USING (descriptor_id)
  LEFT JOIN said AS a ON a.id = c.id
), twin AS (
  -- Calls that are not alike and have the same hash are told apart by all that it is made of.
  SELECT hash FROM told GROUP BY hash HAVING count(*) > 1
), line AS (
  SELECT c.ts_ns, c.exit_ts_ns, c.duration_ns, c.ret, t.utid, t.tid, t.pid, t.pid_text, t.comm, t.name, t.is_number, t.text,
    t.errno_name, t.cut_at
  FROM call AS c
  -- A text is never empty. The condition makes DuckDB expect few of them, and keep these in memory, not the calls.
  JOIN (FROM told WHERE hash NOT IN (FROM twin) AND text <> '') AS t USING (hash)
  UNION ALL
  SELECT c.ts_ns, c.exit_ts_ns, c.duration_ns, c.ret, t.utid, t.tid, t.pid, t.pid_text, t.comm, t.name, t.is_number, t.text,
    t.errno_name, t.cut_at
  FROM (FROM call WHERE hash IN (FROM twin)) AS c
  JOIN told AS t ON t.hash = c.hash AND t.utid = c.utid AND t.number = c.number AND t.name = c.name AND t.pairing = c.pairing
    AND t.is_open = c.is_open
    AND (t.abi, t.args, t.descriptor_id, t.errno, t.errno_name, t.cut_at, t.comm_then, t.made_ts_ns, t.told_ts_ns, t.told_ret)
    IS NOT DISTINCT FROM
    (c.abi, c.args, c.descriptor_id, c.errno, c.errno_name, c.cut_at, c.comm_then, c.made_ts_ns, c.told_ts_ns, c.told_ret)
), anchor AS (
  SELECT max(start_realtime_ns) AS start_realtime_ns FROM capture
)
SELECT
  ts_ns, relative_ns, time_of_day, utid, tid, pid, comm, name, text, duration_ns, ret, errno_name, cut_at,
  pid_text || coalesce(time_of_day || ' ', '') || '(+' || repeat(' ', 13 - length(relative_text)) || relative_text || ') ' || text
    || coalesce(' <' || @seconds(duration_ns) || '>', '') AS line
FROM (
  SELECT t.* REPLACE (CASE WHEN t.is_number THEN t.text || t.ret ELSE t.text END AS text),
    t.ts_ns - lag(t.ts_ns) OVER () AS relative_ns, @seconds(coalesce(relative_ns, 0)) AS relative_text,
    strftime(make_timestamp((n.start_realtime_ns + t.ts_ns) // 1000), '%H:%M:%S.%f') AS time_of_day
  -- Sorted before the rest is made: a sort of whole lines takes as long as to make them.
  FROM (FROM line ORDER BY ts_ns, utid, exit_ts_ns) AS t
  CROSS JOIN anchor AS n
)
