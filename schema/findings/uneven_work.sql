-- uneven_work: One of several equal threads or processes has most of the work, and the others of its kind cannot take any
-- condition: of three or more that are alike (threads of a process with one name but for digits; processes of one name that one of them started), one
--   wanted a CPU for 70 % of the recording or more (where Gregg's USE method begins to look), and the others together wanted at most as much. At any moment two threads or more waited
--   on average until that one had run: the others of its kind, which wait as long as half of the recording each and have work too (a
--   fiftieth of that one's or more each, and they were woken 20 times), or the clients of that process, of which one long request would hold one only. DeRose's imbalance is the share of the time that the others idle:
--   (most - mean) / most × n / (n - 1), which is half or more then. A warning
-- means: more CPUs or workers change nothing: the work is not divided. A step of a parallel job takes as long as its largest part. A
--   worker that has accepted all the connections that clients keep open gets all of their requests
-- next: perfcase view thread_time: how long each of them ran
-- next: perfcase view blame_by_comm: who waits for it
-- next: smaller parts, which idle ones take from a queue; for workers SO_REUSEPORT or a limit of requests for each connection
-- about: the requests at the addresses of the process
-- taught by: -
-- source: blame, process, recorded_span, service_address, service_process, thread, thread_time, workload_thread
-- evidence: SELECT x.comm, x.tid, x.on_cpu_ns, x.run_queue_ns, x.sleep_ns FROM thread_time AS x ORDER BY x.comm, x.active_ns DESC, x.tid
WITH threshold AS (
  SELECT 3 AS member_count, 0.7 AS busy_ratio, 0.5 AS most_ratio, 2 AS waiting_threads, 0.5 AS held_ratio, 0.02 AS least_ratio, 20 AS wait_count
), span AS (
  SELECT duration_ns FROM recorded_span WHERE table_name = 'thread_state' AND duration_ns > 0
), worked AS (
  SELECT t.utid, t.upid, w.comm, sum(t.active_ns) AS active_ns, sum(t.voluntary_count) AS wait_count
  FROM (
    SELECT x.utid, t.upid, x.active_ns + x.open_on_cpu_ns AS active_ns, x.voluntary_count FROM thread_time AS x JOIN thread AS t USING (utid)
  ) AS t
  JOIN workload_thread AS w USING (utid)
  WHERE w.upid IS NOT NULL
  GROUP BY t.utid, t.upid, w.comm
), member AS (
  -- Threads of a process, without its main thread: it gives the others their work.
  SELECT 'threads' AS kind, w.upid AS group_upid, regexp_replace(w.comm, '[-_ #]*[0-9]+', '', 'g') AS name, w.utid AS member, w.utid, w.active_ns, w.wait_count
  FROM worked AS w
  JOIN thread AS t USING (utid)
  WHERE t.tid <> t.pid
  UNION ALL
  SELECT 'processes', f.service_upid, p.name, w.upid, arg_max(w.utid, (w.active_ns, w.utid)), sum(w.active_ns), sum(w.wait_count)
  FROM worked AS w
  JOIN service_process AS f USING (upid)
  JOIN process AS p USING (upid)
  GROUP BY f.service_upid, p.name, w.upid
), ranked AS (
  SELECT *, count(*) OVER g AS member_count, sum(active_ns) OVER g AS all_ns, row_number() OVER (PARTITION BY kind, group_upid, name ORDER BY active_ns DESC, member) AS place
  FROM member
  WINDOW g AS (PARTITION BY kind, group_upid, name)
), most AS (
  SELECT r.*
  FROM ranked AS r
  CROSS JOIN threshold AS h
  CROSS JOIN span AS c
  WHERE r.place = 1 AND r.member_count >= h.member_count AND r.active_ns >= h.busy_ratio * c.duration_ns AND r.active_ns >= h.most_ratio * r.all_ns
), held AS (
  -- Who waited until the thread of the one with the most work had run.
  SELECT m.kind, m.group_upid, m.name, b.utid, t.upid, sum(b.duration_ns) AS wait_ns
  FROM most AS m
  JOIN blame AS b ON b.on_utid = m.utid AND b.cause = 'running' AND b.utid <> m.utid
  JOIN thread AS t ON t.utid = b.utid
  GROUP BY m.kind, m.group_upid, m.name, b.utid, t.upid
), waiting AS (
  SELECT h.kind, h.group_upid, h.name, sum(h.wait_ns) AS wait_ns,
    count(*) FILTER (r.member IS NOT NULL AND h.wait_ns >= l.held_ratio * c.duration_ns AND r.active_ns >= l.least_ratio * m.active_ns AND r.wait_count >= l.wait_count) AS sibling_count,
    coalesce(sum(h.wait_ns) FILTER (r.member IS NULL), 0) AS client_ns, count(*) FILTER (r.member IS NULL) AS client_count
  FROM held AS h
  JOIN most AS m USING (kind, group_upid, name)
  LEFT JOIN ranked AS r ON r.kind = h.kind AND r.group_upid = h.group_upid AND r.name = h.name AND r.member = CASE h.kind WHEN 'threads' THEN h.utid ELSE h.upid END
  CROSS JOIN threshold AS l
  CROSS JOIN span AS c
  GROUP BY h.kind, h.group_upid, h.name
)
SELECT
  'warning' AS severity,
  CASE m.kind WHEN 'threads' THEN format('{} ({})', coalesce(t.comm, '?'), t.tid) ELSE format('{} ({})', p.name, p.pid) END AS subject,
  format('it is one of {} {} that are alike and has {:.1f} % of their work: it wanted a CPU for {:.2f} s of {:.2f} s, the others together for {:.2f} s; {}',
    m.member_count, m.kind, 100 * m.active_ns / m.all_ns, m.active_ns / 1e9, c.duration_ns / 1e9, (m.all_ns - m.active_ns) / 1e9,
    CASE WHEN w.sibling_count = m.member_count - 1 THEN format('the others waited {:.2f} s for it', w.wait_ns / 1e9)
      ELSE format('{} threads of others waited {:.2f} s for it while its {} siblings had nothing to do', w.client_count, w.client_ns / 1e9, m.member_count - 1) END) AS message,
  @whole(w.wait_ns) AS cost_ns,
  coalesce((SELECT list('requests of ' || a.address) FROM service_address AS a JOIN service_process AS f USING (upid) WHERE f.service_upid = m.group_upid AND m.kind = 'processes'), []) AS about
FROM most AS m
JOIN waiting AS w USING (kind, group_upid, name)
JOIN thread AS t ON t.utid = m.utid
LEFT JOIN process AS p ON p.upid = t.upid
CROSS JOIN threshold AS h
CROSS JOIN span AS c
WHERE w.sibling_count = m.member_count - 1 AND w.wait_ns >= h.waiting_threads * c.duration_ns
  OR m.kind = 'processes' AND w.client_ns >= h.waiting_threads * c.duration_ns AND m.group_upid IN (SELECT f.service_upid FROM service_address AS a JOIN service_process AS f USING (upid))
