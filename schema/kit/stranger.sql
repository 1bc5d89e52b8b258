-- stranger: whether a thread is of another process, in a recording of some: its own process is not known
-- (those of the recorded threads are, as they were looked at, or as each event of a perf.data tells it)
-- takes: upid
$upid IS NULL AND (SELECT count(*) FROM proc_command) + (SELECT count(*) FROM source WHERE is_timeline AND kind = 'perf_data') > 0
