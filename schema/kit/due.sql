-- due: what a wait is due to, in words: a cause of the table blame
-- takes: who, cause, on_whom, on_what, in_call
CASE $cause
  WHEN 'running' THEN coalesce($on_whom, 'an unknown thread') || ', which ran'
  WHEN 'cpu_taken' THEN format('a CPU that {} had', coalesce($on_whom, 'an unknown thread'))
  WHEN 'cpu_idle' THEN format('an idle CPU: the wake-up of {}, a quota or a mask', coalesce($on_whom, 'an unknown thread'))
  WHEN 'quota' THEN format('the CPU quota of {}', coalesce($on_whom, 'an unknown thread'))
  -- Without a request that ended then, only the file is known.
  WHEN 'disk' THEN CASE WHEN starts_with($on_what, '/') THEN 'the block device of ' || $on_what WHEN $on_what <> 'file' THEN $on_what ELSE 'a block device' END
  WHEN 'network' THEN 'data from ' || coalesce($on_what, 'another end')
  -- What looks like a sleep (Thread.sleep of Java is one) and what did not come in time are the same there.
  WHEN 'timeout' THEN CASE WHEN $on_what IS NULL AND starts_with($in_call, 'futex') THEN 'a timed wait that nobody ended' WHEN $on_what IS NULL THEN 'nothing that came, in vain'
    WHEN $on_whom <> coalesce($who, '') THEN format('{}, for which {} waited in vain', $on_what, $on_whom) ELSE $on_what || ', in vain' END
  WHEN 'alarm' THEN format('an alarm of {}: a timer sent a signal', coalesce($on_whom, 'an unknown thread'))
  WHEN 'no_work' THEN coalesce($on_whom, 'an unknown thread') || ', which had nothing to do'
  -- A sleep is about something where the thread asked the same before and after it.
  WHEN 'sleep' THEN 'a sleep of ' || coalesce($on_whom, 'an unknown thread') || coalesce(' between tries for ' || $on_what, '')
  WHEN 'interrupt' THEN 'a device or timer without a name'
  WHEN 'stopped' THEN coalesce($on_whom, 'an unknown thread') || ', which was stopped'
  WHEN 'open' THEN 'what did not come until the end'
  WHEN 'not_recorded' THEN 'what was not recorded'
  WHEN 'not_followed' THEN 'what was not followed'
  ELSE coalesce($cause, 'an unknown cause')
END || CASE WHEN ($cause IN ('disk', 'network', 'interrupt', 'open') OR $cause = 'timeout' AND $on_what IS NULL) AND $on_whom <> coalesce($who, '') THEN ', by ' || $on_whom ELSE '' END
  || CASE
    WHEN $cause IN ('no_work', 'open') THEN coalesce(format(' ({})', nullif(concat_ws(' on ', 'in ' || $in_call, $on_what), '')), '')
    WHEN $cause IN ('running', 'disk', 'timeout', 'alarm') THEN coalesce(format(' (in {})', $in_call), '')
    ELSE ''
  END
