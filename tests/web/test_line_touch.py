"""Fingers on the time line: one moves it, two zoom and move it, and the moments under them stay there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from perfcase.case.scope import parse_part
from tests.web.chromium import Page
from tests.web.conftest import Site
from tests.web.line import axis, opened, param, settled, top

Place = tuple[float, float]


@pytest.fixture
def touched(page: Page, site: Site) -> Iterator[Page]:
    """A time line on a screen that is touched. Chromium takes it once: after another page is opened no finger arrives any more."""
    page.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    opened(page, site.at(f"c/{site.ids['x86_64']}/timeline?turn=host"))
    yield page
    page.call("Emulation.setTouchEmulationEnabled", enabled=False)


def middle(page: Page) -> tuple[int, int]:
    """Show a part in the middle: room for all that fingers do."""
    page.see("location.hash = `${location.hash.split('?')[0]}?turn=host&zoom=6s..10s`; 0")
    settled(page)
    return seen(page)


def touch(page: Page, *fingers: tuple[Place, Place], steps: int = 12) -> None:
    """Fingers that go from one place to another, all at once."""

    def send(kind: str, part: float | None) -> None:
        points = [] if part is None else [
            {"x": a[0] + (b[0] - a[0]) * part, "y": a[1] + (b[1] - a[1]) * part, "id": number}
            for number, (a, b) in enumerate(fingers)
        ]  # fmt: skip
        page.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    send("touchStart", 0)
    for step in range(1, steps + 1):
        send("touchMove", step / steps)
    send("touchEnd", None)
    settled(page)


def seen(page: Page) -> tuple[int, int]:
    part = parse_part(param(page, "zoom"))
    return part.start_ns, part.end_ns


def moment(span: tuple[int, int], part: float) -> float:
    """What is at a part of the width."""
    return span[0] + part * (span[1] - span[0])


WAYS = [
    ((0.45, 0.55), (0.2, 0.8)),  # They part.
    ((0.45, 0.55), (0.45, 0.9)),  # One stays.
    ((0.3, 0.6), (0.4, 0.7)),  # They go together.
    ((0.3, 0.9), (0.5, 0.8)),  # They come closer, on the way.
]
"""Where two fingers are, and where they go, in parts of the width."""


def test_moments_stay_under_the_fingers(touched: Page) -> None:
    page = touched
    y = top(page, "cpu:0") + 10
    left, width = axis(page)
    for first, second in WAYS:
        before = middle(page)
        touch(page, *(((left + a * width, y), (left + b * width, y)) for a, b in zip(first, second, strict=True)))
        after = seen(page)
        for a, b in zip(first, second, strict=True):
            assert abs(moment(after, b) - moment(before, a)) < 2 * (after[1] - after[0]) / width, (first, second)
    # One finger moves. A part of the capture is not chosen by it.
    middle(page)
    touch(page, ((left + 0.6 * width, y), (left + 0.3 * width, y)))
    begin, end = seen(page)
    assert abs(end - begin - 4e9) < 1e6
    # What it goes before the browser knows that it moves is not made up for.
    assert abs(begin - 6e9 - 0.3 * 4e9) < 0.03 * 4e9
    assert param(page, "window") is None
    # A finger that only taps chooses what is there; none is left behind: the next one begins for itself.
    # To the browser of a busy machine a tap may be a long press: then once more.
    for _ in range(5):
        touch(page, ((left + 0.5 * width, y), (left + 0.5 * width, y)), steps=0)
        page.see("new Promise((done) => setTimeout(done, 300))")
        if page.see("location.hash.includes('pick=cpu%3A0')"):
            break
    page.until("location.hash.includes('pick=cpu%3A0')")
    touch(page, ((left + 0.5 * width, y), (left + 0.6 * width, y)))
    assert seen(page)[1] - seen(page)[0] == pytest.approx(4e9, rel=1e-3)
