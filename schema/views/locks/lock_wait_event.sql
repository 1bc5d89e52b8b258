-- lock_wait_event: each wait for a futex and for a contended lock of the kernel, with who ended it and who held the lock where that can be known
-- grain: a wait
-- source: syscall, thread, followed_state, contention_begin, contention_end, capture
-- caveat: a futex is any word that threads wait on: a mutex, a condition variable, a thread's end. Only a lock has a holder
-- caveat: holder_how says how the holder is known. word: the futex word holds its thread id (robust mutexes, and musl's recursive ones). unlock: it unlocked a priority-inheriting futex. mutex: it woke the waiter with a futex call on the address of a mutex. An address is taken for that of a mutex if every wait there expects the value 2 (locked and waited for, in glibc, Rust and Go), and a thread that had waited there woke others there later: a thread that unlocks does so, a thread that waits for a condition does not. exit: the word is the id of a thread that ended during the wait (join). released: it woke the waiter of a kernel mutex. In all other cases holder_how is NULL
-- caveat: ids in a futex word are those of the process's own pid namespace: in a container the holder is mostly not found by word
-- caveat: a futex shared between processes is matched within a process only
-- caveat: a kernel lock may have a second contention_begin before its end (a mutex that spins first): it belongs to the same wait, as in perf lock contention
-- diff no: events; lock_wait adds them up
-- column ts_ns [ns]: when the wait began: the entry of the call, or contention_begin
-- column duration_ns [ns]: length of the wait; an open wait counts until the end of the capture
-- column kind: futex or kernel
-- column utid: the thread that waited
-- keys: upid
-- column lock_address: the futex word's or the lock's address
-- column lock_type: futex's operation (wait, wait_bitset, lock_pi, …), or the kernel's kind of lock as perf lock names it
-- column result: woken, timeout, interrupted, changed (did not wait: the word had changed), acquired, failed, open
-- column waker_utid: the thread that ended the wait; NULL for a timeout and if the capture does not say
-- column waker_how: scheduler (from the wakeup of its last sleep in the call) or futex call (the last wake of that address)
-- column holder_utid: the thread that held the lock when the wait ended; if holder_how is word, when the wait began
-- column holder_how: how the holder is known
-- keys: stack_id
WITH ending AS (
  SELECT max(duration_ns) AS end_ns FROM capture
), futex AS (
  SELECT s.ts_ns, s.exit_ts_ns, s.utid, t.upid, s.args[1] AS address, s.args[2] & 127 AS operation, s.args[3] AS word,
    s.ret, s.errno, s.pairing, s.stack_id
  FROM syscall AS s
  JOIN thread AS t USING (utid)
  WHERE s.name IN ('futex', 'futex_time64') AND s.args IS NOT NULL
), sleep AS (
  -- A thread gives a lock free, no interrupt: without sched_waking, it is that by which another CPU passes the wakeup on.
  SELECT utid, ts_ns, ts_ns + duration_ns AS end_ns, CASE WHEN NOT @by_interrupt(waker_context, waker_utid) THEN waker_utid END AS waker_utid
  FROM followed_state
  WHERE state IN ('sleeping', 'disk_sleep') AND NOT is_open AND waker_utid IS NOT NULL
), wake AS (
  SELECT ts_ns, exit_ts_ns, utid, upid, address, operation FROM futex
  WHERE operation IN (1, 3, 4, 5, 7, 10, 12) AND (ret > 0 OR (operation = 7 AND ret = 0))
), waiting AS (
  SELECT f.*,
    CASE f.operation WHEN 0 THEN 'wait' WHEN 9 THEN 'wait_bitset' WHEN 6 THEN 'lock_pi' WHEN 13 THEN 'lock_pi2'
      ELSE 'wait_requeue_pi' END AS lock_type,
    CASE WHEN f.pairing <> 'strict' THEN 'open' WHEN f.ret = 0 THEN 'woken' WHEN f.errno = 110 THEN 'timeout'
      WHEN f.errno IN (4, 512, 514, 516) THEN 'interrupted' WHEN f.errno = 11 THEN 'changed' ELSE 'failed' END AS result,
    bool_and(f.word = 2) OVER (PARTITION BY f.upid, f.address) AND (
      f.operation = 0 OR count(*) OVER (PARTITION BY f.upid, f.address) > 1
    ) AS is_two
  FROM futex AS f
  WHERE f.operation IN (0, 6, 9, 11, 13)
), unlocked AS (
  -- Words that a thread which had waited for them woke others at later.
  SELECT DISTINCT w.upid, w.address
  FROM (
    SELECT upid, address, utid, min(exit_ts_ns) AS first_ts_ns FROM waiting
    WHERE is_two AND result = 'woken' AND upid IS NOT NULL
    GROUP BY upid, address, utid
  ) AS w
  JOIN (
    SELECT upid, address, utid, max(ts_ns) AS last_ts_ns FROM futex
    WHERE operation IN (1, 10) AND ret >= 0
    GROUP BY upid, address, utid
  ) AS c ON c.upid = w.upid AND c.address = w.address AND c.utid = w.utid AND c.last_ts_ns >= w.first_ts_ns
), slept AS (
  SELECT w.*, w.is_two AND u.address IS NOT NULL AS is_mutex,
    CASE WHEN w.result = 'woken' AND s.ts_ns >= w.ts_ns THEN s.waker_utid END AS slept_waker,
    CASE WHEN w.result = 'woken' AND s.ts_ns >= w.ts_ns THEN s.end_ns ELSE w.exit_ts_ns END AS woken_ts_ns
  FROM waiting AS w
  LEFT JOIN unlocked AS u ON u.upid = w.upid AND u.address = w.address
  ASOF LEFT JOIN sleep AS s ON s.utid = w.utid AND s.end_ns <= w.exit_ts_ns
), called AS (
  -- The waker's own call on that address; without a known waker, the one that called last.
  SELECT w.*,
    CASE WHEN mine.exit_ts_ns >= w.woken_ts_ns OR mine.ts_ns >= w.ts_ns THEN mine.operation END AS waker_operation,
    CASE WHEN w.result = 'woken' AND w.slept_waker IS NULL AND (other.ts_ns >= w.ts_ns OR other.exit_ts_ns >= w.ts_ns)
      AND other.utid <> w.utid THEN other.utid END AS caller,
    other.operation AS caller_operation
  FROM slept AS w
  ASOF LEFT JOIN wake AS mine ON mine.upid = w.upid AND mine.address = w.address AND mine.utid = w.slept_waker
    AND mine.ts_ns <= w.woken_ts_ns
  ASOF LEFT JOIN wake AS other ON other.upid = w.upid AND other.address = w.address AND other.ts_ns <= w.woken_ts_ns
), owned AS (
  SELECT c.*, o.utid AS owner, o.end_ts_ns AS owner_end_ts_ns
  FROM called AS c
  LEFT JOIN (
    -- A recycled id does not tell whose it is.
    SELECT upid, tid, max(utid) AS utid, max(end_ts_ns) AS end_ts_ns FROM thread
    WHERE tid > 0 AND upid IS NOT NULL
    GROUP BY upid, tid
    HAVING count(*) = 1
  ) AS o ON o.upid = c.upid AND o.tid = (c.word & 1073741823)::BIGINT AND c.operation IN (0, 9)
), user_wait AS (
  SELECT
    ts_ns, exit_ts_ns, 'futex' AS kind, utid, upid, address AS lock_address, lock_type, result,
    coalesce(slept_waker, caller) AS waker_utid,
    CASE WHEN slept_waker IS NOT NULL THEN 'scheduler' WHEN caller IS NOT NULL THEN 'futex call' END AS waker_how,
    coalesce(waker_operation, CASE WHEN slept_waker IS NULL AND caller IS NOT NULL THEN caller_operation END) AS ended_by,
    CASE
      WHEN owner IS NULL OR owner = utid OR result = 'changed' THEN NULL
      WHEN word & 2147483648 <> 0 THEN 'word'
      WHEN word & 1073741824 = 0 AND owner_end_ts_ns >= ts_ns AND result = 'woken' THEN 'exit'
    END AS owner_how,
    owner, is_mutex, operation, stack_id
  FROM owned
), found AS (
  SELECT ts_ns, exit_ts_ns, kind, utid, upid, lock_address, lock_type, result, waker_utid, waker_how,
    CASE
      WHEN owner_how IS NOT NULL THEN owner_how
      WHEN operation IN (6, 13) AND ended_by = 7 THEN 'unlock'
      WHEN operation IN (0, 9) AND is_mutex AND result = 'woken' AND ended_by IN (1, 10) THEN 'mutex'
    END AS holder_how,
    owner, stack_id
  FROM user_wait
), contention AS (
  SELECT b.source_id, b.utid, CASE WHEN b.utid = 0 THEN b.cpu END AS idle_cpu, b.lock_addr, b.ts_ns, true AS is_begin,
    b.flags, b.stack_id, NULL AS ret
  FROM contention_begin AS b
  UNION ALL
  SELECT e.source_id, e.utid, CASE WHEN e.utid = 0 THEN e.cpu END, e.lock_addr, e.ts_ns, false, NULL, NULL, e.ret
  FROM contention_end AS e
), chosen AS (
  SELECT source_id FROM contention GROUP BY source_id ORDER BY count(*) DESC, source_id LIMIT 1
), numbered AS (
  SELECT c.*,
    -- The ends before it: a beginning and what follows up to its end have one number.
    count(CASE WHEN NOT is_begin THEN 1 END) OVER (
      PARTITION BY utid, idle_cpu, lock_addr ORDER BY ts_ns, is_begin DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS number
  FROM contention AS c
  JOIN chosen USING (source_id)
), kernel_wait AS (
  SELECT utid, lock_addr,
    min(ts_ns) FILTER (is_begin) AS ts_ns,
    max(ts_ns) FILTER (NOT is_begin) AS exit_ts_ns,
    arg_min(flags, ts_ns) FILTER (is_begin) AS flags,
    arg_min(stack_id, ts_ns) FILTER (is_begin) AS stack_id,
    max(ret) AS ret
  FROM numbered
  GROUP BY utid, idle_cpu, lock_addr, number
), kernel_slept AS (
  SELECT k.*, CASE WHEN s.ts_ns >= k.ts_ns THEN s.waker_utid END AS waker_utid
  FROM kernel_wait AS k
  ASOF LEFT JOIN sleep AS s ON s.utid = k.utid AND s.end_ns <= k.exit_ts_ns
  WHERE k.ts_ns IS NOT NULL
), wait AS (
  SELECT ts_ns, exit_ts_ns, kind, utid, upid, lock_address, lock_type, result, waker_utid, waker_how,
    CASE WHEN holder_how IN ('word', 'exit') THEN owner WHEN holder_how IS NOT NULL THEN waker_utid END AS holder_utid,
    holder_how, stack_id
  FROM found
  UNION ALL
  SELECT k.ts_ns, k.exit_ts_ns, 'kernel', k.utid, t.upid, k.lock_addr,
    CASE k.flags
      WHEN 0 THEN 'semaphore' WHEN 1 THEN 'spinlock' WHEN 3 THEN 'rwlock:R' WHEN 5 THEN 'rwlock:W' WHEN 2 THEN 'rwsem:R'
      WHEN 4 THEN 'rwsem:W' WHEN 8 THEN 'rt-mutex' WHEN 10 THEN 'rwlock-rt:R' WHEN 12 THEN 'rwlock-rt:W'
      WHEN 18 THEN 'pcpu-sem:R' WHEN 20 THEN 'pcpu-sem:W' WHEN 32 THEN 'mutex' WHEN 33 THEN 'mutex' ELSE 'unknown'
    END,
    CASE WHEN k.exit_ts_ns IS NULL THEN 'open' WHEN k.ret = 0 THEN 'acquired' ELSE 'failed' END,
    k.waker_utid, CASE WHEN k.waker_utid IS NOT NULL THEN 'scheduler' END,
    CASE WHEN k.flags IN (32, 33) AND k.ret = 0 THEN k.waker_utid END,
    CASE WHEN k.flags IN (32, 33) AND k.ret = 0 AND k.waker_utid IS NOT NULL THEN 'released' END,
    k.stack_id
  FROM kernel_slept AS k
  LEFT JOIN thread AS t USING (utid)
)
SELECT
  w.ts_ns, coalesce(w.exit_ts_ns, e.end_ns) - w.ts_ns AS duration_ns, w.kind, w.utid, w.upid, w.lock_address, w.lock_type,
  w.result, w.waker_utid, w.waker_how, w.holder_utid, w.holder_how, w.stack_id
FROM wait AS w
CROSS JOIN ending AS e
ORDER BY w.ts_ns, w.utid, w.lock_address
