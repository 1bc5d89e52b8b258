"""What tests do with the time line: where its tracks are, and where a moment is."""

from __future__ import annotations

from tests.web.chromium import Page
from tests.web.conftest import CALM

NAMES = 190
"""Pixels of the titles beside the tracks, in a wide window."""
STATES, CALLS, CAUSES = 1 + 8, 1 + 17 + 4, 1 + 17 + 9 + 3
"""Pixels from the top of a thread's track to its states, its system calls, what it waited for."""
SETTLED = (
    "document.querySelector('.line-canvas')?.dataset.painted && document.querySelector('.line').dataset.detail === 'whole'"
    f" && {CALM}"
)
FIGURES = "[...document.querySelectorAll('[data-track=\"{track}\"] .line-legend b')].map((one) => one.innerText)"
"""What a track's legend says of the moment under the cursor."""
SAID = "document.querySelector('.line + .visually-hidden').innerText"
"""What a reader who does not see the picture is told."""


def opened(page: Page, address: str) -> None:
    """Open a time line and wait for all that it shows."""
    page.open("about:blank")
    page.open(address)
    settled(page)


def settled(page: Page) -> None:
    # What moves is asked for when it rests.
    page.see("new Promise((done) => setTimeout(done, 200))")
    page.until(SETTLED)


def titles(page: Page) -> list[str]:
    """The tracks in sight, from above."""
    return page.see("[...document.querySelectorAll('.line-label .line-title')].map((one) => one.innerText)")


def top(page: Page, track: str) -> float:
    """Where a track begins in the window; it is brought into sight."""
    return page.see(
        f"((one) => {{ one.scrollIntoView({{block: 'center'}}); return one.getBoundingClientRect().y; }})"
        f"(document.querySelector('[data-track=\"{track}\"]'))"
    )


def axis(page: Page) -> tuple[float, float]:
    """Where the axis of time begins in the window, and how wide it is."""
    left, width = page.see(
        "(({x, width}) => [x, width])(document.querySelector('.line-canvas').getBoundingClientRect())"
    )
    return left + NAMES, width - NAMES


def at(page: Page, moment: float, length: float) -> float:
    """Where a moment of an unzoomed time line is in the window."""
    left, width = axis(page)
    return left + moment / length * width


def param(page: Page, name: str) -> str | None:
    return page.see(f"new URLSearchParams(location.hash.split('?')[1]).get({name!r})")


def pixel(page: Page, x: float, y: float) -> list[int]:
    """Red, green, blue and opacity of a pixel of the picture."""
    return page.see(
        "(() => { const copy = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});"
        f" copy.drawImage(document.querySelector('.line-canvas'), {round(x)}, {round(y)}, 1, 1, 0, 0, 1, 1);"
        " return [...copy.getImageData(0, 0, 1, 1).data]; })()"
    )
