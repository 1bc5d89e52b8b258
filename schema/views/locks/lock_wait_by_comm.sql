-- lock_wait_by_comm: which locks the threads of a name waited for, who held them and who ended the waits, over all callchains
-- grain: a lock (a futex of a process, or a kernel lock), a name of waiting threads, a holder's and a waker's name
-- source: lock_wait, recorder_thread
-- caveat: an idle worker waits for a futex, too (a condition variable): a lock was contended only where there is a holder
-- caveat: lock_wait has the callchains, and more caveats
-- diff no: lock_wait is compared
-- as in lock_wait: kind, lock
-- column upid: the process of a futex; NULL for a kernel lock, which processes share
-- keys: pid
-- column comm: name of the waiting threads when the wait began
-- as in lock_wait: holder_comm, waker_comm, wait_count, wait_total_ns, wait_max_ns
WITH told AS (
  SELECT * REPLACE (CASE WHEN kind = 'futex' THEN upid END AS upid, CASE WHEN kind = 'futex' THEN pid END AS pid)
  FROM lock_wait
  WHERE wait_count > 0
), total AS (
  SELECT kind, lock, upid, pid, comm, holder_comm, waker_comm,
    @total(wait_count) AS wait_count, @total(wait_total_ns) AS wait_total_ns, max(wait_max_ns) AS wait_max_ns
  FROM told
  GROUP BY ALL
)
SELECT * FROM total
ORDER BY upid IN (SELECT upid FROM recorder_thread WHERE upid IS NOT NULL) IS TRUE, wait_total_ns DESC, kind, lock, upid, comm, holder_comm, waker_comm
