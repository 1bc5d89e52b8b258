-- workload_thread: the threads that the capture is about: without the idle task and the recorder; if only some processes were recorded, only their threads
-- grain: a thread
-- source: thread, recorder_thread, proc_command, source
-- caveat: a recording of some processes also sees context switches of other threads, and nothing else of them (followed_state); such threads have no known process
-- diff no: names, no figures
-- keys: utid, tid, upid, pid
-- as in thread: comm
SELECT t.utid, t.tid, t.upid, t.pid, t.comm
FROM thread AS t
WHERE t.tid <> 0 AND t.utid NOT IN (SELECT utid FROM recorder_thread)
  AND NOT @stranger(t.upid)
ORDER BY t.utid
