-- requests_compute: The answers of a service take the time that it computes
-- condition: 20 requests or more took 1 ms or more on average, 60 % or more of it on a CPU in the thread that answered. A note: to compute is
--   what a service is for. The functions with most samples of its threads are named, up to three that have a twentieth or more (the first lines of a flat profile); those of an object
--   that have no names count together; how many of them were in page faults, if a
--   third or more; a system call that they make 100 times or more for each request, and the file that it is most often about
-- means: no wait explains the latency: more CPUs or a faster peer change nothing. Less work does: an index, a cache, a smaller answer, a
--   cheaper algorithm. Compare with a capture of a day on which it was fast
-- next: perfcase view request_summary: what the slowest requests have that the usual ones have not
-- next: perfcase flamegraph: where the time goes; perfcase diff, with a capture of a fast day
-- taught by: -
-- source: descriptor, frame, frame_label, perf_event, process, request_summary, sample, service_address, stack_entry, syscall, thread
-- evidence: SELECT process, local, band, request_count, duration_avg_ns, on_cpu_avg_ns, run_queue_avg_ns FROM request_summary ORDER BY process, local, band
WITH threshold AS (
  SELECT 20 AS request_count, 1000000 AS duration_ns, 0.6 AS cpu_ratio, 10 AS samples, 100 AS calls_each, 0.33 AS fault_ratio, 3 AS shown_count, 0.05 AS shown_ratio
), slow AS (
  SELECT r.*
  FROM request_summary AS r
  CROSS JOIN threshold AS h
  WHERE r.band = 'all' AND r.request_count >= h.request_count AND r.duration_avg_ns >= h.duration_ns AND r.on_cpu_avg_ns >= h.cpu_ratio * r.duration_avg_ns
), faulting AS (
  SELECT DISTINCT e.stack_id
  FROM stack_entry AS e
  JOIN frame AS f USING (frame_id)
  WHERE f.is_kernel AND f.symbol IN ('handle_mm_fault', 'asm_exc_page_fault', 'exc_page_fault', 'do_page_fault', '__do_page_fault', 'page_fault')
), hit AS (
  SELECT p.name AS process, coalesce(CASE WHEN l.unnamed_address IS NULL THEN l.label ELSE 'functions of ' || l.dso || ' without names' END, 'an unknown place') AS symbol, count(*) AS sample_count,
    count(*) FILTER (s.stack_id IN (SELECT stack_id FROM faulting)) AS fault_count
  FROM sample AS s
  JOIN perf_event AS v USING (event_id)
  JOIN thread AS t USING (utid)
  JOIN process AS p USING (upid)
  JOIN stack_entry AS e ON e.stack_id = s.stack_id AND e.position = 0
  JOIN frame_label AS l ON l.frame_id = e.frame_id
  WHERE v.name SIMILAR TO '(cpu-cycles|cycles|cpu-clock|task-clock)([:/].*)?' AND p.name IN (SELECT process FROM slow)
  GROUP BY ALL
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY process ORDER BY sample_count DESC, symbol) AS number, sample_count / sum(sample_count) OVER (PARTITION BY process) AS sample_ratio
  FROM hit
), hot AS (
  SELECT r.process, sum(r.sample_count) AS total, sum(r.fault_count) AS fault_count,
    string_agg(format('{:.1f} % in {}', 100 * r.sample_ratio, r.symbol), ', ' ORDER BY r.number) FILTER (r.number = 1 OR r.number <= h.shown_count AND r.sample_ratio >= h.shown_ratio) AS places
  FROM ranked AS r
  CROSS JOIN threshold AS h
  GROUP BY r.process
), called AS (
  SELECT p.name AS process, s.name, count(*) AS call_count, count(*) FILTER (s.errno IS NOT NULL) AS error_count, @total(s.duration_ns) AS call_ns,
    mode(coalesce(d.peer, d.target) ORDER BY coalesce(d.peer, d.target)) FILTER (NOT starts_with(d.target, 'socket:')) AS target
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  JOIN process AS p USING (upid)
  LEFT JOIN descriptor AS d USING (descriptor_id)
  WHERE p.name IN (SELECT process FROM slow)
  GROUP BY p.name, s.name
  QUALIFY row_number() OVER (PARTITION BY p.name ORDER BY count(*) DESC, s.name) = 1
), place AS (
  -- What a call accepted has no address if no snapshot saw it.
  SELECT p.name AS process, min(a.address) AS address
  FROM service_address AS a
  JOIN process AS p USING (upid)
  GROUP BY p.name
  HAVING count(DISTINCT a.address) = 1
), answered AS (
  SELECT process, sum(request_count) AS request_count FROM slow GROUP BY process
)
SELECT
  'note' AS severity,
  format('{} at {}', coalesce(s.process, '?'), coalesce(s.local, l.address, '?')) AS subject,
  format('{:,} requests took {:.1f} ms on average, {:.1f} % of it on a CPU{}', s.request_count, s.duration_avg_ns / 1e6,
    100 * s.on_cpu_avg_ns / s.duration_avg_ns,
    CASE WHEN t.total >= h.samples THEN format('; the samples of {}: {}', s.process, t.places) ELSE '' END
    || CASE WHEN t.total >= h.samples AND t.fault_count >= h.fault_ratio * t.total THEN format('; {:.1f} % of all are in page faults: it touches memory that the kernel has to provide', 100 * t.fault_count / t.total) ELSE '' END
    || CASE WHEN k.call_count >= h.calls_each * n.request_count THEN format('; it calls {} {:,.0f} times for each{}{}: {:.2f} s in all', k.name, k.call_count / n.request_count,
      coalesce(', most often on ' || k.target, ''),
      CASE WHEN 2 * k.error_count > k.call_count THEN format(', {:.0f} % in vain', 100 * k.error_count / k.call_count) ELSE '' END, k.call_ns / 1e9) ELSE '' END) AS message,
  @whole(s.request_count * s.on_cpu_avg_ns) AS cost_ns
FROM slow AS s
CROSS JOIN threshold AS h
LEFT JOIN hot AS t USING (process)
LEFT JOIN called AS k USING (process)
LEFT JOIN answered AS n USING (process)
LEFT JOIN place AS l USING (process)
