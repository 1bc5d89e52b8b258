-- allocation_by_stack: which callchains make a process's memory grow: address space that it asked for and gave back, pages that it touched, pages that the kernel gave it
-- grain: a process and a name that it had (if the process is not known, a name of threads), a kind of growth and a callchain
-- source: syscall, sample, perf_event, mm_page_alloc, rss_stat, thread, thread_name, thread_name_span, process_name, stack_folded, page_size, recorder_thread
-- caveat: it has what was recorded: calls by perf record -g -e 'syscalls:sys_enter_brk,syscalls:sys_exit_brk' and their like of mmap, munmap, mremap (or raw_syscalls); faults by perfcase-record --with page-faults, or -e page-faults -c 1; pages by kmem:mm_page_alloc and kmem:rss_stat. The stack is NULL where no callchain was recorded
-- caveat: kinds overlap: memory is first asked for, then touched. Do not add them up
-- caveat: malloc keeps freed memory: shrunk_bytes is only what it gave back to the kernel. madvise(MADV_DONTNEED), which gives pages back and keeps the addresses, is not counted
-- caveat: for brk, growth is known from the second call with a known break: after brk(0), which programs begin with, if returns were recorded (sys_exit_brk)
-- caveat: failed calls are left out; if the return of a call was not recorded, it may have failed, and it counts
-- caveat: a page fault counts as one page, even on a huge page; samples of faults count for their period
-- caveat: rss_stat: newer kernels (since 6.2) count in batches for each CPU and report a change some pages late; changes of another process's memory are left out
-- diff by: process, kind, stack
-- diff sum: grown_bytes, shrunk_bytes, event_count
-- diff weight: 0.6
-- keys: upid, pid
-- column process: its name then; if the process is not known, the threads' name
-- column kind: brk, mmap (anonymous memory), mmap of a file, munmap, mremap; page-faults or what the event is called; mm_page_alloc; rss_stat of anonymous, file or shared pages
-- column stack: the callchain, root first, separated by semicolons; NULL where none was recorded
-- column event_count [count]: calls, faults, allocations or changes
-- column grown_bytes [bytes]: bytes that they added; NULL if that is not known (the page size, the first break)
-- column shrunk_bytes [bytes]: bytes that they took away
-- column grown_ratio [ratio]: grown_bytes as a share of the process's whole growth of this kind
WITH called AS (
  SELECT s.ts_ns, s.exit_ts_ns, t.upid, s.utid, s.stack_id, s.name, s.args, s.ret, p.page_size_bytes AS page_bytes
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  LEFT JOIN page_size AS p ON true
  WHERE s.name IN ('brk', 'mmap', 'mmap2', 'munmap', 'mremap') AND s.args IS NOT NULL AND s.errno IS NULL
), break AS (
  -- brk returns the break as it is then; brk(0) only asks.
  SELECT *, coalesce(ret::HUGEINT, nullif(args[1], 0)::HUGEINT) AS break_at FROM called WHERE name = 'brk'
), moved AS (
  SELECT *,
    break_at - last_value(break_at IGNORE NULLS) OVER (
      -- Threads whose process is not known have a break each: those of strangers have nothing to do with each other.
      PARTITION BY upid, CASE WHEN upid IS NULL THEN utid END ORDER BY ts_ns, utid ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS bytes
  FROM break
), grown AS (
  SELECT ts_ns, NULL::UINTEGER AS name_id, utid, stack_id, 'brk' AS kind, 1 AS events, bytes FROM moved WHERE args[1] <> 0
  UNION ALL
  SELECT ts_ns, NULL, utid, stack_id,
    CASE WHEN name = 'mremap' THEN name WHEN name = 'munmap' THEN name
      -- MAP_ANONYMOUS
      WHEN args[4] & 32 <> 0 THEN 'mmap' ELSE 'mmap of a file' END,
    1,
    CASE name
      WHEN 'munmap' THEN -(args[2]::HUGEINT)
      WHEN 'mremap' THEN args[3]::HUGEINT - args[2]::HUGEINT
      -- The kernel gives whole pages.
      ELSE (args[2]::HUGEINT + greatest(page_bytes, 1) - 1) // greatest(page_bytes, 1) * greatest(page_bytes, 1)
    END
  FROM called
  WHERE name <> 'brk'
  UNION ALL
  SELECT s.ts_ns, s.name_id, s.utid, s.stack_id, v.name, coalesce(s.period, 1), coalesce(s.period, 1)::HUGEINT * p.page_size_bytes
  FROM sample AS s
  JOIN perf_event AS v USING (event_id)
  LEFT JOIN page_size AS p ON true
  WHERE regexp_matches(v.name, '^(page-faults|faults|minor-faults|major-faults|exceptions:page_fault_user)(:|$)')
  UNION ALL
  SELECT a.ts_ns, NULL, a.utid, a.stack_id, 'mm_page_alloc', 1, p.page_size_bytes::HUGEINT << least(a."order", 30)
  FROM mm_page_alloc AS a
  LEFT JOIN page_size AS p ON true
  WHERE a.source_id = (SELECT min(source_id) FROM mm_page_alloc)
  UNION ALL
  SELECT ts_ns, NULL, utid, stack_id, 'rss_stat of ' || CASE member WHEN 0 THEN 'file' WHEN 1 THEN 'anonymous' ELSE 'shared' END || ' pages',
    1, size::HUGEINT - before
  FROM (
    SELECT *, lag(size) OVER (PARTITION BY mm_id, member ORDER BY ts_ns) AS before
    FROM rss_stat
    WHERE source_id = (SELECT min(source_id) FROM rss_stat) AND member IN (0, 1, 3)
  )
  WHERE curr = 1
), total AS (
  -- A sample without a time has its name by its place in the file.
  SELECT t.upid, p.pid, coalesce(CASE WHEN g.ts_ns IS NULL AND t.tid = p.pid THEN u.comm END, p.name, n.comm, u.comm, t.comm) AS process, g.kind, g.stack_id, @total(g.events) AS events,
    sum(CASE WHEN g.bytes > 0 THEN g.bytes WHEN g.bytes <= 0 THEN 0 END) AS grown,
    sum(CASE WHEN g.bytes < 0 THEN -g.bytes WHEN g.bytes >= 0 THEN 0 END) AS shrunk
  FROM grown AS g
  LEFT JOIN thread AS t USING (utid)
  ASOF LEFT JOIN process_name AS p ON p.upid = t.upid AND p.since_ts_ns <= coalesce(g.ts_ns, 9223372036854775807)
  ASOF LEFT JOIN thread_name_span AS n ON n.utid = g.utid AND n.since_ts_ns <= g.ts_ns
  LEFT JOIN thread_name AS u ON u.name_id = g.name_id
  GROUP BY ALL
), folded AS (
  SELECT t.upid, t.pid, t.process, t.kind, f.folded AS stack, @total(t.events) AS events,
    sum(t.grown) AS grown, sum(t.shrunk) AS shrunk
  FROM total AS t
  LEFT JOIN stack_folded AS f USING (stack_id)
  GROUP BY ALL
)
SELECT f.upid, f.pid, f.process, f.kind, f.stack, f.events AS event_count,
  try_cast(f.grown AS BIGINT) AS grown_bytes, try_cast(f.shrunk AS BIGINT) AS shrunk_bytes,
  f.grown / nullif(sum(f.grown) OVER (PARTITION BY f.upid, f.process, f.kind), 0) AS grown_ratio
FROM folded AS f
ORDER BY f.upid IN (SELECT upid FROM recorder_thread WHERE upid IS NOT NULL) IS TRUE, grown_bytes DESC NULLS LAST, shrunk_bytes DESC NULLS LAST, f.upid, f.process, f.kind, f.stack
