"""Each cause of the table blame has its words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfcase.catalogue.causes import FOLLOWED, due, gaps
from perfcase.catalogue.schema import load_tables
from perfcase.text import duration, ratio
from tests.support.cli import run_here
from tests.support.imports import placed

(DESCRIPTION,) = (column.description for column in load_tables()["blame"].columns if column.name == "cause")
CAUSES = re.findall(r"(?:\. |^)([a-z_]+): ", DESCRIPTION)


def test_all_causes_are_described() -> None:
    assert len(CAUSES) == 15


@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_has_words(cause: str) -> None:
    wait = {"comm": "a", "cause": cause, "on_comm": "b", "on_target": "target", "on_call": "read"}
    words = due(wait)
    assert words != cause
    assert "None" not in words + due(dict.fromkeys(wait) | {"cause": cause})


def test_who_is_somebody_else_is_named() -> None:
    wait = {"comm": "a", "cause": "disk", "on_comm": "b", "on_target": "sda"}
    assert due(wait) == "sda, by b"
    assert due(wait | {"on_comm": "a"}) == "sda"
    assert due(wait | {"cause": "running", "on_call": "fsync"}) == "b, which ran (in fsync)"


def test_what_was_not_followed_is_one_sentence() -> None:
    knot = {"cause": "not_followed", "meaning": "a knot", "part_count": 1, "wait_ns": 1_500_000, "wait_ratio": 0.25}
    lost = {"cause": "not_recorded", "meaning": "lost", "part_count": 2000, "wait_ns": 0, "wait_ratio": 0.0}
    assert gaps([]) is None
    assert gaps([knot]) == "not followed to its cause: 1 part of waits, 1.5 ms, 25.0 % of the time waited (a knot)"
    assert gaps([knot, lost]) == f"{gaps([knot])}; 2,000 parts of waits, 0 ns, 0.0 % of the time waited (lost)"


def test_it_is_said_beside_the_rows(tmp_path: Path) -> None:
    """Share and count as the table has them; nothing is said beside other views."""
    sample = Path(__file__).parents[2] / "sample-captures" / "x86_64-scheduling" / "x.perfcase"
    case = str(placed(sample, tmp_path))
    counted = "SELECT count(*) FILTER (c), sum(d) FILTER (c), sum(d) FILTER (c) / sum(d) FROM"
    code, out, said = run_here(
        ["sql", case, f"{counted} (SELECT cause = 'not_recorded' AS c, duration_ns AS d FROM blame)", "--format", "csv"]
    )
    assert code == 0, said
    count, ns, share = out.decode().splitlines()[1].split(",")
    expected = f"{int(count):,} parts of waits, {duration(int(ns))}, {ratio(float(share))} of the time waited"
    for view in FOLLOWED:
        for fmt in ("table", "json"):
            _, out, said = run_here(["view", view, case, "--limit", "1", "--format", fmt])
            assert expected in said.decode()
            assert expected not in out.decode()
    assert b"not followed" not in run_here(["view", "thread_time", case, "--limit", "1"])[2]
    assert expected in run_here(["report", case])[1].decode()
