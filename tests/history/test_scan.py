"""Which of all figures lie in two bands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from perfcase.catalogue.views import load_views
from perfcase.errors import PerfcaseError
from perfcase.fleet.captures import load
from perfcase.fleet.scan import scan
from tests.support.cli import fail, succeed
from tests.support.fakecase import make_case, put

CPI = [0.62, 1.80, 1.75, 1.91, 0.66, 1.84, 1.69, 1.88]
"""Those of node-0 to node-7: two are fast."""
LOADS = [3.1, 2.7, 3.3, 2.9, 3.0, 3.2, 2.8, 3.1]
"""Without a gap."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("store")
    blank = make_case(root / "blank", {})
    for number, (cpi, load_1min) in enumerate(zip(CPI, LOADS, strict=True)):
        case = root / f"{number}.case"
        shutil.copytree(blank, case)
        put(case, "capture", [
            {"capture_id": str(number), "hostname": f"node-{number}", "start_realtime_ns": number, "cpu_count": 4,
             "duration_ns": (1 + number % 2) * 10**9},
        ])  # fmt: skip
        put(case, "pmc_interval", [
            {"source_id": 1, "ts_ns": 10**9, "event": event, "count": count, "running_ratio": 1.0, "status": "counted"}
            for event, count in (("cycles", cpi * 1e6 * (1 + number % 2)), ("instructions", 1e6 * (1 + number % 2)))
        ])  # fmt: skip
        put(
            case,
            "proc_load",
            [{"source_id": 2, "snapshot": 0, "ts_ns": 1, "load_1min": load_1min, "thread_count": 100}],
        )
        # A process of two hosts only: of the others nothing is known.
        if number < 2:
            put(case, "thread", [{"utid": 1, "tid": 7, "comm": "canary"}])
    shutil.rmtree(blank)
    return root


def test_the_banded_figures_are_named_with_their_hosts(store: Path) -> None:
    views = [load_views()[name] for name in ("pmcarch", "load_average", "thread_time")]
    found = scan(load([store]).captures, views, lambda *_: None)
    # Cycles and instructions are per second: the even and the odd captures have the same of these.
    assert [(each.view, each.measure, each.unit) for each in found.banded] == [
        ("pmcarch", "ipc", "instructions/cycle"), ("pmcarch", "cycles", "count per s"),
    ]  # fmt: skip
    ipc, cycles = found.banded
    assert (ipc.split.low_count, ipc.split.high_count, ipc.high_hosts) == (6, 2, ("node-0", "node-4"))
    assert cycles.low_hosts == ("node-0", "node-4")
    assert cycles.split.low_median == pytest.approx(640_000)
    # Three of pmcarch (no cache was counted), load_1min, load_per_cpu and thread_count.
    assert found.judged == 6
    assert found.problems == []


def test_one_command_tries_a_view(store: Path) -> None:
    rows = json.loads(succeed("history", store, "--bands", "--view", "pmcarch", "--format", "json"))
    assert [(row["measure"], row["low_hosts"][:1], row["high_hosts"]) for row in rows] == [
        ("ipc", ["node-1"], ["node-0", "node-4"]),
        ("cycles", ["node-0"], [f"node-{number}" for number in (1, 2, 3, 5, 6, 7)]),
    ]
    assert rows[0]["needed"] == 9.0
    told = succeed("history", store, "--bands", "--view", "load_average").splitlines()
    assert told == ["0 figures of 3 in two bands; --view NAME --measure COLUMN says since when"]
    assert "is not" in fail(2, "history", store, "--bands", "--view", "stack_folded")
    assert "need one figure" in fail(2, "history", store, "--bands", "--where", "true")


def test_too_few_captures(store: Path) -> None:
    with pytest.raises(PerfcaseError, match="bands cannot be judged with 7 captures"):
        scan(load([store]).captures[:7], [], lambda *_: None)
