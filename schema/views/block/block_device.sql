-- block_device: the names of block devices and partitions
-- grain: a device
-- source: proc_disk
-- caveat: if a device number had two names during the recording, the last one is shown
-- diff no: names, no figures
-- column device: major,minor, as block_io has it
-- column device_name: its name in /proc/diskstats, if that was recorded
SELECT major || ',' || minor AS device, arg_max(device, ts_ns) AS device_name
FROM proc_disk
GROUP BY major, minor
ORDER BY device
