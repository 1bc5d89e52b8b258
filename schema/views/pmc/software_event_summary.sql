-- software_event_summary: context switches, migrations, page faults and other events that the kernel counts itself, over the whole capture
-- grain: an event that was counted
-- source: software_events
-- caveat: CPUs, cores and threads are added up; software_events has the intervals, and more caveats
-- diff no: software_events is compared, with the noise of its intervals
-- column event: the event's name
-- as in software_events: unit
-- column count [count]: number of these events
-- column duration_ns [ns]: the time in which they were counted; NULL for a total of unknown length
-- column count_per_s [1/s]: count per second of that time (for clocks: seconds per second)
-- as in software_events: running_ratio
SELECT event, unit, sum(count) AS count, @total_where(interval_ns, count IS NOT NULL) AS duration_ns,
  @mean(count_per_s, interval_ns) AS count_per_s, min(running_ratio) AS running_ratio
FROM software_events
GROUP BY event, unit
HAVING sum(count) IS NOT NULL
ORDER BY event, unit
