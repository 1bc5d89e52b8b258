-- garbage_collection: A process spends much of its CPU time on collecting garbage
-- condition: threads that the runtime named for its garbage collector (HotSpot: GC Thread, G1, ParGC, ZWorker, XWorker, Shenandoah; .NET: .NET
--   Server GC, .NET BGC) had a quarter or more of the CPU time of their process, which ran for half a second and a tenth of a CPU or more.
--   Critical from three quarters. HotSpot itself aims at 1 in 100 (GCTimeRatio of its parallel collector, 99) or 1 in 13 (of G1,
--   12), and gives up at 98 % (GC overhead limit exceeded). Where the threads of a runtime
--   have no such names, the samples tell: a quarter or more of 50 or more of the process were in functions of the collector or what they called (V8, Go, CPython,
--   Ruby, PHP, OCaml, Erlang, GHC: the names are those of their sources). Without names of functions these say nothing here
-- means: the heap is too small for what the program keeps, or it makes garbage faster than this heap can bear. Collections that stop
--   the program delay every request that is under way; others take the CPUs from it
-- next: perfcase view thread_time: the collector's threads beside those of the program
-- next: perfcase flamegraph: what the other threads do while they allocate
-- next: the runtime's own log of collections (-Xlog:gc, --trace-gc, GODEBUG=gctrace=1); a larger heap (-Xmx, --max-old-space-size, GOGC, GOMEMLIMIT), less garbage per request
-- about: the CPUs, if it took half of the time that the workload ran
-- taught by: -
-- source: frame, perf_event, process, recorded_span, sample, stack, thread, thread_time, workload_thread
-- evidence: SELECT comm, pid, count(*) AS thread_count, sum(on_cpu_ns) AS on_cpu_ns, sum(run_queue_ns) AS run_queue_ns FROM thread_time
--   WHERE pid IN (SELECT pid FROM thread_time WHERE comm SIMILAR TO '(GC Thread|G1 |ParGC|Par GC|ZWorker|XWorker|Shenandoah|[.]NET (Server GC|BGC)).*')
--   GROUP BY ALL ORDER BY on_cpu_ns DESC, comm, pid
WITH threshold AS (
  SELECT 0.25 AS collecting_ratio, 0.75 AS critical_ratio, 500000000 AS run_ns, 0.1 AS cpus, 50 AS samples, 0.5 AS half
), everything AS (
  SELECT sum(on_cpu_ns) AS run_ns FROM thread_time WHERE utid IN (SELECT utid FROM workload_thread)
), collector AS (
  SELECT w.utid, w.upid
  FROM workload_thread AS w
  WHERE w.upid IS NOT NULL AND w.tid <> w.pid
    AND @collector(w.comm)
), ran AS (
  SELECT t.upid, x.utid, any_value(t.comm) AS comm, sum(x.on_cpu_ns) AS run_ns, bool_or(x.utid IN (SELECT utid FROM collector)) AS is_collector
  FROM thread_time AS x
  JOIN thread AS t USING (utid)
  WHERE t.upid IN (SELECT upid FROM collector)
  GROUP BY t.upid, x.utid
), total AS (
  SELECT upid, sum(run_ns) AS run_ns, coalesce(sum(run_ns) FILTER (is_collector), 0) AS collecting_ns, count(*) FILTER (is_collector) AS thread_count,
    arg_max(comm, (run_ns, comm)) FILTER (is_collector) AS comm
  FROM ran
  GROUP BY upid
), collecting AS (
  SELECT frame_id, symbol
  FROM frame
  WHERE NOT is_kernel AND (symbol SIMILAR TO 'v8::internal::(MarkCompactCollector|ConcurrentMarking|Scavenger|Sweeper|MinorMarkCompactCollector|MinorMarkSweepCollector|Heap::(CollectGarbage|PerformGarbageCollection|Scavenge|MarkCompact)).*'
    OR symbol IN ('runtime.gcBgMarkWorker', 'runtime.gcDrain', 'runtime.gcAssistAlloc', 'runtime.bgsweep', 'gc_collect_main', '_PyGC_Collect', 'gc_marks', 'gc_sweep', 'garbage_collect',
      'zend_gc_collect_cycles', 'caml_major_collection_slice', 'caml_empty_minor_heap', 'erts_garbage_collect', 'GarbageCollect'))
), chain AS (
  -- The innermost of them.
  SELECT k.stack_id, list_filter(k.frame_ids, lambda f: list_contains(n.frame_ids, f))[1] AS frame_id
  FROM stack AS k
  CROSS JOIN (SELECT list(frame_id ORDER BY frame_id) AS frame_ids FROM collecting) AS n
  WHERE list_has_any(k.frame_ids, n.frame_ids)
), sampled AS (
  SELECT w.upid, c.symbol, count(*) AS sample_count
  FROM sample AS s
  JOIN perf_event AS v USING (event_id)
  JOIN workload_thread AS w USING (utid)
  LEFT JOIN chain AS k USING (stack_id)
  LEFT JOIN collecting AS c ON c.frame_id = k.frame_id
  WHERE EXISTS (FROM chain) AND v.name SIMILAR TO '(cpu-cycles|cycles|cpu-clock|task-clock)([:/].*)?' AND w.upid NOT IN (SELECT upid FROM collector)
  GROUP BY w.upid, c.symbol
), of_samples AS (
  SELECT upid, sum(sample_count) AS sample_count, sum(sample_count) FILTER (symbol IS NOT NULL) / sum(sample_count) AS collecting_ratio,
    arg_max(symbol, (sample_count, symbol)) FILTER (symbol IS NOT NULL) AS symbol
  FROM sampled
  GROUP BY upid
), of_functions AS (
  SELECT o.*, r.run_ns
  FROM of_samples AS o
  JOIN (
    SELECT t.upid, sum(x.on_cpu_ns) AS run_ns
    FROM thread_time AS x
    JOIN thread AS t USING (utid)
    WHERE t.upid IN (SELECT upid FROM of_samples WHERE collecting_ratio IS NOT NULL)
    GROUP BY t.upid
  ) AS r USING (upid)
)
SELECT
  @severity(x.collecting_ns >= h.critical_ratio * x.run_ns, true) AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} threads of its garbage collector ran for {:.2f} s, {:.1f} % of the {:.2f} s of CPU time of the process; {} ran most', x.thread_count, x.collecting_ns / 1e9,
    100 * x.collecting_ns / x.run_ns, x.run_ns / 1e9, x.comm) AS message,
  @whole(x.collecting_ns) AS cost_ns, CASE WHEN x.collecting_ns >= h.half * e.run_ns THEN ['the CPUs'] ELSE [] END AS about
FROM total AS x
JOIN process AS p USING (upid)
CROSS JOIN threshold AS h
CROSS JOIN everything AS e
JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
WHERE x.run_ns >= h.run_ns AND x.run_ns >= h.cpus * c.duration_ns AND x.collecting_ns >= h.collecting_ratio * x.run_ns
UNION ALL
SELECT
  @severity(f.collecting_ratio >= h.critical_ratio, true) AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{:.1f} % of the {} samples of its {:.2f} s of CPU time are in its garbage collector, most often in {}', 100 * f.collecting_ratio, f.sample_count, f.run_ns / 1e9, f.symbol) AS message,
  @whole(f.collecting_ratio * f.run_ns) AS cost_ns, CASE WHEN f.collecting_ratio * f.run_ns >= h.half * e.run_ns THEN ['the CPUs'] ELSE [] END AS about
FROM of_functions AS f
JOIN process AS p USING (upid)
CROSS JOIN threshold AS h
CROSS JOIN everything AS e
JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
WHERE f.sample_count >= h.samples AND f.collecting_ratio >= h.collecting_ratio AND f.run_ns >= h.run_ns AND f.run_ns >= h.cpus * c.duration_ns
