-- block_device: the names of block devices and partitions
-- grain: a device
-- source: proc_disk
-- caveat: a number that had two names while it was recorded has the last one
-- diff no: names, no figures
-- column device: major,minor, as block_io has it
-- column device_name: its name in /proc/diskstats, if that was recorded
SELECT major || ',' || minor AS device, arg_max(device, ts_ns) AS device_name
FROM proc_disk
GROUP BY major, minor
ORDER BY device
