-- cpu_time_step: how much CPU time was added from one reading to the next
-- takes: value, before
-- rule: the kernel puts CPU times together from ticks and clocks and lets them go back a little (iowait, idle, steal; user and system of a
--   process): a time that went back counts as unchanged. top, mpstat and pidstat do the same
TRY_CAST(CASE WHEN $value < $before THEN 0 ELSE $value::HUGEINT - $before END AS BIGINT)
