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
    """A time line on a screen that is touched."""
    page.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    opened(page, site.at(f"c/{site.ids['x86_64']}/timeline?turn=host"))
    yield page
    page.call("Emulation.setTouchEmulationEnabled", enabled=False)


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


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (((0.45, 0.55)), ((0.2, 0.8))),  # They part.
        (((0.45, 0.55)), ((0.45, 0.9))),  # One stays.
        (((0.3, 0.6)), ((0.4, 0.7))),  # They go together.
        (((0.3, 0.9)), ((0.5, 0.8))),  # They come closer, on the way.
    ],
)
def test_two_fingers_zoom_and_move(touched: Page, first: tuple, second: tuple) -> None:
    page = touched
    y = top(page, "cpu:0") + 10
    left, width = axis(page)
    # Room for all that fingers do: a part in the middle.
    page.see("location.hash = location.hash + '&zoom=6s..10s'; 0")
    settled(page)
    before = seen(page)
    touch(page, *(((left + a * width, y), (left + b * width, y)) for a, b in zip(first, second, strict=True)))
    after = seen(page)
    for a, b in zip(first, second, strict=True):
        # Within two pixels, and what the browser holds back before it knows that a finger moves.
        assert abs(moment(after, b) - moment(before, a)) < 4 * (after[1] - after[0]) / width + 0.02 * (
            before[1] - before[0]
        )


def test_one_finger_moves_and_a_tap_chooses(touched: Page) -> None:
    page = touched
    y = top(page, "cpu:0") + 10
    left, width = axis(page)
    page.see("location.hash = location.hash + '&zoom=6s..10s'; 0")
    settled(page)
    touch(page, ((left + 0.6 * width, y), (left + 0.3 * width, y)))
    begin, end = seen(page)
    assert abs(end - begin - 4e9) < 1e6
    assert abs(begin - 6e9 - 0.3 * 4e9) < 0.1 * 4e9
    assert param(page, "window") is None, "a finger that moves the time chooses no part"
    touch(page, ((left + 0.5 * width, y), (left + 0.5 * width, y)), steps=0)
    page.until("location.hash.includes('pick=cpu%3A0')")
    # No finger is left behind: the next one begins for itself.
    touch(page, ((left + 0.5 * width, y), (left + 0.6 * width, y)))
    assert seen(page)[1] - seen(page)[0] == pytest.approx(4e9, rel=1e-3)
