-- requests_compute: The answers of a service take the time that it computes
-- condition: 20 requests or more took 1 ms or more on average, 60 % or more of it on a CPU in the thread that answered. A note: to compute is
--   what a service is for. Which function, the samples of its threads say; a system call that they make 100 times or more for each request
--   is said, too
-- means: no wait explains the latency: more CPUs or a faster peer change nothing. Less work does: an index, a cache, a smaller answer, a
--   cheaper algorithm. Compare with a capture of a day on which it was fast
-- next: perfcase view request_summary: what the slowest requests have that the usual ones have not
-- next: perfcase flamegraph: where the time goes; perfcase diff, with a capture of a fast day
-- taught by: -
-- source: perf_event, process, request_summary, sample, service_address, stack_folded, syscall, thread
-- evidence: SELECT process, local, band, request_count, duration_avg_ns, on_cpu_avg_ns, run_queue_avg_ns FROM request_summary ORDER BY process, local, band
WITH threshold AS (
  SELECT 20 AS request_count, 1000000 AS duration_ns, 0.6 AS cpu_ratio, 10 AS samples, 100 AS calls_each
), slow AS (
  SELECT r.*
  FROM request_summary AS r
  CROSS JOIN threshold AS h
  WHERE r.band = 'all' AND r.request_count >= h.request_count AND r.duration_avg_ns >= h.duration_ns AND r.on_cpu_avg_ns >= h.cpu_ratio * r.duration_avg_ns
), hit AS (
  SELECT p.name AS process, f.labels[len(f.labels)] AS symbol, count(*) AS sample_count
  FROM sample AS s
  JOIN perf_event AS v USING (event_id)
  JOIN thread AS t USING (utid)
  JOIN process AS p USING (upid)
  JOIN stack_folded AS f USING (stack_id)
  WHERE v.name SIMILAR TO '(cpu-cycles|cycles|cpu-clock|task-clock)([:/].*)?' AND p.name IN (SELECT process FROM slow)
  GROUP BY ALL
), hot AS (
  SELECT process, arg_max(symbol, (sample_count, symbol)) AS symbol, max(sample_count) AS most, sum(sample_count) AS total
  FROM hit
  GROUP BY process
), called AS (
  SELECT p.name AS process, s.name, count(*) AS call_count, count(*) FILTER (s.errno IS NOT NULL) AS error_count, @total(s.duration_ns) AS call_ns
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  JOIN process AS p USING (upid)
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
    CASE WHEN t.total >= h.samples THEN format('; {} has {:.1f} % of the samples of {}', t.symbol, 100 * t.most / t.total, s.process) ELSE '' END
    || CASE WHEN k.call_count >= h.calls_each * n.request_count THEN format('; it calls {} {:,.0f} times for each{}: {:.2f} s in all', k.name, k.call_count / n.request_count,
      CASE WHEN 2 * k.error_count > k.call_count THEN format(', {:.0f} % in vain', 100 * k.error_count / k.call_count) ELSE '' END, k.call_ns / 1e9) ELSE '' END) AS message,
  @whole(s.request_count * s.on_cpu_avg_ns) AS cost_ns
FROM slow AS s
CROSS JOIN threshold AS h
LEFT JOIN hot AS t USING (process)
LEFT JOIN called AS k USING (process)
LEFT JOIN answered AS n USING (process)
LEFT JOIN place AS l USING (process)
