-- recorder_thread: the threads of the recorder itself; findings and the report leave them out, and ordered views list them last
-- grain: a thread of the recorder
-- source: thread, process, recorder_process
-- caveat: it lacks short-lived helpers of the shell script that were never listed as processes of the recorder
-- diff no: names, no figures
-- keys: utid, tid, upid, pid
-- as in thread: comm
SELECT t.utid, t.tid, t.upid, t.pid, t.comm
FROM thread AS t
WHERE t.comm IN ('perfcase-helper', 'perfcase-record') OR t.pid IN (SELECT pid FROM recorder_process WHERE pid IS NOT NULL)
  -- trace-cmd has a process for each CPU. A recorded command is a child of the script.
  OR t.upid IN (
    SELECT c.upid
    FROM process AS c
    JOIN process AS p ON p.upid = c.parent_upid
    WHERE p.pid IN (SELECT pid FROM recorder_process WHERE process NOT LIKE 'perfcase-record: %')
  )
ORDER BY t.utid
