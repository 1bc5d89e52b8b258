"""A week on the time line: a snapshot of /proc each minute. It opens, and moves from the week to a microsecond and back."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import httpx
import pytest

from perfcase.case.scope import parse_part
from tests.api.conftest import wait_ready
from tests.web.chromium import ROOT, Page
from tests.web.conftest import Site, rows
from tests.web.line import FIGURES, axis, opened, param, settled, titles, top

MINUTES = 7 * 24 * 60
CPU = "chart:cpu_utilization.timeline.1"


@pytest.fixture(scope="module")
def week(client: httpx.Client) -> str:
    spec = importlib.util.spec_from_file_location("proc", ROOT / "analyzer" / "benches" / "proc.py")
    assert spec
    assert spec.loader
    proc = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(proc)
    data = "".join(proc.snapshots(MINUTES + 1, 4, 60)).encode()
    sent = client.post("/v1/captures", params={"name": "week.snapshots"}, content=data).json()["capture_id"]
    assert wait_ready(client, sent)["state"] == "ready"
    return sent


def test_a_week(week: str, page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    length = rows(client, week, "capture")[0]["duration_ns"]
    assert length == pytest.approx(MINUTES * 60e9, rel=1e-4)
    opened(page, site.at(f"c/{week}/timeline"))
    page.has("0 s to 7 d: 7 d", ".line-head")
    assert {"CPU", "Memory"} <= set(titles(page))
    look("line-week")
    page.see("document.querySelector('.line').focus()")
    page.mouse("mouseMoved", 5, 5)
    for key, times in (("w", 12), ("d", 5)):
        for _ in range(times):
            page.press(key)
        settled(page)
    part = parse_part(param(page, "zoom"))
    assert (part.end_ns - part.start_ns) == pytest.approx(length / 1.5**12, rel=0.01)
    # The figure under the cursor is that of its minute.
    y = top(page, CPU) + 30
    left, width = axis(page)
    page.mouse("mouseMoved", left + width / 2, y)
    middle = (part.start_ns + part.end_ns) // 2
    (busy,) = rows(client, week, "cpu_utilization", columns="busy_ratio",
                   where=f"cpu = 'all' AND {middle} BETWEEN ts_ns AND ts_ns + interval_ns")  # fmt: skip
    page.until(f"{FIGURES.format(track=CPU)}[0] === '{busy['busy_ratio']:.1%}'.replace('%', ' %')")
    page.mouse("mouseMoved", 5, 5)
    for _ in range(60):
        page.press("w")
    settled(page)
    part = parse_part(param(page, "zoom"))
    assert part.end_ns - part.start_ns <= 2000
    page.screenshot("line-week-microsecond")
    # Behind the end nothing goes on.
    page.press("Escape")
    settled(page)
    for _ in range(3):
        page.press("d")
    settled(page)
    assert param(page, "zoom") is None
