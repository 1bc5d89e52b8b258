-- counter_step: how far a counter of the kernel went from one reading to the next; NULL if that is not known
-- takes: value, before, wrap
-- rule: a counter that went back was reset (a reboot, a device or a group made again) or wrapped. It wrapped if it has `wrap` values
--   (4294967296 for 32 bits; NULL for 64 bits, which never wrap), was in the upper half and is in the lower one. Otherwise the
--   step is unknown: not 0, and not what it counted since. The view itself recognises a device whose counters all began again
TRY_CAST(CASE
  WHEN $value >= $before THEN $value::HUGEINT - $before
  WHEN $before < $wrap AND $before >= $wrap / 2 AND $value >= 0 AND $value < $wrap / 2 THEN $value::HUGEINT - $before + $wrap
END AS BIGINT)
