-- garbage_collection: A Java or .NET process spends much of its CPU time on collecting garbage
-- condition: threads that the runtime named for its garbage collector (HotSpot: GC Thread, G1, ParGC, ZWorker, XWorker, Shenandoah; .NET: .NET
--   Server GC, .NET BGC) had a quarter or more of the CPU time of their process, which ran for half a second and a tenth of a CPU or more.
--   Critical from three quarters. HotSpot itself aims at 1 in 100 (GCTimeRatio of its parallel collector, 99) or 1 in 13 (of G1,
--   12), and gives up at 98 % (GC overhead limit exceeded). A runtime that collects in the threads of the program, or whose threads
--   have no names (Go, Node, CPython), says nothing here
-- means: the heap is too small for what the program keeps, or it makes garbage faster than this heap can bear. Collections that stop
--   the program delay every request that is under way; others take the CPUs from it
-- next: perfcase view thread_time: the collector's threads beside those of the program
-- next: perfcase flamegraph: what the other threads do while they allocate
-- next: the runtime's own log of collections (-Xlog:gc); a larger heap (-Xmx, or MaxRAMPercentage in a container), less garbage per request
-- taught by: -
-- source: process, recorded_span, thread, thread_time, workload_thread
-- evidence: SELECT comm, pid, count(*) AS thread_count, sum(on_cpu_ns) AS on_cpu_ns, sum(run_queue_ns) AS run_queue_ns FROM thread_time
--   WHERE pid IN (SELECT pid FROM thread_time WHERE comm SIMILAR TO '(GC Thread|G1 |ParGC|Par GC|ZWorker|XWorker|Shenandoah|[.]NET (Server GC|BGC)).*')
--   GROUP BY ALL ORDER BY on_cpu_ns DESC, comm, pid
WITH threshold AS (
  SELECT 0.25 AS collecting_ratio, 0.75 AS critical_ratio, 500000000 AS run_ns, 0.1 AS cpus
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
)
SELECT
  @severity(x.collecting_ns >= h.critical_ratio * x.run_ns, true) AS severity, format('{} ({})', coalesce(p.name, '?'), p.pid) AS subject,
  format('{} threads of its garbage collector ran for {:.2f} s, {:.1f} % of the {:.2f} s of CPU time of the process; {} ran most', x.thread_count, x.collecting_ns / 1e9,
    100 * x.collecting_ns / x.run_ns, x.run_ns / 1e9, x.comm) AS message,
  @whole(x.collecting_ns) AS cost_ns
FROM total AS x
JOIN process AS p USING (upid)
CROSS JOIN threshold AS h
JOIN recorded_span AS c ON c.table_name = 'thread_state' AND c.duration_ns > 0
WHERE x.run_ns >= h.run_ns AND x.run_ns >= h.cpus * c.duration_ns AND x.collecting_ns >= h.collecting_ratio * x.run_ns
