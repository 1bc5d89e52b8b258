-- clock_unsynchronized: Nothing told the kernel that the wall clock is right
-- condition: adjtimex(2) says that the clock is not synchronized, and the host was booted more than 17 minutes before the recording began, as a daemon needs some time after a boot
--   (the alert system_clock_sync_state of netdata). Always a note: no figure of the capture depends on the wall clock
-- means: times of the day in logs, and captures of several hosts, may be apart by seconds or more; certificates and tokens may be refused. A virtual machine whose hypervisor sets its clock looks like this, too, and
--   so does chrony without rtcsync
-- next: timedatectl, chronyc tracking or ntpq -p on the host
-- taught by: -
-- source: capture, machine_fact
-- evidence: SELECT key, value FROM machine_fact WHERE key LIKE 'clock%' ORDER BY key
-- judged when: SELECT count(*) > 0 FROM machine_fact WHERE key = 'clock.is_synchronized'
-- not judged: whether the clock is synchronized; perfcase-record asks by default
WITH threshold AS (
  SELECT 1020000000000 AS uptime_ns
)
SELECT @severity(false, false) AS severity, 'the wall clock' AS subject,
  format('the kernel does not know it to be right, {:.1f} hours after the boot', c.start_boottime_ns / 3.6e12) AS message
FROM machine_fact AS f
CROSS JOIN capture AS c
CROSS JOIN threshold AS h
WHERE f.key = 'clock.is_synchronized' AND f.value = 'no' AND c.start_boottime_ns > h.uptime_ns
