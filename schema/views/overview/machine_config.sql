-- machine_config: what the host is and how it is set up: CPUs, caches, NUMA, frequencies, mitigations, memory, disks, mounts, settings; as lscpu and lsblk show it
-- grain: a key
-- source: machine_fact
-- caveat: sizes of caches are those of all instances of the host together, as lscpu has it; cache.NAME.count says how many there are
-- caveat: a bare recording (perf.data, trace.dat) knows only what its own header says
-- diff no: settings, no figures; diff lists those that differ
-- column area: the key's first word: block, cache, clock, clocksource, cpu, host, kernel, memory, mitigation, module, mount, numa, swap, sysctl
-- as in machine_fact: key, value, unit
SELECT split_part(key, '.', 1) AS area, key, value, unit
FROM machine_fact
ORDER BY key
