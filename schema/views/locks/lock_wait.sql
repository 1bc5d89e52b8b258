-- lock_wait: which locks threads waited for, where, how long, who held them and who ended the waits
-- grain: a lock (a futex of a process, or a kernel lock), a name of the process, a name of waiting threads, their callchain, a holder's and a waker's name
-- source: lock_wait_event, thread, thread_name, process_name, stack_folded, recorder_thread
-- caveat: an idle worker waits for a futex, too (a condition variable): a lock was contended only where there is a holder
-- caveat: lock_wait_event has each wait, and says how the holder is known and when it cannot be known
-- caveat: calls that did not wait, because the word had changed, are in changed_count only
-- caveat: kernel locks need lock:contention_begin and contention_end (perfcase record --with locks, Linux 5.19 and later)
-- diff by: kind, lock_type, process, comm, holder_comm
-- diff sum: wait_total_ns, wait_count, timeout_count
-- diff mean: wait_avg_ns by wait_count
-- diff max: wait_max_ns
-- diff weight: 0.9
-- as in lock_wait_event: kind
-- column lock: the address in hex
-- as in lock_wait_event: lock_type
-- keys: upid, pid
-- column process: its name when the waits began
-- keys: comm
-- column stack: where they waited, root first, frames separated by semicolons
-- column holder_comm: name of the threads that held the lock, if it can be known
-- as in lock_wait_event: holder_how
-- column waker_comm: name of the threads that ended the waits, if the capture says
-- column wait_count [count]: waits that ended in the capture
-- column wait_total_ns [ns]: time of these waits
-- column wait_avg_ns [ns]: mean time of a wait
-- column wait_max_ns [ns]: the longest wait
-- column wait_max_ts_ns [ns]: when the longest wait began
-- column timeout_count [count]: waits that ended by a timeout
-- column changed_count [count]: calls that did not wait because the word had changed
-- column open_count [count]: waits that the end of the capture cut
-- column open_ns [ns]: time of these waits until the end of the capture
-- as in lock_wait_event: lock_address
-- keys: stack_id
WITH wait AS (
  SELECT
    w.kind, w.lock_address, w.lock_type, w.upid, p.pid, p.name AS process, coalesce(tn.comm, t.comm) AS comm, w.stack_id, coalesce(hn.comm, h.comm) AS holder_comm, w.holder_how,
    coalesce(kn.comm, k.comm) AS waker_comm,
    count(*) FILTER (w.result NOT IN ('open', 'changed')) AS wait_count,
    @total_or_zero(w.duration_ns, w.result NOT IN ('open', 'changed')) AS wait_total_ns,
    avg(w.duration_ns) FILTER (w.result NOT IN ('open', 'changed')) AS wait_avg_ns,
    max(w.duration_ns) FILTER (w.result NOT IN ('open', 'changed')) AS wait_max_ns,
    arg_max(w.ts_ns, (w.duration_ns, -w.ts_ns)) FILTER (w.result NOT IN ('open', 'changed')) AS wait_max_ts_ns,
    count(*) FILTER (w.result = 'timeout') AS timeout_count,
    count(*) FILTER (w.result = 'changed') AS changed_count,
    count(*) FILTER (w.result = 'open') AS open_count,
    @total_or_zero(w.duration_ns, w.result = 'open') AS open_ns
  FROM lock_wait_event AS w
  LEFT JOIN thread AS t ON t.utid = w.utid
  LEFT JOIN thread AS h ON h.utid = w.holder_utid
  LEFT JOIN thread AS k ON k.utid = w.waker_utid
  ASOF LEFT JOIN thread_name AS tn ON tn.utid = w.utid AND tn.ts_ns <= w.ts_ns
  ASOF LEFT JOIN thread_name AS hn ON hn.utid = w.holder_utid AND hn.ts_ns <= w.ts_ns
  ASOF LEFT JOIN thread_name AS kn ON kn.utid = w.waker_utid AND kn.ts_ns <= w.ts_ns
  ASOF LEFT JOIN process_name AS p ON p.upid = w.upid AND p.since_ts_ns <= w.ts_ns
  GROUP BY ALL
)
SELECT
  w.kind, format('0x{:x}', w.lock_address) AS lock, w.lock_type, w.upid, w.pid, w.process, w.comm,
  f.folded AS stack, w.holder_comm, w.holder_how, w.waker_comm,
  w.wait_count, w.wait_total_ns, w.wait_avg_ns, w.wait_max_ns, w.wait_max_ts_ns, w.timeout_count, w.changed_count, w.open_count, w.open_ns,
  w.lock_address, w.stack_id
FROM wait AS w
LEFT JOIN stack_folded AS f USING (stack_id)
ORDER BY w.upid IN (SELECT upid FROM recorder_thread WHERE upid IS NOT NULL) IS TRUE, w.wait_total_ns DESC, w.kind, w.upid, w.lock_address, w.lock_type, w.process, w.comm, w.stack_id, w.holder_comm, w.holder_how, w.waker_comm
