"""perfcase diff --baseline: a capture against the median of many."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from perfcase.errors import PerfcaseError
from perfcase.fleet.usual import parse
from tests.support.cli import fail, succeed
from tests.support.fakecase import make_case, put

LOADS = [3.1, 2.7, 3.3, 2.9, 3.0, 9.0]
"""Median 3.05; distances 0.05 0.35 0.25 0.15 0.05 5.95: the MAD is 0.2. One odd capture widens neither."""


def fill(case: Path, name: str, load_1min: float, switches: int, seconds: int) -> None:
    row = {
        "capture_id": name,
        "name": name,
        "hostname": name,
        "start_realtime_ns": 1,
        "cpu_count": 4,
        "duration_ns": seconds * 10**9,
    }
    put(case, "capture", [row])
    put(case, "proc_load", [{"source_id": 2, "snapshot": 0, "ts_ns": 1, "load_1min": load_1min}])
    put(case, "pmc_interval", [
        {"source_id": 1, "ts_ns": 10**9, "interval_ns": seconds * 10**9, "event": "context-switches", "count": switches,
         "running_ratio": 1.0, "status": "counted"},
    ])  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("usual")
    blank = make_case(root / "blank.case", {})
    for number, load_1min in enumerate(LOADS):
        # 100 switches a second, whatever the length.
        fill(
            shutil.copytree(blank, root / "s" / f"{number}.case"),
            f"web-{number}",
            load_1min,
            100 * (number + 1),
            number + 1,
        )
    fill(shutil.copytree(blank, root / "high.case"), "high", 12.05, 1000, 2)
    fill(shutil.copytree(blank, root / "same.case"), "same", 3.2, 210, 2)
    return root


def compared(store: Path, name: str, view: str, selector: str = "") -> list[dict]:
    told = succeed(
        "diff", store / f"{name}.case", "--baseline", f"{store / 's'}{selector}", "--view", view, "--format", "json"
    )
    return json.loads(told)


def test_what_is_out_of_the_ordinary_is_told_with_the_spread(store: Path) -> None:
    (row,) = [row for row in compared(store, "high", "load_average") if row["measure"] == "load_1min"]
    assert (row["a"], row["b"], round(row["difference"], 9)) == (3.05, 12.05, 9)
    assert row["sigmas"] == pytest.approx(9 / (1.4826 * 0.2))


def test_amounts_are_compared_per_second(store: Path) -> None:
    (row,) = compared(store, "high", "software_events")
    assert (row["key"], row["a_per"], row["b"], row["b_per"]) == ("event context-switches", 100, 1000, 500)
    # All captures have the same rate, but a count of 1000 is known to 32 at best, in 2 s.
    assert row["sigmas"] == pytest.approx(400 / (1000**0.5 / 2))


def test_what_the_baseline_reaches_is_nothing(store: Path) -> None:
    assert compared(store, "same", "load_average") == []
    assert compared(store, "same", "software_events") == []
    told = succeed("diff", store / "same.case", "--baseline", store / "s", "--view", "load_average")
    assert told.splitlines()[:3] == [f"A  median of 6 captures of {store / 's'}", "B  same.case", ""]
    assert "nothing is out of the ordinary" in told


def test_the_selector_and_itself(store: Path) -> None:
    (row,) = [
        row for row in compared(store, "high", "load_average", ":host=web-[0-2]") if row["measure"] == "load_1min"
    ]
    assert row["a"] == 3.1
    told = fail(2, "diff", store / "s" / "0.case", "--baseline", f"{store / 's'}:host=web-[0-2]")
    assert told.endswith("2 captures to compare with (3 are needed)")
    assert "replaces the other" in fail(2, "diff", store / "same.case", store / "high.case", "--baseline", store / "s")


def test_captures_that_are_named_one_by_one(store: Path) -> None:
    """As the server names them: their folders, and the selector alone."""
    also = [word for number in range(6) for word in ("--also", store / "s" / f"{number}.case")]
    options = ("--view", "load_average", "--format", "json")
    told = succeed("diff", store / "high.case", "--baseline", ":host=web-[0-2]", *also, *options)
    assert json.loads(told) == compared(store, "high", "load_average", ":host=web-[0-2]")
    told = succeed("diff", store / "high.case", "--baseline", ":", *also, *options)
    assert json.loads(told) == compared(store, "high", "load_average")
    assert "--also needs --baseline" in fail(2, "diff", store / "high.case", store / "same.case", "--also", store / "s")


def test_a_folder_and_times_have_colons(tmp_path: Path) -> None:
    folder = tmp_path / "a:b"
    folder.mkdir()
    assert parse(str(folder)) == (folder, None)
    assert parse(f"{folder}:before=2026-01-05T12:00") == (folder, "before=2026-01-05T12:00")
    with pytest.raises(PerfcaseError, match="no such folder"):
        parse(f"{tmp_path}/c:host=x")
