"""Axes of time and times of day: nothing where nothing was recorded, and one clock whose zone the page says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import httpx
import pytest

from tests.web.chromium import Page
from tests.web.conftest import Site, rows

FAR = "Australia/Eucla"
"""A quarter of an hour from every whole one: no zone that a page has by chance."""
NAMES = 150
"""Pixels of the threads' names beside the lanes."""
CHART = "[...document.querySelectorAll('.timeline-chart')].find((one) => one.querySelector('figcaption').innerText === {title!r})"
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
        "CPU": rows(client, capture, "cpu_utilization", where="cpu = 'all'"),
        "Run queue": rows(client, capture, "run_queue_length", set="interval_ns=50000000"),
    }
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/overview"))
    page.until(
        "document.querySelectorAll('.timeline-plot canvas').length === 5 && !document.querySelector('[aria-busy=true]')"
    )
    page.has("hatched: nothing was recorded", ".timeline")
    seen = set()
    for title, known in charts.items():
        chart = CHART.format(title=title)
        page.see(f"{chart}.scrollIntoView({{block: 'center'}})")
        x, y, width, height = page.see(
            f"(({{x, y, width, height}}) => [x, y, width, height])({chart}.querySelector('.u-over').getBoundingClientRect())"
        )
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
            page.mouse("mouseMoved", at, y + height / 2)
            page.see("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            said = page.see(
                f"[...{chart}.querySelectorAll('.u-series:not(:first-child) .u-value')].map((one) => one.innerText)"
            )
            assert said
            assert [text != "–" for text in said] == [beside[0]] * len(said), (title, moment, said)
            time = page.see("document.querySelector('.u-series:first-child .u-value').innerText")
            assert abs(float(time.split(" s")[0]) * 1e9 - moment) < 2 * pixel, "the cursor's own time"
            seen.add((title, beside[0]))
    assert ("Run queue", False) in seen
    assert {("CPU", True), ("Run queue", True)} <= seen
    # What is hatched is what has no figure.
    chart = CHART.format(title="Run queue")
    canvas = f"{chart}.querySelector('canvas')"
    box = page.see(
        f"(({{left, top, width, height}}) => [left, top, width, height])({chart}.querySelector('.u-over').style)"
    )
    left, top, width, _ = (float(text.removesuffix("px")) for text in box)
    first = min(row["ts_ns"] for row in charts["Run queue"])
    inked = [
        page.see(INKED.format(canvas=canvas, x=round(left + width * part), y=round(top) + 4, width=21, height=14))
        for part in (0.3 * first / length, 0.7 * first / length)
    ]
    assert min(inked) > 40, "hatched"
    quiet = [row for row in charts["Run queue"] if row["ts_ns"] > 1.1 * first and row["waiting_avg_count"] < 0.2]
    middle = quiet[len(quiet) // 2]["ts_ns"] / length
    assert (
        page.see(INKED.format(canvas=canvas, x=round(left + width * middle), y=round(top) + 4, width=3, height=14)) < 20
    )
    look("gaps")


def test_lanes_are_hatched_beyond_the_recording_of_states(
    page: Page, site: Site, client: httpx.Client, look: Callable
) -> None:
    capture = site.ids["x86_64"]
    (length,) = (row["duration_ns"] for row in rows(client, capture, "capture"))
    (span,) = rows(client, capture, "recorded_span", where="table_name = 'thread_state'")
    assert 0.2 < span["start_ts_ns"] / length < 0.8
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/lanes"))
    page.until(
        "document.querySelector('.lanes-canvas')?.dataset.painted && !document.querySelector('[aria-busy=true]')"
    )
    page.has("hatched: no states were recorded", ".lanes-head")
    width = page.see("document.querySelector('.lanes-canvas').clientWidth") - NAMES
    edge = NAMES + width * span["start_ts_ns"] / length

    def hatched(x: float) -> bool:
        """Two pixels between the lanes, where no state is drawn."""
        found = INKED.format(
            canvas="document.querySelector('.lanes-canvas')", x=round(x), y=17 + 17 + 9, width=28, height=2
        )
        return page.see(found) > 7

    assert hatched(NAMES + 20)
    assert hatched(edge - 34)
    look("lanes-gaps")
    # A part in which states are known all the time has no hatching, and does not speak of it.
    page.open(site.at(f"c/{capture}/lanes?zoom=8s..12s"))
    page.until("!document.querySelector('.lanes-head').innerText.includes('hatched')")
    page.until("!document.querySelector('[aria-busy=true]')")
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
            re.fullmatch(r"[\d-]{10} [\d:]{5}|-", text)
            for text in far.see("[...document.querySelectorAll('td.list-time')].map((one) => one.innerText)")
        )
        far.open(site.at(f"c/{capture}/overview"))
        far.has(f"{began:%Y-%m-%d %H:%M}", "aside .facts")
        far.until("document.querySelectorAll('.timeline-plot canvas').length === 5")
        far.see("document.querySelector('.u-over').scrollIntoView({block: 'center'})")
        x, y, width, height = far.see(
            "(({x, y, width, height}) => [x, y, width, height])(document.querySelector('.u-over').getBoundingClientRect())"
        )
        far.mouse("mouseMoved", x + width / 2, y + height / 2)
        said = far.until("document.querySelector('.u-series:first-child .u-value').innerText")
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
    page.open(site.at(f"c/{site.ids['x86_64']}/lanes"))
    page.until("document.querySelector('.lanes-canvas')?.dataset.painted")
    lanes = page.see(legend.format(selector="p.lanes-legend > span:not(.lanes-legend)"))
    assert [each for each in lanes if each[0] != "other"] == threads
    words = [word for word, _ in threads]
    assert words == ["running", "runnable", "disk sleep", "sleeping"]
    states = {row["state"] for row in rows(client, site.ids["x86_64"], "followed_state", limit=100000)}
    # They are the words that SQL has, so that what is read on a picture can be asked for.
    assert {word.replace(" ", "_") for word in words} <= states
    assert {re.sub(r" [\d.]+ [mµn]?s \(.*", "", bar) for bar in bars if bar} <= set(words)
