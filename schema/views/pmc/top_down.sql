-- top_down: where the slots of the pipeline went (top-down analysis, level 1), by the method that the CPU offers
-- grain: an interval of perf stat
-- source: pmc_event, machine_fact
-- caveat: all CPUs together. perf counts only what it was asked for: perf stat --topdown, and for the others the events that the caveats name; perfcase-record asks for those that the CPU has
-- caveat: the method is Yasin's ("A Top-Down method for performance analysis and counters architecture", ISPASS 2014)
-- caveat: perf_metrics (Intel since Ice Lake): each of topdown-fe-bound, -bad-spec, -retiring and -be-bound as a share of their sum; where int_misc.uop_dropping was counted it is taken off the front end's, and bad speculation is what is left (metric_TMA_* of PerfSpect's metric_spr_emr.json)
-- caveat: topdown_slots (perf stat --topdown before Ice Lake): issued less retired plus recovery is bad speculation, of topdown-total-slots
-- caveat: slot_events (Ice Lake and later where a virtual machine hides the perf metrics counters): idq_uops_not_delivered.core less int_misc.uop_dropping, topdown.backend_bound_slots and uops_retired.slots of topdown.slots_p; bad speculation is the rest less 5 slots for each of int_misc.clears_count, not below 0 (PerfSpect's icx_alt_tma_metrics.json): with those the four may not add up to 1
-- caveat: raw_events (Skylake, Cascade Lake): 4 slots a cycle of a core; cpu_clk_unhalted.thread_any counts both its threads (PerfSpect's metric_skx_clx.json)
-- caveat: arm (Neoverse N2, V1, V2): stall_slot_frontend and stall_slot_backend of the slots; (1 - op_retired / op_spec) of the slots without a stall is bad speculation; the slots of mispredicted branches are moved to it as Arm's telemetry solution has it (Neoverse V1: 4 a branch, from the front end; N2 and V2: 1 from the front end, 3 from the back end); N2 r0p0 counts a front-end stall too many every cycle. Other Arm CPUs: as the kernel's sbsa.json, with cpu.pmu.slots of machine_fact. NULL if the capture does not say the CPU
-- caveat: zen (AMD Zen 4: 6 slots a cycle, Zen 5: 8; Processor Programming Reference, pipeline utilization): de_no_dispatch_per_slot.no_ops_from_frontend, .backend_stalls and .smt_contention, de_src_op_disp.all less ex_ret_ops, ex_ret_ops, of the slots of ls_not_halted_cyc. NULL if the capture does not say the CPU
-- diff by: method
-- diff mean: frontend_bound_ratio by slots, bad_speculation_ratio by slots, retiring_ratio by slots, backend_bound_ratio by slots, smt_contention_ratio by slots
-- diff weight: 0.8
-- plot: intervals frontend_bound_ratio, bad_speculation_ratio, retiring_ratio, backend_bound_ratio by method
-- keys: source_id
-- as in pmc_event: ts_ns, interval_ns
-- column method: perf_metrics, topdown_slots, slot_events, raw_events, arm or zen
-- column slots [count]: issue slots of the interval: the ratios are shares of them
-- column frontend_bound_ratio [ratio]: slots left empty because the front end did not deliver
-- column bad_speculation_ratio [ratio]: slots of instructions that did not retire, and of recovery from them
-- column retiring_ratio [ratio]: slots of instructions that retired
-- column backend_bound_ratio [ratio]: slots left empty because the back end did not take: memory or execution
-- column smt_contention_ratio [ratio]: slots that went to the core's other thread; only zen counts it
WITH cpu AS (
  SELECT
    max(value) FILTER (key = 'cpu.vendor') AS vendor,
    max(try_cast(value AS INTEGER)) FILTER (key = 'cpu.family') AS family,
    max(value) FILTER (key = 'cpu.part') AS part,
    coalesce(bool_or(key = 'cpu.variant' AND value = '0x0') AND bool_or(key = 'cpu.revision' AND value = '0'), false) AS is_first,
    max(try_cast(value AS INTEGER)) FILTER (key = 'cpu.pmu.slots') AS slots
  FROM machine_fact
), arm_core (part, slots, frontend_slots, backend_slots, bad_slots) AS (
  -- Neoverse V1, N2, V2: slots a cycle, and those of a mispredicted branch.
  VALUES ('0xd40', 8, 4, 0, 4), ('0xd49', 5, 1, 3, 4), ('0xd4f', 8, 1, 3, 4)
), width AS (
  SELECT coalesce(a.slots, c.slots) AS arm_slots,
    coalesce(a.frontend_slots, 0) AS frontend_slots, coalesce(a.backend_slots, 0) AS backend_slots,
    coalesce(a.bad_slots, 0) AS bad_slots,
    CASE WHEN c.part = '0xd49' AND c.is_first THEN 1 ELSE 0 END AS false_stall,
    CASE WHEN c.vendor = 'AuthenticAMD' THEN CASE c.family WHEN 25 THEN 6 WHEN 26 THEN 8 END END AS zen_slots
  FROM cpu AS c
  LEFT JOIN arm_core AS a USING (part)
), total AS (
  SELECT source_id, ts_ns, map_from_entries(list((event, count))) AS m
  FROM (
    SELECT source_id, ts_ns, event, sum(count) AS count
    FROM (
      SELECT source_id, ts_ns, event, count
      FROM pmc_event
      WHERE count IS NOT NULL
      -- Counts of different modes make no ratio.
      QUALIFY CASE mode WHEN '' THEN 0 WHEN 'u' THEN 1 ELSE 2 END
        = min(CASE mode WHEN '' THEN 0 WHEN 'u' THEN 1 ELSE 2 END) OVER (PARTITION BY source_id)
    )
    GROUP BY ALL
  )
  GROUP BY source_id, ts_ns
), named AS (
  SELECT t.*, w.*,
    coalesce(m['slots'], m['topdown.slots']) AS slots,
    m['topdown-fe-bound'] + m['topdown-bad-spec'] + m['topdown-retiring'] + m['topdown-be-bound'] AS metrics_sum,
    coalesce(m['cycles'], m['cpu_clk_unhalted.thread'], m['cpu_cycles']) AS cycles,
    coalesce(m['int_misc.recovery_cycles_any'] / 2, m['int_misc.recovery_cycles']) AS recovery_cycles,
    coalesce(m['int_misc.uop_dropping'], 0) AS dropped,
    -- For a known core the published formula has mispredicted branches: without them there is none.
    CASE WHEN w.bad_slots = 0 THEN 0 ELSE m['br_mis_pred'] END AS mispredicted
  FROM total AS t
  CROSS JOIN width AS w
), sized AS (
  SELECT *,
    4 * coalesce(m['cpu_clk_unhalted.thread_any'] / 2, cycles) AS raw_slots,
    arm_slots * cycles AS arm_all,
    zen_slots * coalesce(m['ls_not_halted_cyc'], cycles) AS zen_all
  FROM named
), method AS (
  SELECT source_id, ts_ns, 0 AS rank, 'perf_metrics' AS method, coalesce(slots, metrics_sum) AS slots,
    m['topdown-fe-bound'] / metrics_sum - CASE WHEN slots > 0 THEN dropped / slots ELSE 0 END AS frontend_bound,
    CASE WHEN dropped > 0 AND slots > 0
      THEN greatest(0, m['topdown-bad-spec'] / metrics_sum + dropped / slots)
      ELSE m['topdown-bad-spec'] / metrics_sum END AS bad_speculation,
    m['topdown-retiring'] / metrics_sum AS retiring, m['topdown-be-bound'] / metrics_sum AS backend_bound, NULL AS smt_contention
  FROM sized
  WHERE metrics_sum > 0
  UNION ALL
  SELECT source_id, ts_ns, 1, 'topdown_slots', m['topdown-total-slots'],
    m['topdown-fetch-bubbles'] / m['topdown-total-slots'],
    (m['topdown-slots-issued'] - m['topdown-slots-retired'] + m['topdown-recovery-bubbles']) / m['topdown-total-slots'],
    m['topdown-slots-retired'] / m['topdown-total-slots'], NULL, NULL
  FROM sized
  WHERE m['topdown-total-slots'] > 0
  UNION ALL
  SELECT source_id, ts_ns, 2, 'slot_events', m['topdown.slots_p'],
    (m['idq_uops_not_delivered.core'] - dropped) / m['topdown.slots_p'],
    greatest(0, 1 - (m['idq_uops_not_delivered.core'] - dropped + m['topdown.backend_bound_slots']
      + 5 * coalesce(m['int_misc.clears_count'], 0) + m['uops_retired.slots']) / m['topdown.slots_p']),
    m['uops_retired.slots'] / m['topdown.slots_p'], m['topdown.backend_bound_slots'] / m['topdown.slots_p'], NULL
  FROM sized
  WHERE m['topdown.slots_p'] > 0
  UNION ALL
  SELECT source_id, ts_ns, 3, 'raw_events', raw_slots,
    m['idq_uops_not_delivered.core'] / raw_slots,
    (m['uops_issued.any'] - m['uops_retired.retire_slots'] + 4 * recovery_cycles) / raw_slots,
    m['uops_retired.retire_slots'] / raw_slots, NULL, NULL
  FROM sized
  WHERE raw_slots > 0
  UNION ALL
  SELECT source_id, ts_ns, 4, 'arm', arm_all,
    (m['stall_slot_frontend'] - false_stall * cycles) / arm_all - frontend_slots * mispredicted / cycles,
    (1 - m['op_retired'] / nullif(m['op_spec'], 0)) * (1 - (m['stall_slot'] - false_stall * cycles) / arm_all)
      + bad_slots * mispredicted / cycles,
    m['op_retired'] / nullif(m['op_spec'], 0) * (1 - (m['stall_slot'] - false_stall * cycles) / arm_all),
    m['stall_slot_backend'] / arm_all - backend_slots * mispredicted / cycles, NULL
  FROM sized
  WHERE arm_all > 0
  UNION ALL
  SELECT source_id, ts_ns, 5, 'zen', zen_all,
    m['de_no_dispatch_per_slot.no_ops_from_frontend'] / zen_all,
    (m['de_src_op_disp.all'] - m['ex_ret_ops']) / zen_all,
    m['ex_ret_ops'] / zen_all,
    m['de_no_dispatch_per_slot.backend_stalls'] / zen_all,
    m['de_no_dispatch_per_slot.smt_contention'] / zen_all
  FROM sized
  WHERE zen_all > 0
)
SELECT source_id, ts_ns, interval_ns, method, try_cast(round(slots) AS BIGINT) AS slots,
  frontend_bound AS frontend_bound_ratio,
  bad_speculation AS bad_speculation_ratio,
  retiring AS retiring_ratio,
  coalesce(backend_bound, 1 - frontend_bound - bad_speculation - retiring) AS backend_bound_ratio,
  smt_contention AS smt_contention_ratio
FROM method
JOIN (SELECT source_id, ts_ns, max(interval_ns) AS interval_ns FROM pmc_event GROUP BY ALL) USING (source_id, ts_ns)
WHERE frontend_bound IS NOT NULL
QUALIFY rank = min(rank) OVER (PARTITION BY source_id, ts_ns)
ORDER BY source_id, ts_ns
