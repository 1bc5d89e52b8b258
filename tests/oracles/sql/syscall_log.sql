-- What the view syscall_log must hold: each argument is a row of its own, and its text is looked up.
WITH form AS (
  SELECT *, row_number() OVER (ORDER BY abi, number, test_argument, test_value) AS form_id, split_part(result, ':', 1) AS result_kind
  FROM syscall_definition
), slot AS (
  SELECT form_id, i AS position, item[1] AS kind, nullif(split_part(item, ':', 3), '') AS set_name
  FROM (
    SELECT form_id, unnest(string_split(arguments, ' ')) AS item, generate_subscripts(string_split(arguments, ' '), 1) AS i
    FROM form
    WHERE arguments <> ''
  )
), call AS MATERIALIZED (
  SELECT s.*, t.upid, t.tid, t.pid, t.comm AS last_comm, coalesce(special.form_id, plain.form_id) AS form_id,
    row_number() OVER () AS id
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  LEFT JOIN form AS plain ON plain.abi = s.abi AND plain.number = s.number AND plain.test_argument IS NULL
  LEFT JOIN form AS special ON special.abi = s.abi AND special.number = s.number
    AND s.args[special.test_argument] & special.test_mask = special.test_value
), argument AS (
  SELECT c.id, c.abi, c.upid, c.ts_ns, a.position, a.kind, a.set_name, c.args[a.position] AS bits,
    c.args[a.position] & 4294967295 AS word
  FROM call AS c
  JOIN slot AS a ON a.form_id = c.form_id AND a.position <= len(c.args)
  WHERE a.kind <> '-'
), returned AS (
  -- What a call returns is one more of its values, with the position 0.
  SELECT c.id, c.abi, c.upid, c.exit_ts_ns AS ts_ns, 0 AS position, f.result_kind AS kind,
    nullif(split_part(f.result, ':', 2), '') AS set_name, c.ret, c.ret::BIGINT & 4294967295 AS word
  FROM call AS c
  JOIN form AS f USING (form_id)
  WHERE c.ret IS NOT NULL AND c.errno IS NULL AND f.result IS NOT NULL
), looked_up AS (
  SELECT DISTINCT abi, set_name, word FROM (
    SELECT abi, set_name, word FROM argument WHERE set_name IS NOT NULL
    UNION ALL SELECT abi, set_name, word FROM returned WHERE set_name IS NOT NULL)
), matching AS (
  SELECT w.*, v.name, v.mask, v.position, bit_or(v.mask) OVER (
    PARTITION BY w.abi, w.set_name, w.word ORDER BY v.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM looked_up AS w
  JOIN syscall_value AS v ON v.abi = w.abi AND v.set_name = w.set_name AND w.word & v.mask = v.value
), spelled AS (
  SELECT abi, set_name, word, string_agg(name, '|' ORDER BY position) AS names, word & ~bit_or(mask) AS rest
  FROM matching
  WHERE before IS NULL OR before & mask <> mask
  GROUP BY abi, set_name, word
), history AS (
  SELECT upid, fd, label, coalesce(ts_ns, -4611686018427387904) AS from_ts_ns, coalesce(end_ts_ns, 9223372036854775807) AS to_ts_ns
  FROM fd_history
), descriptor AS (
  SELECT u.id, u.position, CASE WHEN u.ts_ns < h.to_ts_ns THEN h.label END AS label
  FROM (
    SELECT id, position, upid, ts_ns, TRY_CAST(word AS INTEGER) AS fd FROM argument WHERE kind = 'f'
    UNION ALL SELECT id, position, upid, ts_ns, TRY_CAST(word AS INTEGER) FROM returned WHERE kind = 'f' AND ret >= 0
  ) AS u
  ASOF JOIN history AS h ON h.upid = u.upid AND h.fd = u.fd AND u.ts_ns >= h.from_ts_ns
), value_text AS (
  SELECT a.id, a.position,
    CASE
      WHEN w.names IS NOT NULL THEN w.names || CASE WHEN w.rest > 0 THEN printf('|0x%x', w.rest) ELSE '' END
      WHEN a.kind = 'p' AND a.bits = 0 THEN 'NULL'
      WHEN a.kind = 'x' AND a.bits = 0 THEN '0'
      WHEN a.set_name IS NOT NULL THEN printf('0x%x', a.word)
      WHEN a.kind IN ('p', 'x') THEN '0x' || lower(to_hex(a.bits))
      WHEN a.kind = 'o' THEN CASE WHEN a.word & 65535 < 64 THEN printf('%03o', a.word & 65535) ELSE printf('0%o', a.word & 65535) END
      WHEN a.kind = 'u' THEN a.bits::VARCHAR
      WHEN a.kind = 'w' THEN a.word::VARCHAR
      WHEN a.kind = 'l' AND a.abi NOT IN ('i386', 'arm', 's390') THEN (a.bits::HUGEINT
        - CASE WHEN a.bits >= 9223372036854775808 THEN 18446744073709551616 ELSE 0 END)::VARCHAR
      WHEN a.kind = 'f' AND a.word = 4294967196 THEN 'AT_FDCWD'
      ELSE (a.word::BIGINT - CASE WHEN a.word >= 2147483648 THEN 4294967296 ELSE 0 END)::VARCHAR
        || coalesce('<' || d.label || '>', '')
    END AS text
  FROM argument AS a
  LEFT JOIN spelled AS w USING (abi, set_name, word)
  LEFT JOIN descriptor AS d USING (id, position)
), arguments AS (
  -- A call has six at most. To put them side by side takes a third of the time of an aggregate that sorts them.
  SELECT id, concat_ws(', ', max(text) FILTER (position = 1), max(text) FILTER (position = 2), max(text) FILTER (position = 3),
    max(text) FILTER (position = 4), max(text) FILTER (position = 5), max(text) FILTER (position = 6)) AS arguments
  FROM value_text
  GROUP BY id
), results AS (
  SELECT r.id,
    CASE
      WHEN r.kind = 'p' THEN '0x' || lower(to_hex(r.ret))
      WHEN r.kind = 'o' THEN CASE WHEN r.word < 64 THEN printf('%03o', r.word) ELSE printf('0%o', r.word) END
      WHEN r.kind = 'x' AND r.ret = 0 AND w.names IS NULL THEN '0'
      WHEN r.kind = 'x' THEN printf('0x%x', r.word)
        || coalesce(' (flags ' || w.names || CASE WHEN w.rest > 0 THEN printf('|0x%x', w.rest) ELSE '' END || ')', '')
      ELSE r.ret::VARCHAR || coalesce('<' || d.label || '>', '')
    END AS result
  FROM returned AS r
  LEFT JOIN spelled AS w USING (abi, set_name, word)
  LEFT JOIN descriptor AS d USING (id, position)
), anchor AS (
  SELECT max(start_realtime_ns) AS start_realtime_ns FROM capture
), told AS (
  SELECT
    c.ts_ns, c.ts_ns - lag(c.ts_ns) OVER (ORDER BY c.ts_ns, c.utid, c.exit_ts_ns) AS relative_ns, c.exit_ts_ns,
    strftime(make_timestamp((n.start_realtime_ns + c.ts_ns) // 1000), '%H:%M:%S.%f') AS time_of_day,
    c.utid, c.tid, c.pid, c.last_comm, coalesce(c.exit_ts_ns, c.ts_ns) AS named_ts_ns, c.name,
    CASE WHEN c.pairing = 'exit_only' THEN '<... ' || c.name || ' resumed>)'
      ELSE c.name || '('
        || CASE WHEN c.form_id IS NULL OR f.arguments IS NULL
          THEN coalesce(array_to_string(list_transform(c.args, lambda v: '0x' || lower(to_hex(v))), ', '), '')
          ELSE coalesce(a.arguments, '') END
        || CASE WHEN c.pairing = 'strict' OR c.name IN ('exit', 'exit_group') THEN ')' ELSE ' <unfinished ...>' END
    END
    || CASE
      WHEN c.ret IS NULL THEN CASE WHEN c.name IN ('exit', 'exit_group') THEN ' = ?' ELSE '' END
      -- From 512 on errors are the kernel's own: the call will be made again, or the program sees another.
      WHEN c.errno BETWEEN 512 AND 530 THEN ' = ? ' || coalesce(c.errno_name, 'errno ' || c.errno)
      WHEN c.errno IS NOT NULL THEN ' = -1 ' || coalesce(c.errno_name, 'errno ' || c.errno)
      ELSE ' = ' || coalesce(r.result, c.ret::VARCHAR)
    END AS text,
    c.duration_ns, c.ret, c.errno_name, c.cut_at
  FROM call AS c
  CROSS JOIN anchor AS n
  LEFT JOIN form AS f USING (form_id)
  LEFT JOIN arguments AS a ON a.id = c.id
  LEFT JOIN results AS r ON r.id = c.id
)
SELECT
  l.ts_ns, l.relative_ns, l.time_of_day, l.utid, l.tid, l.pid, coalesce(n.comm, l.last_comm) AS comm, l.name, l.text,
  l.duration_ns, l.ret, l.errno_name, l.cut_at,
  printf('[pid %5d] ', l.tid) || coalesce(l.time_of_day || ' ', '')
    || printf('(+%13.6f) ', coalesce(l.relative_ns, 0) / 1e9) || l.text
    || coalesce(printf(' <%.6f>', l.duration_ns / 1e9), '') AS line
FROM told AS l
ASOF LEFT JOIN thread_name AS n ON n.utid = l.utid AND l.named_ts_ns >= n.ts_ns
ORDER BY l.ts_ns, l.utid, l.exit_ts_ns
