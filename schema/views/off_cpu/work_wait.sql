-- work_wait: what each process with work waited for most, followed to the end, and who else that held up
-- grain: a cause that had a tenth or more of what processes of one name waited while they had work, the three that had most of it; each cause once, where it is nearest
-- source: blame, block_device, descriptor, frame, frame_label, proc_thread, process, service_address, service_process, socket_turn, stack, thread, workload_thread
-- caveat: work is a request to answer, an answer to come, a command to end: as in blame, of which this adds up the rows; the critical path of Perfetto's standard library and the cascaded redistribution of wPerf (OSDI 2018), for all threads
-- caveat: threads of the kernel wait for nobody's work and are left out
-- caveat: processes of one name count together: one is started for each request, or for each client
-- caveat: what is not known of another process counts as its own, with what it ran: it is one cause, and the words say the parts
-- caveat: a sleep or an alarm of its own outside of requests and questions is no wait for anybody; nor is one for a CPU of a thread of which nobody knows whether it had work, where others of this name had some
-- caveat: to wait is what most programs do: nothing says that it is a fault. perfcase diff with a capture of a good day says what is new
-- diff no: blame_by_comm is compared
-- column waiter: the process that waited, or how many of that name
-- column is_asked: whether it waited while it had requests or questions
-- column due: what this was due to, in words: the process, the peer, the file or the function
-- column through: in which call, on what, or at which address it asked for it; where it waited for another end itself, the calls that have a quarter of it or more; else NULL
-- column wait_ns [ns]: time that it waited for this
-- column wait_ratio [ratio]: its share of all that it waited while it had work
-- column wait_count [count]: parts of waits
-- column wait_max_ns [ns]: the longest of them
-- column all_ns [ns]: the time with that of the others
-- column others: which others this held up, and how long: the three that waited most
WITH setting AS (
  SELECT 0.1 AS share_ratio, 3 AS cause_count, 3 AS others_count
), of_kernel AS (
  -- 2097152 is PF_KTHREAD; without /proc, all callchains of a thread of the kernel begin there.
  SELECT utid FROM proc_thread WHERE flags & 2097152 <> 0
  UNION
  SELECT b.utid
  FROM (SELECT DISTINCT utid, stack_id FROM blame WHERE work = 'thread' AND stack_id IS NOT NULL) AS b
  JOIN stack AS k USING (stack_id)
  JOIN frame AS f ON f.frame_id = k.frame_ids[-1]
  GROUP BY b.utid
  HAVING bool_and(coalesce(starts_with(f.symbol, 'ret_from_fork'), false))
), part AS (
  -- Few rows of many: names are then asked of these.
  SELECT b.utid, b.work, b.call, b.descriptor_id, b.cause, b.on_utid, b.on_call, b.on_descriptor_id, b.device, coalesce(k.frame_ids[k.kernel_depth + 1], k.frame_ids[1]) AS frame_id,
    sum(b.duration_ns::HUGEINT) AS wait_ns, max(b.duration_ns) AS longest_ns, sum(b.depth) AS depths, count(*) AS part_count
  FROM blame AS b
  LEFT JOIN stack AS k ON k.stack_id = b.on_stack_id AND b.cause = 'running'
  WHERE b.utid IN (SELECT utid FROM workload_thread) AND b.utid NOT IN (SELECT utid FROM of_kernel)
    AND NOT (b.work IN ('command', 'thread') AND b.depth = 0 AND (b.cause IN ('sleep', 'alarm') OR b.cause = 'open' AND b.on_call IN ('nanosleep', 'clock_nanosleep')))
  GROUP BY ALL
), place AS (
  SELECT f.upid, f.service_upid, coalesce(p.name, '?') AS name, p.pid FROM service_process AS f JOIN process AS p ON p.upid = f.service_upid
), wait AS (
  SELECT f.name, f.service_upid AS upid, f.pid, b.work IN ('request', 'call') AS is_asked, CASE WHEN b.cause = 'running' AND g.name <> f.name THEN 'not_recorded' ELSE b.cause END AS cause, b.cause = 'running' AS is_running,
    g.name AS on_name, g.service_upid AS on_upid, g.pid AS on_pid, o.comm AS on_comm, CASE WHEN o.upid <> t.upid THEN o.pid END AS sibling_pid, b.on_call, b.call, b.frame_id,
    CASE WHEN b.cause = 'disk' AND d.kind = 'file' THEN d.target END AS file, CASE WHEN b.cause = 'disk' THEN coalesce(v.device_name, b.device)
      WHEN b.cause IN ('network', 'timeout', 'sleep', 'no_work', 'open') THEN coalesce(@other_end(d.local, d.peer), regexp_replace(d.target, '^(pipe|socket):\[[0-9]+\]$', 'a \1')) END AS on_target,
    coalesce(@other_end(w.local, w.peer), w.target) AS target, b.wait_ns, b.longest_ns, b.depths, b.part_count
  FROM part AS b
  JOIN thread AS t USING (utid)
  JOIN place AS f ON f.upid = t.upid
  LEFT JOIN thread AS o ON o.utid = b.on_utid
  LEFT JOIN place AS g ON g.upid = o.upid
  LEFT JOIN descriptor AS d ON d.descriptor_id = b.on_descriptor_id
  LEFT JOIN descriptor AS w ON w.descriptor_id = b.descriptor_id
  LEFT JOIN block_device AS v ON v.device = b.device
  -- Waits for a CPU without known work count where no other work of this name is known.
  QUALIFY b.work <> 'thread' OR b.cause NOT IN ('cpu_taken', 'cpu_idle', 'quota') OR NOT bool_or(b.work <> 'thread') OVER (PARTITION BY f.name)
), total AS (
  SELECT name, sum(wait_ns) AS total_ns, count(DISTINCT upid) AS process_count, min(pid) AS pid FROM wait GROUP BY name
), cause AS (
  SELECT name, cause, on_name, on_target, arg_max(on_comm, (comm_ns, on_comm)) AS on_comm, count(DISTINCT on_comm) AS comm_count,
    count(DISTINCT on_upid) AS on_count, min(on_pid) AS on_pid, count(DISTINCT sibling_pid) AS sibling_count, arg_max(sibling_pid, (pid_ns, sibling_pid)) FILTER (sibling_pid IS NOT NULL) AS sibling_pid, coalesce(sum(wait_ns) FILTER (sibling_pid IS NOT NULL), 0) AS sibling_ns, arg_max(on_call, (call_ns, on_call)) FILTER (on_call IS NOT NULL) AS on_call,
    arg_max({call: call, target: target}, (own_ns, call, target)) AS own, string_agg(DISTINCT call, ', ' ORDER BY call) FILTER (4 * in_call_ns >= cause_ns) AS calls,
    arg_max(file, (file_ns, file)) FILTER (file IS NOT NULL) AS file, arg_max(frame_id, (frame_ns, frame_id)) FILTER (frame_id IS NOT NULL) AS frame_id,
    sum(wait_ns) AS wait_ns, coalesce(sum(wait_ns) FILTER (is_running), 0) AS run_ns, max(longest_ns) AS longest_ns, sum(depths) / sum(part_count) AS depth, sum(part_count) AS part_count, bool_or(is_asked) AS is_asked
  FROM (
    SELECT *, sum(wait_ns) OVER (PARTITION BY name, cause, on_name, on_target, on_comm) AS comm_ns, sum(wait_ns) OVER (PARTITION BY name, cause, on_name, on_target, on_call) AS call_ns,
      sum(wait_ns) OVER (PARTITION BY name, cause, on_name, on_target, call, target) AS own_ns, sum(wait_ns) OVER (PARTITION BY name, cause, on_name, on_target, call) AS in_call_ns, sum(wait_ns) OVER (PARTITION BY name, cause, on_name, on_target) AS cause_ns, sum(wait_ns) OVER (PARTITION BY name, cause, on_name, on_target, file) AS file_ns, sum(wait_ns) OVER (PARTITION BY name, cause, on_name, on_target, sibling_pid) AS pid_ns, sum(wait_ns) OVER (PARTITION BY name, cause, on_name, on_target, frame_id) AS frame_ns
    FROM wait
    WHERE cause NOT IN ('interrupt', 'not_followed') AND (cause <> 'not_recorded' OR on_name <> name)
  )
  GROUP BY name, cause, on_name, on_target
), waiter AS (
  SELECT c.*, t.total_ns, CASE t.process_count WHEN 1 THEN format('{} ({})', c.name, t.pid) ELSE format('{} processes {}', t.process_count, c.name) END AS shown
  FROM cause AS c
  JOIN total AS t USING (name)
  CROSS JOIN setting AS h
  WHERE c.wait_ns >= h.share_ratio * t.total_ns
  QUALIFY row_number() OVER (PARTITION BY c.name ORDER BY c.wait_ns DESC, c.cause, c.on_name, c.on_target) <= h.cause_count
), ordered AS (
  -- First the one that is nearest to the cause, of those that wait for it most of the time.
  SELECT w.*, sum(w.wait_ns) OVER g AS all_ns, row_number() OVER (g ORDER BY 2 * w.wait_ns < w.total_ns, w.depth, w.wait_ns DESC, w.name) AS place
  FROM waiter AS w
  WINDOW g AS (PARTITION BY w.cause, w.on_name, w.on_target)
), held_up AS (
  SELECT cause, on_name, on_target, string_agg(format('{} for {:.2f} s', shown, wait_ns / 1e9), ', ' ORDER BY place) FILTER (place BETWEEN 2 AND 1 + others_count) AS others
  FROM ordered
  CROSS JOIN setting
  GROUP BY cause, on_name, on_target
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
  SELECT c.*, k.address, e.others, CASE WHEN l.unnamed_address IS NULL THEN l.label ELSE l.dso END AS label,
    CASE WHEN c.on_name IS NULL THEN c.on_comm
      WHEN c.on_name = c.name AND 2 * c.sibling_ns > c.wait_ns THEN CASE c.sibling_count WHEN 1 THEN format('another one, {} ({})', c.on_comm, c.sibling_pid) ELSE format('{} others of its name ({} most)', c.sibling_count, c.sibling_pid) END
      WHEN c.on_name = c.name AND c.comm_count = 1 THEN CASE c.on_comm WHEN c.name THEN 'a thread of its own' ELSE 'its thread ' || c.on_comm END
      WHEN c.on_name = c.name THEN format('{} of its threads ({} most)', c.comm_count, c.on_comm)
      WHEN c.on_count > 1 THEN format('{} processes {}', c.on_count, c.on_name)
      ELSE @thread_of(CASE c.comm_count WHEN 1 THEN c.on_comm END, c.on_name, c.on_pid) END AS on_shown
  FROM ordered AS c
  JOIN held_up AS e ON e.cause = c.cause AND e.on_name IS NOT DISTINCT FROM c.on_name AND e.on_target IS NOT DISTINCT FROM c.on_target
  LEFT JOIN frame_label AS l ON l.frame_id = c.frame_id
  LEFT JOIN asked AS k ON k.name = c.name AND k.on_name = c.on_name AND c.on_name <> c.name
  WHERE c.place = 1
)
SELECT shown AS waiter, is_asked,
  CASE WHEN cause = 'not_recorded' THEN format('{}, which {}', on_shown, CASE WHEN run_ns = wait_ns THEN 'ran' || coalesce(format(' (most in {})', label), '') WHEN run_ns = 0 THEN 'did what was not recorded'
        ELSE format('ran for {:.2f} s{}, and did what was not recorded', run_ns / 1e9, coalesce(format(' (most in {})', label), '')) END)
      || coalesce(format(' (in {})', on_call), '')
    ELSE @due(NULL, cause, CASE WHEN depth = 0 AND cause IN ('network', 'disk', 'timeout', 'open') THEN NULL ELSE on_shown END,
      CASE WHEN on_target LIKE '%:*' THEN format('clients at {}', on_target) ELSE on_target END, on_call) || CASE cause WHEN 'running' THEN coalesce(format(', most in {}', label), '') WHEN 'disk' THEN coalesce(', most of it for ' || file, '') ELSE '' END END AS due,
  CASE WHEN address IS NOT NULL THEN 'asked at ' || address WHEN depth > 0 AND own.call IS NOT NULL THEN format('{}{}', own.call, coalesce(' on ' || own.target, '')) WHEN cause = 'network' THEN calls END AS through,
  @whole(wait_ns) AS wait_ns, @ratio(wait_ns, total_ns) AS wait_ratio, @whole(part_count) AS wait_count, longest_ns AS wait_max_ns, @whole(all_ns) AS all_ns, others
FROM worded
ORDER BY is_asked DESC, all_ns DESC, waiter, due
