-- memory_access: sampled loads and stores (perf mem, perf c2c) with the fields of perf's data_src spelled out
-- grain: a sample with a data_src
-- source: sample, sample_detail, perf_event
-- caveat: the bits are those of union perf_mem_data_src in the kernel's include/uapi/linux/perf_event.h; what a CPU does not report is NULL
-- caveat: hitm counts as perf c2c does: a local one is a load that hit the last-level cache where another core had the line modified, a remote one a load from another socket's cache that had it modified; peer is the same for CPUs that do not say whether the line was modified (Arm)
-- caveat: samples are only some of the accesses, often only those slower than a threshold (ldlat)
-- diff no: events; contended_cache_line adds them up
-- as in sample: sample_id, ts_ns, cpu, utid, name_id
-- column event: the event's name
-- as in sample: frame_id
-- as in sample_detail: data_address, physical_address
-- column operation: load, store, prefetch, execute; NULL where not reported
-- column level: where the data was: L1, LFB (line fill buffer), L2, L3, L4, RAM, remote RAM, remote cache, PMEM, CXL, IO, uncached, any cache, NULL where not reported
-- column is_hit: true where the access hit that level
-- column is_miss: true where it missed that level
-- column snoop: what other caches said: none, hit, miss, hitm (modified there), NULL where not reported
-- column is_remote: true where another node or socket answered
-- column is_local_hitm: true for a load that hit a line which another core of this socket had modified
-- column is_remote_hitm: true for a load from another socket's cache which had the line modified
-- column is_peer: true for data forwarded by another core's cache
-- column is_locked: true for an atomic access; NULL where not reported
-- column tlb: how the address was translated: L1, L2, walk, fault; NULL where not reported
-- column is_tlb_miss: true where that TLB missed; NULL where not reported
-- column weight: cost of the access in the PMU's unit, mostly cycles; NULL where not recorded
WITH bits AS (
  SELECT s.sample_id, s.ts_ns, s.cpu, s.utid, s.name_id, v.name AS event, s.frame_id, d.data_address, d.physical_address, d.weight,
    d.data_src & 31 AS op, (d.data_src >> 5) & 16383 AS lvl, (d.data_src >> 19) & 31 AS snoop_bits,
    (d.data_src >> 24) & 3 AS lock_bits, (d.data_src >> 26) & 127 AS tlb_bits, (d.data_src >> 33) & 15 AS lvl_num,
    (d.data_src >> 37) & 1 = 1 AS remote, (d.data_src >> 38) & 3 AS snoopx
  FROM sample_detail AS d
  JOIN sample AS s USING (sample_id)
  JOIN perf_event AS v USING (event_id)
  WHERE d.data_src IS NOT NULL
), decoded AS (
  SELECT *,
    op & 2 > 0 AS is_load,
    -- Bits of the level: 2 hit, 4 miss, 8 L1, 16 LFB, 32 L2, 64 L3, 128 RAM, 256 and 512 remote RAM, 1024 and 2048 remote
    -- cache, 4096 IO, 8192 uncached.
    lvl & 3072 > 0 OR remote AS remote_cache
  FROM bits
)
SELECT sample_id, ts_ns, cpu, utid, name_id, event, frame_id, data_address, physical_address,
  CASE WHEN op & 2 > 0 THEN 'load' WHEN op & 4 > 0 THEN 'store' WHEN op & 8 > 0 THEN 'prefetch'
    WHEN op & 16 > 0 THEN 'execute' END AS operation,
  CASE
    WHEN lvl & 8 > 0 THEN 'L1' WHEN lvl & 16 > 0 THEN 'LFB' WHEN lvl & 32 > 0 THEN 'L2' WHEN lvl & 64 > 0 THEN 'L3'
    WHEN lvl & 128 > 0 THEN 'RAM' WHEN lvl & 768 > 0 THEN 'remote RAM' WHEN lvl & 3072 > 0 THEN 'remote cache'
    WHEN lvl & 4096 > 0 THEN 'IO' WHEN lvl & 8192 > 0 THEN 'uncached'
    ELSE CASE lvl_num
      WHEN 1 THEN 'L1' WHEN 2 THEN 'L2' WHEN 3 THEN 'L3' WHEN 4 THEN 'L4' WHEN 5 THEN 'L2' WHEN 6 THEN 'memory-side cache'
      WHEN 8 THEN 'uncached' WHEN 9 THEN 'CXL' WHEN 10 THEN 'IO' WHEN 11 THEN 'any cache' WHEN 12 THEN 'LFB'
      WHEN 13 THEN CASE WHEN remote THEN 'remote RAM' ELSE 'RAM' END WHEN 14 THEN 'PMEM' END
  END AS level,
  lvl & 2 > 0 AS is_hit,
  lvl & 4 > 0 AS is_miss,
  CASE WHEN snoop_bits & 16 > 0 THEN 'hitm' WHEN snoop_bits & 4 > 0 THEN 'hit' WHEN snoop_bits & 8 > 0 THEN 'miss'
    WHEN snoop_bits & 2 > 0 THEN 'none' END AS snoop,
  remote OR lvl & 3840 > 0 AS is_remote,
  is_load AND lvl & 2 > 0 AND lvl & 64 > 0 AND snoop_bits & 16 > 0 AS is_local_hitm,
  -- As perf c2c: a hit reported beside comes first.
  is_load AND remote_cache AND snoop_bits & 16 > 0 AND snoop_bits & 4 = 0 AS is_remote_hitm,
  is_load AND snoopx & 2 > 0 AND (
    (lvl & 2 > 0 AND lvl & 96 > 0) OR (remote_cache AND snoop_bits & 20 = 0)) AS is_peer,
  CASE WHEN lock_bits & 2 > 0 THEN true WHEN lock_bits & 1 > 0 THEN NULL ELSE false END AS is_locked,
  CASE WHEN tlb_bits & 8 > 0 THEN 'L1' WHEN tlb_bits & 16 > 0 THEN 'L2' WHEN tlb_bits & 32 > 0 THEN 'walk'
    WHEN tlb_bits & 64 > 0 THEN 'fault' END AS tlb,
  CASE WHEN tlb_bits & 6 = 0 THEN NULL ELSE tlb_bits & 4 > 0 END AS is_tlb_miss,
  weight
FROM decoded
ORDER BY sample_id
