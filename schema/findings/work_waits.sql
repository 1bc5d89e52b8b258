-- work_waits: What the work of the processes waits for most
-- condition: a process, or a server with its workers (service_process), waited half a second or more, and a tenth of the recording or more, while it had work: a request to answer,
--   an answer to come, a command to end. A quarter or more of that was due to one cause, more than to any other, which is found by following each wait to what its waker did meanwhile (blame): the critical
--   path of Perfetto's standard library and the cascaded redistribution of wPerf (OSDI 2018), for all threads. A sleep or an alarm of its own outside of requests and questions does not count. A note, one for each cause, the five that cost most: to wait is what most programs do, and
--   only who knows how fast they should be can say whether it is too much. What no other rule knows is here
-- means: this is where the time of the work went. Nothing says that it is a fault: compare with a capture of a good day (perfcase diff), which leads with what is new
-- next: perfcase view blame_by_comm: all causes, with the call and the other end of each
-- next: perfcase flamegraph --blame: where in the program it waits
-- next: perfcase view critical_path: what one thread waited for, step by step
-- about: what is waited for: the CPUs, a quota, a disk, a peer, what a process waited for in vain; the requests of those who wait, and of those that they asked
-- follows from: answers_wait, calls_time_out, closed_unanswered, connection_queue, connections_not_kept, cpu_quota, cpu_saturation, delayed_ack, disk_neighbour, disk_peaks, disk_queueing, disk_slow,
--   event_loop_computes, gives_up, head_of_line, large_segments_lost, link_shared, listen_overflow, name_search, noisy_neighbour, pages_dropped, pool_full, requests_queue, slow_peer, standing_queue, stopped, waits_above_disk
-- taught by: Identifying an off-CPU bottleneck
-- source: blame, block_device, descriptor, frame_label, process, recorded_span, service_address, service_process, socket_turn, stack, thread, workload_thread
-- evidence: SELECT comm, work, call, cause, on_comm, on_call, on_target, wait_ns, wait_ratio, wait_count, wait_max_ns FROM blame_by_comm
--   ORDER BY wait_ns DESC, comm, work, cause, on_comm, on_target
WITH threshold AS (
  SELECT 500000000 AS wait_ns, 0.1 AS span_ratio, 0.25 AS share_ratio, 5 AS cause_count, 3 AS others_count
), part AS (
  -- Few rows of many: names are then asked of these.
  SELECT b.utid, b.work, b.call, b.descriptor_id, b.cause, b.on_utid, b.on_call, b.on_descriptor_id, b.device, coalesce(k.frame_ids[k.kernel_depth + 1], k.frame_ids[1]) AS frame_id,
    sum(b.duration_ns::HUGEINT) AS wait_ns, max(b.duration_ns) AS longest_ns, sum(b.depth) AS depths, count(*) AS part_count
  FROM blame AS b
  LEFT JOIN stack AS k ON k.stack_id = b.on_stack_id AND b.cause = 'running'
  WHERE b.utid IN (SELECT utid FROM workload_thread) AND (b.work <> 'thread' OR b.cause NOT IN ('cpu_taken', 'cpu_idle', 'quota'))
    -- A program that only sleeps, or is woken by its own alarm, waits for nobody.
    AND NOT (b.work IN ('command', 'thread') AND b.depth = 0 AND (b.cause IN ('sleep', 'alarm') OR b.cause = 'open' AND b.on_call IN ('nanosleep', 'clock_nanosleep')))
  GROUP BY ALL
), place AS (
  SELECT f.upid, f.service_upid, coalesce(p.name, '?') AS name, p.pid FROM service_process AS f JOIN process AS p ON p.upid = f.service_upid
), wait AS (
  -- Processes of one name count together: one is started for each request, or for each client.
  SELECT f.name, f.service_upid AS upid, f.pid, CASE WHEN b.cause = 'running' AND g.name <> f.name THEN 'not_recorded' ELSE b.cause END AS cause, b.cause = 'running' AS is_running, g.name AS on_name, g.service_upid AS on_upid, g.pid AS on_pid, o.comm AS on_comm, b.on_call, b.call, b.frame_id,
    CASE WHEN b.cause = 'disk' THEN coalesce(CASE WHEN d.kind = 'file' THEN d.target END, v.device_name, b.device)
      WHEN b.cause IN ('network', 'timeout', 'sleep', 'no_work', 'open') THEN coalesce(@other_end(d.local, d.peer), d.target) END AS on_target,
    CASE WHEN b.cause = 'disk' THEN coalesce(v.device_name, b.device) WHEN b.cause IN ('network', 'timeout', 'sleep') THEN d.peer END AS on_resource,
    coalesce(@other_end(w.local, w.peer), w.target) AS target, b.wait_ns, b.longest_ns, b.depths, b.part_count
  FROM part AS b
  JOIN thread AS t USING (utid)
  JOIN place AS f ON f.upid = t.upid
  LEFT JOIN thread AS o ON o.utid = b.on_utid
  LEFT JOIN place AS g ON g.upid = o.upid
  LEFT JOIN descriptor AS d ON d.descriptor_id = b.on_descriptor_id
  LEFT JOIN descriptor AS w ON w.descriptor_id = b.descriptor_id
  LEFT JOIN block_device AS v ON v.device = b.device
), total AS (
  SELECT name, sum(wait_ns) AS total_ns, count(DISTINCT upid) AS process_count, min(pid) AS pid, min(upid) AS upid FROM wait GROUP BY name
), cause AS (
  SELECT name, cause, on_name, on_target, mode(on_resource ORDER BY on_resource) AS on_resource, arg_max(on_comm, (comm_ns, on_comm)) AS on_comm, count(DISTINCT on_comm) AS comm_count,
    count(DISTINCT on_upid) AS on_count, min(on_pid) AS on_pid, min(on_upid) AS on_upid, arg_max(on_call, (call_ns, on_call)) FILTER (on_call IS NOT NULL) AS on_call,
    arg_max(call, (own_ns, call)) AS call, arg_max(target, (own_ns, target)) AS target, arg_max(frame_id, (frame_ns, frame_id)) FILTER (frame_id IS NOT NULL) AS frame_id,
    sum(wait_ns) AS wait_ns, coalesce(sum(wait_ns) FILTER (is_running), 0) AS run_ns, max(longest_ns) AS longest_ns, sum(depths) / sum(part_count) AS depth, sum(part_count) AS part_count
  FROM (
    SELECT *, sum(wait_ns) OVER (PARTITION BY name, cause, on_name, on_target, on_comm) AS comm_ns, sum(wait_ns) OVER (PARTITION BY name, cause, on_name, on_target, on_call) AS call_ns,
      sum(wait_ns) OVER (PARTITION BY name, cause, on_name, on_target, call, target) AS own_ns, sum(wait_ns) OVER (PARTITION BY name, cause, on_name, on_target, frame_id) AS frame_ns
    FROM wait
    -- What is not known of another process is at least its: with what this one ran it counts as one cause.
    WHERE cause NOT IN ('interrupt', 'not_followed') AND (cause <> 'not_recorded' OR on_name <> name)
  )
  GROUP BY name, cause, on_name, on_target
), waiter AS (
  SELECT c.*, t.total_ns, t.upid, CASE t.process_count WHEN 1 THEN format('{} ({})', c.name, t.pid) ELSE format('{} processes {}', t.process_count, c.name) END AS shown
  FROM cause AS c
  JOIN total AS t USING (name)
  CROSS JOIN threshold AS h
  JOIN recorded_span AS r ON r.table_name = 'thread_state' AND r.duration_ns > 0
  WHERE c.wait_ns >= greatest(h.wait_ns, h.span_ratio * r.duration_ns) AND c.wait_ns >= h.share_ratio * t.total_ns
  QUALIFY row_number() OVER (PARTITION BY c.name ORDER BY c.wait_ns DESC, c.cause, c.on_name, c.on_target) = 1
), ordered AS (
  -- First the one that is nearest to the cause, of those that wait for much of it.
  SELECT w.*, sum(w.wait_ns) OVER g AS all_ns, row_number() OVER (g ORDER BY 2 * w.wait_ns < x.most_ns, w.depth, w.wait_ns DESC, w.name) AS place
  FROM waiter AS w
  JOIN (SELECT cause, on_name, on_target, max(wait_ns) AS most_ns FROM waiter GROUP BY ALL) AS x
    ON x.cause = w.cause AND x.on_name IS NOT DISTINCT FROM w.on_name AND x.on_target IS NOT DISTINCT FROM w.on_target
  WINDOW g AS (PARTITION BY w.cause, w.on_name, w.on_target)
), told AS (
  SELECT o.*, (
      SELECT string_agg(format('{} for {:.2f} s', e.shown, e.wait_ns / 1e9), ', ' ORDER BY e.place)
      FROM ordered AS e
      CROSS JOIN threshold AS h
      WHERE e.place BETWEEN 2 AND 1 + h.others_count AND e.cause = o.cause AND e.on_name IS NOT DISTINCT FROM o.on_name AND e.on_target IS NOT DISTINCT FROM o.on_target
    ) AS others
  FROM ordered AS o
  CROSS JOIN threshold AS h
  WHERE o.place = 1
  QUALIFY row_number() OVER (ORDER BY o.all_ns DESC, o.name, o.cause, o.on_name, o.on_target) <= h.cause_count
), asked AS (
  -- Where the process in question is asked by the one that waits.
  SELECT g.name, f.name AS on_name, min(a.address) AS address
  FROM (SELECT DISTINCT upid, @plain_address(peer) AS address FROM socket_turn WHERE is_client AND peer IS NOT NULL) AS t
  JOIN place AS g ON g.upid = t.upid
  JOIN service_address AS a ON a.address = t.address
  JOIN place AS f ON f.upid = a.upid
  GROUP BY g.name, f.name
  HAVING count(DISTINCT a.address) = 1
), worded AS (
  SELECT c.*, k.address, CASE WHEN l.unnamed_address IS NULL THEN l.label ELSE l.dso END AS label,
    CASE WHEN c.on_name IS NULL THEN c.on_comm
      WHEN c.on_name = c.name AND c.comm_count = 1 THEN 'its thread ' || c.on_comm
      WHEN c.on_name = c.name THEN format('{} of its threads, {} most', c.comm_count, c.on_comm)
      WHEN c.on_count > 1 THEN format('{} processes {}', c.on_count, c.on_name)
      WHEN c.comm_count = 1 AND c.on_comm <> c.on_name THEN format('the thread {} of {} ({})', c.on_comm, c.on_name, c.on_pid)
      ELSE format('{} ({})', c.on_name, c.on_pid) END AS doer
  FROM told AS c
  LEFT JOIN frame_label AS l ON l.frame_id = c.frame_id
  LEFT JOIN asked AS k ON k.name = c.name AND k.on_name = c.on_name AND c.on_name <> c.name
)
SELECT
  'note' AS severity, c.shown AS subject,
  format('{:.2f} s, {:.1f} % of all that it waited while it had work, were due to {}{}{}; {} {:.1f} ms{}', c.wait_ns / 1e9, 100 * c.wait_ns / c.total_ns,
    CASE WHEN c.cause = 'not_recorded' THEN format('{}, which {}', c.doer, CASE WHEN c.run_ns = c.wait_ns THEN 'ran' || coalesce(format(' (most in {})', c.label), '') WHEN c.run_ns = 0 THEN 'did what was not recorded'
          ELSE format('ran for {:.2f} s of it{}, and did for the rest what was not recorded', c.run_ns / 1e9, coalesce(format(' (most in {})', c.label), '')) END)
        || coalesce(format(' (in {})', c.on_call), '')
      ELSE @due(NULL, c.cause, CASE WHEN c.depth = 0 AND c.cause IN ('network', 'disk', 'timeout') THEN NULL ELSE c.doer END,
        CASE WHEN ends_with(c.on_target, ':*') THEN format('clients at {}', c.on_target) ELSE c.on_target END, c.on_call) END,
    CASE WHEN c.cause <> 'not_recorded' THEN coalesce(format(', most in {}', c.label), '') ELSE '' END,
    CASE WHEN c.address IS NOT NULL THEN format(', asked at {}', c.address) WHEN c.depth > 0 AND c.call IS NOT NULL THEN format('; it waited in {}{}', c.call, coalesce(' on ' || c.target, '')) ELSE '' END,
    CASE c.part_count WHEN 1 THEN 'one wait of' ELSE format('the longest of {} waits took', @whole(c.part_count)) END, c.longest_ns / 1e6, coalesce(format('; this also held up {}', c.others), '')) AS message,
  @whole(c.all_ns) AS cost_ns,
  [CASE c.cause WHEN 'cpu_taken' THEN 'the CPUs' WHEN 'quota' THEN 'quota of process ' || c.on_upid WHEN 'disk' THEN 'disk ' || c.on_resource
    WHEN 'network' THEN 'peer ' || c.on_resource WHEN 'sleep' THEN 'peer ' || c.on_resource WHEN 'timeout' THEN 'timeouts of process ' || c.on_upid END, 'peer ' || c.address, 'requests of ' || c.address] ||
    coalesce((SELECT list('requests of ' || a.address ORDER BY a.address) FROM service_address AS a JOIN service_process AS f USING (upid) WHERE f.service_upid = c.upid), []) AS about
FROM worded AS c
