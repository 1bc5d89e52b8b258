"""What a reader sees does not move while a page comes: the cumulative layout shift (web.dev/cls) stays below 0.05, half of what counts as good."""

from __future__ import annotations

import time

import httpx
import pytest

from tests.web.chromium import Page
from tests.web.conftest import CALM, Site, sql
from tests.web.line import STATES, axis, opened, top

MOST = 0.05
OBSERVE = """
window.shifts = [];
new PerformanceObserver((list) => list.getEntries().forEach(({value, hadRecentInput, sources}) => hadRecentInput || shifts.push(
  [value, ...sources.map(({node, previousRect, currentRect}) => `${(node?.outerHTML ?? "?").slice(0, 80)} ${previousRect.y} to ${currentRect.y}`)])
)).observe({type: "layout-shift", buffered: true}); 0
"""
PAGES = (
    "overview",
    "flame",
    "offcpu",
    "timeline",
    "histograms",
    "threads",
    "syscalls",
    "report",
    "views?view=thread_time",
)


@pytest.mark.parametrize("path", [*(f"c/{{x86_64}}/{page}" for page in PAGES), "c/{tcp}/overview", "captures"])
def test_nothing_moves_while_a_page_comes(path: str, page: Page, site: Site) -> None:
    page.open("about:blank")
    page.open(site.at(path.format(**site.ids)))
    page.see(OBSERVE)
    page.until(CALM)
    page.see("new Promise((done) => setTimeout(done, 500))")
    page.until(CALM)
    shifts = page.see("shifts")
    assert sum(value for value, *_ in shifts) < MOST, shifts


def lane_of_waits(page: Page, site: Site, client: httpx.Client) -> float:
    """Where the states of a thread are that changes them often, on the time line."""
    capture = site.ids["tcp"]
    (thread,) = sql(client, capture, "SELECT utid, min(ts_ns) AS begin_ns, max(ts_ns) AS end_ns FROM followed_state GROUP BY utid"
                    " ORDER BY count(*) DESC, utid LIMIT 1")  # fmt: skip
    opened(page, site.at(f"c/{capture}/timeline?zoom={thread['begin_ns']}ns..{thread['end_ns']}ns"))
    return top(page, f"t:{thread['utid']}") + STATES


def test_what_stands_at_the_pointer_shifts_nothing(page: Page, site: Site, client: httpx.Client) -> None:
    """Its text changes with what is below the pointer."""
    y = lane_of_waits(page, site, client)
    left, width = axis(page)
    page.see(OBSERVE)
    page.see("new Promise((done) => setTimeout(() => done(shifts.length = 0), 100))")
    told = set()
    for part in range(5, 96, 3):
        page.mouse("mouseMoved", left + width * part / 100, y)
        page.see("new Promise(requestAnimationFrame)")
        told.add(page.see("document.querySelector('.line-tip')?.innerText"))
    page.see("new Promise((done) => setTimeout(done, 100))")
    assert len(told - {None}) > 3
    assert page.see("shifts") == []


def test_the_tip_is_beside_the_pointer_and_in_the_window(page: Page, site: Site, client: httpx.Client) -> None:
    y = lane_of_waits(page, site, client)
    left, width = axis(page)
    sides = set()
    for part in range(2, 99, 8):
        x = left + width * part / 100
        page.mouse("mouseMoved", x, y)
        page.see("new Promise(requestAnimationFrame)")
        place = page.see(
            "(({left, right, top}) => [left, right, top, innerWidth])(document.querySelector('.line-tip')?.getBoundingClientRect() ?? {})"
        )
        if place[0] is None:
            continue
        begin, end, above, room = place
        sides.add(begin > x)
        assert 0 <= begin < end <= room
        assert min(abs(begin - x), abs(end - x)) == pytest.approx(12, abs=1)
        assert above == pytest.approx(y + 16, abs=1)
    assert sides == {False, True}


def test_the_time_line_of_a_part_waits_for_no_finding(page: Page, site: Site) -> None:
    """Charts of a part are kept, findings of it are not: anyone who drags over the time line goes on with it at once."""
    page.open("about:blank")
    with page.hold("*/findings*"):
        page.open(site.at(f"c/{site.ids['tcp']}/overview?window=2s..3s"))
        page.until(
            "document.querySelector('.line-canvas')?.dataset.painted && document.querySelector('.line').checkVisibility({checkVisibilityCSS: true})"
        )
    page.until(CALM)


def test_what_a_page_needs_is_asked_for_at_once(page: Page, site: Site) -> None:
    """The code of a page and the schema do not wait for the capture. On the time line, what stands in sight comes before what is folded."""
    capture = site.ids["x86_64"]
    page.open("about:blank")
    with page.hold(f"*/v1/captures/{capture}"):
        page.open(site.at(f"c/{capture}/timeline"))
        end = time.monotonic() + 30
        while not (
            any(url.endswith("/v1/schema") for url in page.requests)
            and any("/assets/timeline" in url for url in page.requests)
        ):
            assert time.monotonic() < end, page.requests
            page.see("new Promise((done) => setTimeout(done, 50))")
    page.until("document.querySelector('.line-canvas')?.dataset.painted")
    page.until(CALM)

    def urgency(view: str) -> set[str | None]:
        return {said for url, said in page.priorities.items() if f"{capture}/views/{view}?" in f"{url}?"}

    assert urgency("thread_time") >= {"u=1"}
    assert urgency("cpu_lane") >= {"u=1"}
    assert urgency("software_events") == {"u=5"}
