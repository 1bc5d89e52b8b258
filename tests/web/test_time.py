"""Axes of time and times of day: nothing where nothing was recorded, and one clock whose zone the page says."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import httpx
import pytest

from tests.web.chromium import Page
from tests.web.conftest import Site, rows, sql
from tests.web.line import FIGURES, NAMES, axis, opened, titles, top

FAR = "Australia/Eucla"
"""A quarter of an hour from every whole one: no zone that a page has by chance."""
CHART = "chart:run_queue_length.timeline.2"
CANVAS = "document.querySelector('.line-canvas')"
INKED = """(([canvas, ...box]) => {{
  const [, , width, height] = box;
  const copy = new OffscreenCanvas(width, height).getContext('2d', {{willReadFrequently: true}});
  copy.drawImage(canvas, ...box, 0, 0, width, height);
  const data = copy.getImageData(0, 0, width, height).data;
  let found = 0;
  for (let at = 3; at < data.length; at += 4) found += data[at] > 20;
  return found;
}})([{canvas}, {x}, {y}, {width}, {height}])"""
"""How many pixels of a box of a canvas something is drawn on."""


def test_the_time_line_has_no_figure_where_none_was_recorded(
    page: Page, site: Site, client: httpx.Client, look: Callable
) -> None:
    """Under the cursor a chart has a figure exactly where a row of its view covers the moment; elsewhere it is hatched."""
    capture = site.ids["x86_64"]
    (length,) = (row["duration_ns"] for row in rows(client, capture, "capture"))
    charts = {
        "chart:cpu_utilization.timeline.1": rows(client, capture, "cpu_utilization", where="cpu = 'all'"),
        CHART: rows(client, capture, "run_queue_length", set="interval_ns=50000000"),
    }
    opened(page, site.at(f"c/{capture}/overview"))
    assert len(titles(page)) == 5
    page.has("hatched: nothing was recorded", ".time-line")
    seen = set()
    for track, known in charts.items():
        y = top(page, track)
        x, width = axis(page)
        for part in range(1, 60):
            at = round(x + width * part / 60)
            moment = (at - x) / width * length
            pixel = length / width
            beside = [
                sum(row["ts_ns"] <= edge <= row["ts_ns"] + row["interval_ns"] for row in known) > 0
                for edge in (moment - pixel, moment, moment + pixel)
            ]
            if len(set(beside)) > 1:
                continue  # An edge, to the pixel.
            page.mouse("mouseMoved", at, y + 30)
            page.see("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            said = page.see(FIGURES.format(track=track))
            assert said
            assert [text != "–" for text in said] == [beside[0]] * len(said), (track, moment, said)
            time = page.see("document.querySelector('.line-time').innerText")
            assert abs(float(time.split(" s")[0]) * 1e9 - moment) < 2 * pixel, "the cursor's own time"
            seen.add((track.split(".")[0], beside[0]))
    assert ("chart:run_queue_length", False) in seen
    assert {("chart:cpu_utilization", True), ("chart:run_queue_length", True)} <= seen
    # What is hatched is what has no figure.
    x, width = axis(page)
    y = top(page, CHART) - page.see(f"{CANVAS}.getBoundingClientRect().y")
    known = charts[CHART]
    first = min(row["ts_ns"] for row in known)
    inked = [
        page.see(INKED.format(canvas=CANVAS, x=round(NAMES + width * part), y=round(y) + 22, width=21, height=14))
        for part in (0.3 * first / length, 0.7 * first / length)
    ]
    assert min(inked) > 40, "hatched"
    quiet = [row for row in known if row["ts_ns"] > 1.1 * first and row["waiting_avg_count"] < 0.2]
    middle = quiet[len(quiet) // 2]["ts_ns"] / length
    assert (
        page.see(INKED.format(canvas=CANVAS, x=round(NAMES + width * middle), y=round(y) + 22, width=3, height=14)) < 20
    )
    look("gaps")


def test_a_chart_that_is_zoomed_has_the_figures_of_its_time(page: Page, site: Site, client: httpx.Client) -> None:
    """Rows of a part of the recording count from its beginning. While a queue stays as long as it is, that is its mean length."""
    capture = site.ids["x86_64"]
    stays = sql(client, capture, "SELECT ts_ns, duration_ns, cpu, waiting_count FROM cpu_level WHERE ts_ns BETWEEN 6e9 AND 16e9 AND waiting_count > 0"
                " QUALIFY row_number() OVER (PARTITION BY cpu, waiting_count ORDER BY duration_ns DESC, ts_ns) = 1 ORDER BY duration_ns DESC LIMIT 6")  # fmt: skip
    assert len({stay["waiting_count"] for stay in stays}) >= 2
    for stay in stays:
        begin, end = (stay["ts_ns"] + part * stay["duration_ns"] for part in (-0.5, 1.5))
        opened(page, site.at(f"c/{capture}/timeline?zoom={begin / 1e9:.9f}s..{end / 1e9:.9f}s"))
        left, width = axis(page)
        page.mouse("mouseMoved", left + width / 2, top(page, CHART) + 30)
        told = f"[...document.querySelectorAll('[data-track=\"{CHART}\"] .line-legend li')].map((one) => one.innerText.trim())"
        page.until(f"{told}.includes('{stay['waiting_count']} cpu {stay['cpu']}')")


def test_lanes_are_hatched_beyond_the_recording_of_states(
    page: Page, site: Site, client: httpx.Client, look: Callable
) -> None:
    capture = site.ids["x86_64"]
    (length,) = (row["duration_ns"] for row in rows(client, capture, "capture"))
    (span,) = rows(client, capture, "recorded_span", where="table_name = 'thread_state'")
    assert 0.2 < span["start_ts_ns"] / length < 0.8
    opened(page, site.at(f"c/{capture}/timeline?turn=host"))
    page.has("hatched: nothing was recorded", ".line-head")
    _, width = axis(page)
    edge = NAMES + width * span["start_ts_ns"] / length

    def hatched(x: float) -> bool:
        """A CPU's track, in which nothing is drawn otherwise."""
        y = top(page, "cpu:0") - page.see(f"{CANVAS}.getBoundingClientRect().y")
        return page.see(INKED.format(canvas=CANVAS, x=round(x), y=round(y) + 2, width=28, height=14)) > 40

    assert hatched(NAMES + 20)
    assert hatched(edge - 34)
    look("lanes-gaps")
    # A part in which states are known all the time has no hatching, and does not speak of it: here CPU 0 ran nothing.
    runs = rows(client, capture, "cpu_lane", where="cpu = 0", set="buckets=10000", order="ts_ns", limit=10000)
    gaps = [(run["ts_ns"] + run["duration_ns"], later["ts_ns"]) for run, later in itertools.pairwise(runs)]
    begin, end = max(gaps, key=lambda gap: gap[1] - gap[0])
    opened(page, site.at(f"c/{capture}/timeline?turn=host&zoom={begin / 1e9 + 1e-4:.6f}s..{end / 1e9 - 1e-4:.6f}s"))
    page.until("!document.querySelector('.line-head').innerText.includes('hatched')")
    assert not hatched(NAMES + 20)
    assert not hatched(NAMES + width - 60)


