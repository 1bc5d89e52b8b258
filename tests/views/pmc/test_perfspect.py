"""top_down and microarchitecture against expressions as PerfSpect publishes them, evaluated here on the same counts.

The expressions are facts of https://github.com/intel/PerfSpect, level 1 of: events/metric_skx_clx.json (Skylake, Cascade
Lake; commit 0d73b74), events/metric_spr_emr.json (Sapphire and Emerald Rapids; 2defb5e), icx_alt_tma_metrics.json (Ice Lake
without the perf metrics counters; 9164b81), AuthenticAMD/genoa.json (Zen 4; 1f610ee), aarch64/neoverse-n2-v2/metrics.json
(which has Arm's own; 900d239). An event stands in square brackets there; the
rest of the notation is Python's. For a Skylake one core is counted:
with two threads HYPERTHREADING_ON is 1.
"""

from __future__ import annotations

import re

import pytest

from tests.support.viewtest import Case, Input, filled

CORE_CYCLES = "( ( [CPU_CLK_UNHALTED.THREAD_ANY] / 2 ) if [HYPERTHREADING_ON] else ( [cpu-cycles] ) )"
RECOVERY = "( ( [INT_MISC.RECOVERY_CYCLES_ANY] / 2 ) if [HYPERTHREADING_ON] else [INT_MISC.RECOVERY_CYCLES] )"
PERF_METRICS = (
    "( [PERF_METRICS.FRONTEND_BOUND] + [PERF_METRICS.BAD_SPECULATION] + [PERF_METRICS.RETIRING]"
    " + [PERF_METRICS.BACKEND_BOUND] )"
)
SPR_FRONTEND = f"( [PERF_METRICS.FRONTEND_BOUND] / {PERF_METRICS} - [INT_MISC.UOP_DROPPING] / ( [TOPDOWN.SLOTS] ) )"
SPR_BACKEND = f"( [PERF_METRICS.BACKEND_BOUND] / {PERF_METRICS} )"
SPR_RETIRING = f"( [PERF_METRICS.RETIRING] / {PERF_METRICS} )"
ICX_FRONTEND = "( ( [IDQ_UOPS_NOT_DELIVERED.CORE] - [INT_MISC.UOP_DROPPING] ) / ( [TOPDOWN.SLOTS_P] ) )"
N2_STALL = "( [STALL_SLOT] / ( [CPU_CYCLES] * 5 ) )"

