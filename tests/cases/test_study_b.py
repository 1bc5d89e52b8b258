"""B, "seeing through hardware counters": two counters on one cache line and on a line each, and the published figures.

The recordings are of an emulation without caches: they hold that the same program looks the same. The published figures are by hand.
"""

from __future__ import annotations

import pytest

from tests.cases.conftest import Printed, QueryRows

SHARED, PADDED = "b-false-sharing/shared.perfcase", "b-false-sharing/padded.perfcase"
SLOW, FAST = "b-false-sharing/published/slow.csv", "b-false-sharing/published/fast.csv"


def test_published_counters_come_first_and_the_ratios_are_theirs(rows: QueryRows) -> None:
    lines = rows("diff", FAST, SLOW)
    assert [(line["view"], line["measure"]) for line in lines[:2]] == [
        ("pmcarch", "ipc"),
        ("microarchitecture", "machine_clears_pki"),
    ]
    assert float(lines[0]["ratio"]) == pytest.approx(1 / 3, rel=0.001)  # three times the cycles of an instruction
    assert float(lines[1]["ratio"]) == pytest.approx(4, rel=0.001)


def test_the_signature_is_found_in_the_slow_node_only(rows: QueryRows) -> None:
    assert [row["finding"] for row in rows("sql", SLOW, "FROM finding")] == ["false_sharing"]
    assert rows("sql", FAST, "FROM finding") == []


@pytest.mark.parametrize("capture", [SHARED, PADDED])
def test_both_recordings_spend_their_time_in_the_same_function(rows: QueryRows, capture: str) -> None:
    (first, *_) = rows("view", "function_profile", capture)
    assert (first["symbol"], first["dso"]) == ("count", "counters")
    assert float(first["self_ratio"]) > 0.85


@pytest.mark.parametrize("capture", [SHARED, PADDED])
def test_the_emulation_has_one_cost_of_an_instruction(rows: QueryRows, capture: str) -> None:
    assert {round(float(row["cpi"]), 3) for row in rows("view", "pmcarch", capture)} == {2.0}


def test_no_difference_of_counters_is_claimed_where_there_is_none(rows: QueryRows) -> None:
    lines = rows("diff", SHARED, PADDED)
    assert [line for line in lines if line["view"] in ("pmcarch", "microarchitecture", "function_profile")] == []


def test_diff_says_that_the_stacks_have_the_same_shape(printed: Printed) -> None:
    assert "Stacks  same shape:" in printed("diff", SHARED, PADDED)
