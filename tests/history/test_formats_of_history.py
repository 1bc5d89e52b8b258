"""The rows of a history are the same in every format."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.cli import succeed
from tests.support.fakecase import make_case, put
from tests.support.formats import assert_same_in_every_format


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight captures of four hosts, two of which need half of the cycles; one capture has no counters, another is no capture."""
    root = tmp_path_factory.mktemp("store")
    blank = make_case(root / "blank", {})
    for number in range(9):
        case = root / f"{number}.case"
        shutil.copytree(blank, case)
        put(case, "capture", [{
            "capture_id": str(number), "hostname": f"node-{number % 4}", "start_realtime_ns": (1_767_571_200 + number) * 10**9,
            "duration_ns": 2 * 10**9, "note": "quoted \"words\", ‘and’ more", "cpu_count": 4,
        }])  # fmt: skip
        cycles = 1800 + number if number % 4 < 2 else 900 + number
        put(case, "pmc_interval", [
            {"source_id": 1, "ts_ns": 10**9, "event": event, "count": float(count), "running_ratio": 1.0, "status": "counted"}
            for event, count in {"cycles": cycles, "instructions": 1000}.items()
        ] if number < 8 else [])  # fmt: skip
    shutil.rmtree(blank)
    (root / "x.perfcase").write_text("no capture")
    return root


@pytest.mark.parametrize(
    "options",
    [
        ("--limit", 5),
        ("--view", "pmcarch", "--measure", "cpi", "--baseline", "host=node-0", "--bands", "--by", "host"),
        ("--view", "pmcarch", "--bands"),
    ],
)
def test_the_rows_are_the_same_in_every_format(store: Path, tmp_path: Path, options: tuple[object, ...]) -> None:
    rows = json.loads(succeed("history", store, *options, "--format", "json"))

    def write(fmt: str, path: Path) -> None:
        assert succeed("history", store, *options, "--format", fmt, "--output", path) == ""

    assert_same_in_every_format(rows, tmp_path, write)