@pytest.fixture
def far(page: Page) -> Iterator[Page]:
    """A browser far from UTC."""
    page.call("Emulation.setTimezoneOverride", timezoneId=FAR)
    page.open("about:blank")
    yield page
    page.see("localStorage.removeItem('perfcase.zone')")
    page.call("Emulation.setTimezoneOverride", timezoneId="")
    page.open("about:blank")


def test_one_clock_whose_zone_the_page_says(far: Page, site: Site, client: httpx.Client) -> None:
    capture = site.ids["x86_64"]
    (start,) = (row["start_realtime_ns"] for row in rows(client, capture, "capture"))
    for zone, other in (("UTC", FAR), (FAR, "UTC")):
        began = datetime.fromtimestamp(start / 1e9, UTC).astimezone(ZoneInfo(zone))
        far.open(site.at("captures"))
        far.until(f"document.querySelector('.zone')?.innerText === {zone!r}")
        assert other in far.see("document.querySelector('.zone').title")
        far.has(f"{began:%Y-%m-%d %H:%M}", ".list-time")
        assert all(
            re.fullmatch(r"[\d-]{10} [\d:]{5}|–", text)
            for text in far.see("[...document.querySelectorAll('td.list-time')].map((one) => one.innerText)")
        )
        far.open(site.at(f"c/{capture}/overview"))
        far.has(f"{began:%Y-%m-%d %H:%M}", "aside .facts")
        far.until("document.querySelectorAll('.line-chart').length === 5")
        y = top(far, "chart:cpu_utilization.timeline.1")
        x, width = axis(far)
        far.mouse("mouseMoved", x + width / 2, y + 20)
        said = far.until("document.querySelector('.line-time').innerText")
        since, of_day, zone_said = re.fullmatch(r"([\d.]+) s, ([\d:.]+) (\S+)", said).groups()
        assert zone_said == zone
        wanted = datetime.fromtimestamp(start / 1e9 + float(since), UTC).astimezone(ZoneInfo(zone))
        told = datetime.strptime(of_day, "%H:%M:%S.%f")
        assert (
            abs((wanted.replace(tzinfo=None) - told.replace(wanted.year, wanted.month, wanted.day)).total_seconds())
            < 0.01
        )
        far.open(site.at(f"c/{capture}/views?view=capture"))
        far.has(f"{began:%Y-%m-%d %H:%M:%S}", ".table")
        far.open(site.at("history?view=cpu_utilization&measure=busy_ratio"))
        far.has(f"{began:%Y-%m-%d %H:%M}", ".table")
        # A day is a day of the same zone.
        far.requests.clear()
        far.open(site.at(f"captures?after={began:%Y-%m-%d}"))
        far.has("x.perfcase", ".list")
        midnight = datetime(began.year, began.month, began.day, tzinfo=ZoneInfo(zone))
        assert any(f"after_ns={int(midnight.timestamp())}000000000" in url for url in far.requests), far.requests
        if zone == "UTC":
            far.click(".zone")
    # It is kept in this browser, and the page can go back.
    far.click(".zone")
    far.until("document.querySelector('.zone').innerText === 'UTC'")


