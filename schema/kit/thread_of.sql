-- thread_of: a thread in words, with its process: the process alone where the thread has its name, or none is known
-- takes: comm, process, pid
CASE WHEN $comm <> coalesce($process, '') THEN format('the thread {} of ', $comm) ELSE '' END || format('{} ({})', coalesce($process, '?'), $pid)
