-- slow_stage: A pipeline is as fast as its slowest program: the one before it waits until there is room in the pipe
-- condition: threads of a process waited in writes to a pipe (write, writev, splice, tee, vmsplice; pipe(7): a write blocks while the pipe is full) for a fifth of the recording and
--   half a second or more, more than half of it because one thread of another process ran, or could run, and this one wanted a CPU for 70 % of that time or more
--   (where Gregg's USE method begins to look). A note: a pipeline always has a slowest program, and to compute may be what it is for
--   If half of its calls or more are of one name, 10,000 a second or more of the time that it wanted a CPU, it says which call that is and how many bytes each moved (Gregg, "Systems Performance", 2nd edition, 8.3.3:
--   the size of I/O; POSIX lets the shell's read take no byte beyond the line, so on a pipe it takes one byte with each call)
-- means: what comes before it and behind it waits for this one, however many CPUs idle
-- next: perfcase view blame_by_comm: who waits for it, with the function in which it ran
-- next: perfcase flamegraph: what it computes
-- next: where it moves few bytes with each call: larger buffers, or another program for this (awk in place of a loop of the shell)
-- next: do less there (gzip -1, zstd), use threads there (pigz, zstd -T0, sort --parallel), or run several pipelines at once
-- taught by: -
-- source: blame, descriptor, process, recorded_span, syscall, thread, thread_time, workload_thread
-- evidence: SELECT comm, call, cause, on_comm, on_target, wait_ns, wait_ratio, wait_max_ns, on_function FROM blame_by_comm
--   WHERE call IN ('write', 'writev', 'read', 'splice') ORDER BY wait_ns DESC, comm, cause, on_comm, on_target
WITH threshold AS (
  SELECT 0.2 AS wait_ratio, 500000000 AS wait_ns, 0.5 AS most_ratio, 0.7 AS busy_ratio, 0.5 AS call_ratio, 10000 AS call_rate
), waited AS (
  SELECT t.upid, b.on_utid, b.cause IN ('running', 'cpu_taken') AND o.upid <> t.upid AS is_stage, sum(b.duration_ns) AS wait_ns
  FROM blame AS b
  JOIN descriptor AS d USING (descriptor_id)
  JOIN thread AS t USING (utid)
  LEFT JOIN thread AS o ON o.utid = b.on_utid
  WHERE b.call IN ('write', 'writev', 'splice', 'tee', 'vmsplice') AND d.kind = 'pipe' AND b.utid IN (SELECT utid FROM workload_thread)
  GROUP BY ALL
), total AS (
  SELECT upid, sum(wait_ns) AS wait_ns, arg_max(on_utid, (wait_ns, -on_utid::BIGINT)) FILTER (is_stage) AS on_utid, max(wait_ns) FILTER (is_stage) AS stage_ns
  FROM waited
  GROUP BY upid
), active AS (
  SELECT utid, sum(active_ns + open_on_cpu_ns) AS active_ns FROM thread_time GROUP BY utid
), called AS (
  -- What it asks the kernel for most often.
  SELECT utid, name, count(*) AS call_count, sum(count(*)) OVER (PARTITION BY utid) AS all_count,
    sum(ret) FILTER (ret > 0 AND name IN ('read', 'readv', 'pread64', 'recvfrom', 'write', 'writev', 'pwrite64', 'sendto', 'splice', 'tee')) AS moved_bytes
  FROM syscall
  WHERE utid IN (SELECT on_utid FROM total)
  GROUP BY utid, name
  QUALIFY row_number() OVER (PARTITION BY utid ORDER BY count(*) DESC, name) = 1
), reader AS (
  -- Who waits behind it.
  SELECT b.on_utid, arg_max(t.upid, (b.duration_ns, t.upid)) AS upid
  FROM blame AS b
  JOIN descriptor AS d USING (descriptor_id)
  JOIN thread AS t USING (utid)
  JOIN thread AS o ON o.utid = b.on_utid
  WHERE b.call IN ('read', 'readv', 'splice') AND d.kind = 'pipe' AND b.cause = 'running' AND o.upid <> t.upid
  GROUP BY b.on_utid
)
SELECT
  'note' AS severity, format('{} ({})', coalesce(q.name, o.comm), o.tid) AS subject,
  format('{} ({}) waited {:.2f} s, {:.1f} % of the recording, until it made room in the pipe: it wanted a CPU for {:.2f} s{}{}', coalesce(p.name, '?'), p.pid,
    x.stage_ns / 1e9, 100 * x.stage_ns / c.duration_ns, a.active_ns / 1e9,
    CASE WHEN k.call_count >= h.call_ratio * k.all_count AND k.call_count * 1e9 >= h.call_rate * a.active_ns THEN format(' and called {} {:,} times{}', k.name, k.call_count,
      CASE WHEN k.moved_bytes IS NULL THEN '' ELSE format(', {:.1f} bytes each', k.moved_bytes / k.call_count) END) ELSE '' END,
    CASE WHEN e.upid IS NULL OR e.upid = x.upid THEN '' ELSE format('; {} ({}) reads what it makes, and waited for it, too', f.name, f.pid) END) AS message,
  @whole(x.stage_ns) AS cost_ns
FROM total AS x
JOIN thread AS o ON o.utid = x.on_utid
JOIN active AS a ON a.utid = x.on_utid
LEFT JOIN process AS p ON p.upid = x.upid
LEFT JOIN process AS q ON q.upid = o.upid
LEFT JOIN called AS k ON k.utid = x.on_utid
LEFT JOIN reader AS e ON e.on_utid = x.on_utid
LEFT JOIN process AS f ON f.upid = e.upid
CROSS JOIN threshold AS h
JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
WHERE x.wait_ns >= greatest(h.wait_ns, h.wait_ratio * c.duration_ns) AND x.stage_ns > h.most_ratio * x.wait_ns AND a.active_ns >= h.busy_ratio * x.stage_ns