def test_a_browser_in_utc_has_no_choice_to_make(page: Page, site: Site) -> None:
    page.call("Emulation.setTimezoneOverride", timezoneId="UTC")
    try:
        page.open("about:blank")
        page.open(site.at("captures"))
        page.until("document.querySelector('span.zone')?.innerText === 'UTC'")
    finally:
        page.call("Emulation.setTimezoneOverride", timezoneId="")
        page.open("about:blank")


def test_a_state_has_one_word_and_one_colour(page: Page, site: Site, client: httpx.Client) -> None:
    legend = (
        "[...document.querySelectorAll({selector!r})].map((one) =>"
        " [one.innerText.trim(), getComputedStyle(one.querySelector('i')).backgroundColor])"
    )
    page.open("about:blank")
    page.open(site.at(f"c/{site.ids['x86_64']}/threads"))
    page.until("document.querySelector('.state-bar')")
    threads = page.see(legend.format(selector=".legend > span"))
    bars = page.see("[...document.querySelectorAll('.state-bar')].flatMap((one) => one.title.split('\\n'))")
    opened(page, site.at(f"c/{site.ids['x86_64']}/timeline"))
    lanes = page.see(legend.format(selector="p.lanes-legend > span:not(.lanes-legend)"))
    assert [each for each in lanes if each[0] != "other"] == threads
    words = [word for word, _ in threads]
    assert words == ["running", "runnable", "disk sleep", "sleeping"]
    states = {row["state"] for row in rows(client, site.ids["x86_64"], "followed_state", limit=100000)}
    # They are the words that SQL has, so that what is read on a picture can be asked for.
    assert {word.replace(" ", "_") for word in words} <= states
    assert {re.sub(r" [\d.]+ [mµn]?s \(.*", "", bar) for bar in bars if bar} <= set(words)
