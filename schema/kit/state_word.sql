-- state_word: a thread's state in a word
-- takes: state
CASE $state
  WHEN 'R' THEN 'running or runnable' WHEN 'S' THEN 'sleeping' WHEN 'D' THEN 'disk_sleep' WHEN 'T' THEN 'stopped'
  WHEN 't' THEN 'traced' WHEN 'I' THEN 'idle' WHEN 'Z' THEN 'zombie' WHEN 'X' THEN 'dead' WHEN 'P' THEN 'parked'
END
