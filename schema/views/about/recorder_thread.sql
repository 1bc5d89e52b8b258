-- recorder_thread: the threads of the recorder itself, which findings and the report leave out
-- grain: a thread of the recorder
-- source: thread, recorder_process
-- caveat: short-lived helpers of its shell script that were never listed as processes of the recorder are not among them
-- diff no: names, no figures
-- column utid: the capture's own key of the thread
-- column tid: thread id, a label
-- column pid: process id, a label
-- column comm: the thread's last name
SELECT t.utid, t.tid, t.pid, t.comm
FROM thread AS t
WHERE t.comm IN ('perfcase-helper', 'perfcase-record') OR t.pid IN (SELECT pid FROM recorder_process WHERE pid IS NOT NULL)
ORDER BY t.utid