# By the view's columns, percent as published.
PUBLISHED = {
    "skx_clx": {
        "frontend_bound_ratio": f"100 * ( [IDQ_UOPS_NOT_DELIVERED.CORE] / ( ( 4 ) * {CORE_CYCLES} ) )",
        "bad_speculation_ratio": f"100 * ( ( [UOPS_ISSUED.ANY] - ( [UOPS_RETIRED.RETIRE_SLOTS] ) + ( 4 ) * {RECOVERY} )"
        f" / ( ( 4 ) * {CORE_CYCLES} ) )",
        "backend_bound_ratio": f"100 * ( 1 - ( [IDQ_UOPS_NOT_DELIVERED.CORE] / ( ( 4 ) * {CORE_CYCLES} ) )"
        f" - ( [UOPS_ISSUED.ANY] + ( 4 ) * {RECOVERY} ) / ( ( 4 ) * {CORE_CYCLES} ) )",
        "retiring_ratio": f"100 * ( ( [UOPS_RETIRED.RETIRE_SLOTS] ) / ( ( 4 ) * {CORE_CYCLES} ) )",
    },
    "spr_emr": {
        "frontend_bound_ratio": f"100 * {SPR_FRONTEND}",
        "bad_speculation_ratio": f"100 * ( max( 1 - ( {SPR_FRONTEND} + {SPR_BACKEND} + {SPR_RETIRING} ) , 0 ) )",
        "backend_bound_ratio": f"100 * {SPR_BACKEND}",
        "retiring_ratio": f"100 * {SPR_RETIRING}",
    },
    "icx_alt": {
        "frontend_bound_ratio": f"100 * {ICX_FRONTEND}",
        "bad_speculation_ratio": f"100 * ( max( 1 - ( {ICX_FRONTEND} + ( ( [TOPDOWN.BACKEND_BOUND_SLOTS] + ( 5 )"
        " * [INT_MISC.CLEARS_COUNT] ) / ( [TOPDOWN.SLOTS_P] ) ) + ( [UOPS_RETIRED.SLOTS] / ( [TOPDOWN.SLOTS_P] ) ) ) , 0 ) )",
        "backend_bound_ratio": "100 * ( [TOPDOWN.BACKEND_BOUND_SLOTS] / [TOPDOWN.SLOTS_P] )",
    },
    "genoa": {
        "frontend_bound_ratio": "([de_no_dispatch_per_slot.no_ops_from_frontend] / (6 * [ls_not_halted_cyc])) * 100",
        "bad_speculation_ratio": "(([de_src_op_disp.all] - [ex_ret_ops]) / (6 * [ls_not_halted_cyc])) * 100",
        "backend_bound_ratio": "([de_no_dispatch_per_slot.backend_stalls] / (6 * [ls_not_halted_cyc])) * 100",
        "smt_contention_ratio": "([de_no_dispatch_per_slot.smt_contention] / (6 * [ls_not_halted_cyc])) * 100",
        "retiring_ratio": "([ex_ret_ops] / (6 * [ls_not_halted_cyc])) * 100",
    },
    "neoverse_n2": {
        "frontend_bound_ratio": "(100 * (([STALL_SLOT_FRONTEND] / ([CPU_CYCLES] * 5)) - ([BR_MIS_PRED] / [CPU_CYCLES])))",
        "backend_bound_ratio": "(100 * (([STALL_SLOT_BACKEND] / ([CPU_CYCLES] * 5)) - (([BR_MIS_PRED] * 3) / [CPU_CYCLES])))",
        "bad_speculation_ratio": f"(100 * (((1 - ([OP_RETIRED] / [OP_SPEC])) * (1 - {N2_STALL}))"
        " + (([BR_MIS_PRED] * 4) / [CPU_CYCLES])))",
        "retiring_ratio": f"(100 * (([OP_RETIRED] / [OP_SPEC]) * (1 - {N2_STALL})))",
    },
}  # fmt: skip
# perf's names of what has another name there.
PERF_NAMES = {
    "cpu-cycles": "cycles",
    "PERF_METRICS.FRONTEND_BOUND": "topdown-fe-bound",
    "PERF_METRICS.BAD_SPECULATION": "topdown-bad-spec",
    "PERF_METRICS.RETIRING": "topdown-retiring",
    "PERF_METRICS.BACKEND_BOUND": "topdown-be-bound",
}
SKYLAKE = {
    "cpu-cycles": 9_700_123, "IDQ_UOPS_NOT_DELIVERED.CORE": 4_100_777, "UOPS_ISSUED.ANY": 17_200_345,
    "UOPS_RETIRED.RETIRE_SLOTS": 15_900_111,
}  # fmt: skip
METRICS = {
    "PERF_METRICS.FRONTEND_BOUND": 7_000_013, "PERF_METRICS.BAD_SPECULATION": 2_100_001,
    "PERF_METRICS.RETIRING": 21_000_777, "PERF_METRICS.BACKEND_BOUND": 11_800_333, "TOPDOWN.SLOTS": 42_000_999,
}  # fmt: skip
SLOTS = {
    "TOPDOWN.SLOTS_P": 42_000_999, "IDQ_UOPS_NOT_DELIVERED.CORE": 8_500_111, "INT_MISC.UOP_DROPPING": 310_007,
    "TOPDOWN.BACKEND_BOUND_SLOTS": 11_800_333, "UOPS_RETIRED.SLOTS": 19_000_777,
}  # fmt: skip
CASES = {
    "one thread": ("skx_clx", {}, {**SKYLAKE, "INT_MISC.RECOVERY_CYCLES": 90_119}, {"HYPERTHREADING_ON": 0}),
    "two threads": (
        "skx_clx", {},
        {**SKYLAKE, "CPU_CLK_UNHALTED.THREAD_ANY": 16_200_555, "INT_MISC.RECOVERY_CYCLES_ANY": 170_119},
        {"HYPERTHREADING_ON": 1},
    ),
    "perf metrics": ("spr_emr", {}, {**METRICS, "INT_MISC.UOP_DROPPING": 310_007}, {}),
    "perf metrics, nothing dropped": ("spr_emr", {}, {**METRICS, "INT_MISC.UOP_DROPPING": 0}, {}),
    "slot events": ("icx_alt", {}, {**SLOTS, "INT_MISC.CLEARS_COUNT": 101_003}, {}),
    "slot events, all explained": ("icx_alt", {}, {**SLOTS, "INT_MISC.CLEARS_COUNT": 9_101_003}, {}),
    "Zen 4": (
        "genoa", {"cpu.vendor": "AuthenticAMD", "cpu.family": "25"},
        {
            "ls_not_halted_cyc": 9_700_123, "de_no_dispatch_per_slot.no_ops_from_frontend": 12_000_333,
            "de_no_dispatch_per_slot.backend_stalls": 18_300_001, "de_no_dispatch_per_slot.smt_contention": 3_000_077,
            "de_src_op_disp.all": 24_900_327, "ex_ret_ops": 23_100_019,
        },
        {},
    ),
    "Neoverse N2 r0p3": (
        "neoverse_n2", {"cpu.part": "0xd49", "cpu.variant": "0x0", "cpu.revision": "3"},
        {
            "CPU_CYCLES": 9_700_123, "STALL_SLOT": 27_200_451, "STALL_SLOT_FRONTEND": 12_100_333,
            "STALL_SLOT_BACKEND": 15_100_118, "OP_RETIRED": 20_100_777, "OP_SPEC": 21_300_003, "BR_MIS_PRED": 150_111,
        },
        {},
    ),
}  # fmt: skip


def evaluate(expression: str, values: dict[str, int]) -> float:
    """What is not chosen by an `if` need not have been counted."""
    python = re.sub(r"\[([^\]]+)\]", r'value("\1")', expression)
    return eval(python, {"__builtins__": {}, "max": max, "min": min, "value": values.__getitem__})


def case_of(facts: dict[str, str], counts: dict[str, int]) -> Case:
    events = [f"(10, 0, '{PERF_NAMES.get(event, event).lower()}', {count})" for event, count in counts.items()]
    inputs = [Input("pmc_interval", ["ts_ns", "source_id", "event", "count"], [None] * 4, events)]
    inputs.append(Input("machine_fact", ["key", "value"], [None] * 2, [f"{fact}" for fact in facts.items()]))
    return Case("", inputs)


@pytest.mark.parametrize("name", CASES)
def test_published_expressions(name: str) -> None:
    source, facts, counts, constants = CASES[name]
    with filled(case_of(facts, counts)) as connection:
        for column, expression in PUBLISHED[source].items():
            (ours,) = connection.execute(f"SELECT 100 * {column} FROM top_down").fetchone()
            assert ours == pytest.approx(evaluate(expression, counts | constants), rel=1e-12, abs=1e-12), column
