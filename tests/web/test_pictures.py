"""The timeline and its brush, the lanes of threads and what a click on them tells, histograms: figures against the views."""

from __future__ import annotations

import itertools
import lzma
import math
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx

from perfcase.case.scope import parse_part
from perfcase.text import duration, size
from tests.api.conftest import wait_ready
from tests.web.chromium import Page
from tests.web.conftest import Site, rows

BOX = "(({x, y, width, height}) => [x, y, width, height])(document.querySelector(%r).getBoundingClientRect())"
ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "captures"
NAMES = 150
"""Pixels of the threads' names beside the lanes."""
STRIP = 2 * 17 + 3
"""Pixels from the top to what the waits of the first lane were due to."""


def sql(client: httpx.Client, capture: str, statement: str) -> list[dict]:
    return client.post("/v1/sql", json={"capture_id": capture, "sql": statement}).json()


def test_the_time_line_chooses_a_part(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["x86_64"]
    page.open(site.at(f"c/{capture}/overview"))
    page.until("document.querySelectorAll('.timeline-plot canvas').length === 5")
    charts = page.see("[...document.querySelectorAll('.timeline-chart figcaption')].map((one) => one.innerText)")
    assert charts == ["CPU", "Run queue", "Disks", "Memory", "Network"]
    page.has("Not in this capture: Instructions per cycle", ".timeline-missing")
    page.click(".timeline-missing summary")
    (told,) = rows(client, capture, "view_coverage", where="view_name = 'pmcarch'")
    page.has(told["reason"], ".timeline-missing")
    ((length),) = (row["duration_ns"] for row in rows(client, capture, "capture"))
    page.see("document.querySelector('.u-over').scrollIntoView({block: 'center'})")
    x, y, width, height = page.see(BOX % ".u-over")
    page.mouse("mouseMoved", x + width / 2, y + height / 2)
    # What is beside the lines is the figure of the interval that the cursor is in.
    page.until("/^[0-9.]+ %$/.test(document.querySelector('.timeline-plot .u-series:nth-child(2) .u-value').innerText)")
    page.drag((x + 0.25 * width, y + 20), (x + 0.5 * width, y + 20))
    page.until("location.hash.includes('window=')")
    part = parse_part(page.see("new URLSearchParams(location.hash.split('?')[1]).get('window')"))
    # A pixel either way.
    assert abs(part.start_ns - 0.25 * length) < 2 * length / width
    assert abs(part.end_ns - 0.5 * length) < 2 * length / width
    page.has("chosen", ".timeline")
    look("timeline")
    # The page moves while the figures of the part come in.
    place, before = page.see(BOX % ".u-over"), None
    while place != before:
        page.see("document.querySelector('.u-over').scrollIntoView({block: 'center'})")
        time.sleep(0.3)
        place, before = page.see(BOX % ".u-over"), place
    page.click_at(place[0] + 30, place[1] + 20, count=2)
    page.until("!location.hash.includes('window=')")


def test_a_bare_recording_has_what_its_switches_tell(page: Page, site: Site, client: httpx.Client) -> None:
    """Without /proc the CPUs' shares are those of the switches, and what is missing is said with what would record it."""
    capture = upload(client, lzma.decompress((DATA / "aarch64" / "offcpu.data.xz").read_bytes()))
    page.open(site.at(f"c/{capture}/overview"))
    page.has("CPU, by switches", ".timeline")
    page.has("Run queue", ".timeline")
    page.click(".timeline-missing summary")
    (told,) = rows(client, capture, "view_coverage", where="view_name = 'memory' AND kind = 'view'")
    page.has(told["reason"], ".timeline-missing")
    page.has(told["how"], ".timeline-missing")
    x, y, width, height = page.see(BOX % ".u-over")
    page.mouse("mouseMoved", x + 0.6 * width, y + height / 2)
    page.until("/^[0-9.]+ %$/.test(document.querySelector('.timeline-plot .u-series:nth-child(2) .u-value').innerText)")
    page.screenshot("timeline-bare")


def upload(client: httpx.Client, data: bytes) -> str:
    """The id of an imported file."""
    capture = client.post("/v1/captures", params={"name": "bare.data"}, content=data).json()["capture_id"]
    assert wait_ready(client, capture)["state"] == "ready"
    return capture


def test_lanes_tell_of_a_wait(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["tcp"]
    page.open(site.at(f"c/{capture}/lanes?process=order-client"))
    page.until("document.querySelector('.lanes-canvas')?.dataset.painted")
    (thread, *_) = rows(client, capture, "thread_time", order="on_cpu_ns DESC, utid", where="coalesce(pid, 1) <> 0",
                        process="order-client")  # fmt: skip
    (length,) = (row["duration_ns"] for row in rows(client, capture, "capture"))
    (sleep, *_) = sql(client, capture, "SELECT s.ts_ns, s.duration_ns, s.run_queue_ns, f.folded, k.comm FROM followed_state AS s"
                      " JOIN stack_folded AS f USING (stack_id) JOIN thread AS k ON k.utid = s.waker_utid"
                      f" WHERE s.utid = {thread['utid']} AND state = 'sleeping' ORDER BY s.duration_ns DESC LIMIT 1")  # fmt: skip
    page.see("document.querySelector('.lanes-canvas').scrollIntoView({block: 'center'})")
    x, y, width, _ = page.see(BOX % ".lanes-canvas")
    middle = (sleep["ts_ns"] + sleep["duration_ns"] / 2) / length
    page.click_at(x + NAMES + middle * (width - NAMES), y + 1.5 * 17)
    page.has(f"{thread['comm']} {thread['tid']}", ".stretch h2")
    page.has(duration(sleep["duration_ns"]), ".stretch-facts")
    page.has(sleep["comm"], ".stretch-facts")
    chain = page.until("[...document.querySelector('.chain').children].map((one) => one.innerText)")
    assert chain == sleep["folded"].split(";")[::-1]
    look("lanes", whole=True)
    page.see("document.querySelector('.lanes-canvas').scrollIntoView({block: 'center'})")
    x, y, width, _ = page.see(BOX % ".lanes-canvas")
    page.drag((x + NAMES + 100, y + 26), (x + NAMES + 300, y + 26))
    page.until("location.hash.includes('zoom=')")
    zoom = parse_part(page.see("new URLSearchParams(location.hash.split('?')[1]).get('zoom')"))
    assert abs((zoom.end_ns - zoom.start_ns) - 200 / (width - NAMES) * length) < 0.02 * length
    page.click("button", "Only this part")
    page.has("window", ".chip")
    page.press("Escape")
    page.until("document.querySelector('.lanes-canvas')?.dataset.painted")


def test_lanes_by_keys(page: Page, site: Site) -> None:
    page.open(site.at(f"c/{site.ids['x86_64']}/lanes"))
    page.until("document.querySelector('.lanes-canvas')?.dataset.painted")
    page.see("document.querySelector('.lanes').focus()")
    page.press("ArrowDown")
    page.press("ArrowRight")
    page.until("document.querySelector('.stretch-facts')")
    page.screenshot("lanes-many")
    told = page.see("document.querySelector('.stretch h2').innerText")
    assert told in page.see("document.querySelector('.lanes + .visually-hidden').innerText")
    page.press("+")
    page.until("location.hash.includes('zoom=')")
    page.press("Escape")
    page.until("!location.hash.includes('zoom=')")


def test_lanes_tell_what_a_wait_was_for(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["tcp"]
    page.open(site.at(f"c/{capture}/lanes?process=order-client"))
    page.until("document.querySelector('.lanes-canvas')?.dataset.painted")
    for kind in ("another thread", "a CPU", "a disk", "another end", "a sleep or a timeout", "one with nothing to do"):
        page.has(kind, ".lanes-legend")
    (thread, *_) = rows(client, capture, "thread_time", order="on_cpu_ns DESC, utid", where="coalesce(pid, 1) <> 0",
                        process="order-client")  # fmt: skip
    (length,) = (row["duration_ns"] for row in rows(client, capture, "capture"))
    (wait, *_) = rows(client, capture, "blame_part", where=f"utid = {thread['utid']} AND waker_tid IS NOT NULL",
                      order="duration_ns DESC, ts_ns", limit=1)  # fmt: skip
    (scoped, *_) = rows(client, capture, "blame_part", where=f"utid = {thread['utid']} AND ts_ns = {wait['ts_ns']}",
                        process="order-client")  # fmt: skip
    page.see("document.querySelector('.lanes-canvas').scrollIntoView({block: 'center'})")
    x, y, width, _ = page.see(BOX % ".lanes-canvas")
    middle = x + NAMES + (wait["ts_ns"] + wait["duration_ns"] / 2) / length * (width - NAMES)
    page.mouse("mouseMoved", middle, y + STRIP)
    page.has(f"waited {duration(wait['duration_ns'])} for {scoped['due']}", ".lanes-tip")
    page.screenshot("lanes-cause-tip")
    page.click_at(middle, y + STRIP)
    page.has(f"Waited {duration(wait['duration_ns'])} for", ".stretch h3")
    page.has(wait["due"], ".stretch-causes li")
    page.has(f"in {wait['call']} on {wait['target']}", ".stretch-causes li")
    look("lanes-causes", whole=True)
    # The other end of the chain has its own lane, at the same zoom.
    page.press("+")
    page.until("location.hash.includes('zoom=')")
    zoom = page.see("new URLSearchParams(location.hash.split('?')[1]).get('zoom')")
    page.click(".stretch-causes a", f"{wait['waker_comm']} {wait['waker_tid']}")
    page.until(f"location.hash.includes('thread={wait['waker_tid']}')")
    assert page.see("new URLSearchParams(location.hash.split('?')[1]).get('zoom')") == zoom
    page.has(str(wait["waker_tid"]), ".chip")


def test_causes_by_keys(page: Page, site: Site, client: httpx.Client) -> None:
    capture = site.ids["tcp"]
    # A stretch that was chosen before stays chosen as long as the page does.
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/lanes?process=order-client"))
    page.until("document.querySelector('.lanes-canvas')?.dataset.painted")
    (thread, *_) = rows(client, capture, "thread_time", order="on_cpu_ns DESC, utid", where="coalesce(pid, 1) <> 0",
                        process="order-client")  # fmt: skip
    page.see("document.querySelector('.lanes').focus()")
    spoken = "document.querySelector('.lanes + .visually-hidden').innerText"
    page.press("ArrowDown")
    page.until(f"{spoken}.includes('what it waited for')")
    page.press("ArrowRight")
    page.until("document.querySelector('.stretch-causes')")
    (first, *_) = rows(
        client, capture, "blame_lane", where=f"utid = {thread['utid']}", order="ts_ns", set="buckets=1200"
    )
    told = f"waited {duration(first['wait_ns'])}"
    assert told in page.see(spoken)
    assert first["due"] in page.see(spoken)
    page.press("ArrowUp")
    page.until(f"!{spoken}.includes('what it waited for')")


def test_colours_of_causes_differ_for_every_reader() -> None:
    """In both schemes, for those without one kind of cone, too (Machado, Oliveira, Fernandes 2009), in OKLab: 0.02 is just seen."""
    css = (ROOT / "api" / "web" / "src" / "style" / "base.css").read_text()
    found = re.findall(r"--cause-([a-z]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", css)
    assert len(found) == 8
    for scheme in (1, 2):
        for reader, seen_as in CONES.items():
            seen = {each[0]: oklab(times(seen_as, linear(each[scheme]))) for each in found}
            for one, other in itertools.combinations(seen, 2):
                assert math.dist(seen[one], seen[other]) > 0.14, (scheme, reader, one, other)


CONES = {
    "any": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no L": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no M": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "no S": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
"""What linear red, green and blue look like to a reader without cones of a kind."""
LMS = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
LAB = (
    (0.2104542553, 0.793617785, -0.0040720468),
    (1.9779984951, -2.428592205, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.808675766),
)
"""OKLab (Ottosson 2020): of cone responses, and of their cube roots."""


def linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def times(matrix: Sequence[Sequence[float]], vector: Sequence[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def oklab(rgb: Sequence[float]) -> list[float]:
    return times(LAB, [part ** (1 / 3) for part in times(LMS, [min(max(each, 0), 1) for each in rgb])])


def test_histograms_add_up(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["x86_64"]
    page.open(site.at(f"c/{capture}/histograms"))
    page.until("document.querySelectorAll('.bars').length === 5")
    for number, (view, count, noun, unit, spelled) in enumerate(
        [("run_queue_latency", "wait_count", "waits", "ns", duration), ("on_cpu_distribution", "run_count", "stretches", "ns", duration),
         ("syscall_latency", "call_count", "calls", "ns", duration), ("block_latency", "request_count", "requests", "ns", duration),
         ("block_size", "request_count", "requests", "bytes", size)]
    ):  # fmt: skip
        rows_of = sql(client, capture, f"SELECT bucket_max_{unit} AS high, {count} AS n FROM {view}")
        total = sum(row["n"] for row in rows_of)
        half, most, whole = (
            min(high for high in {row["high"] for row in rows_of}
                if 100 * sum(row["n"] for row in rows_of if row["high"] <= high) >= percent * total)
            for percent in (50, 99, 100)
        )  # fmt: skip
        said = page.see(f"document.querySelectorAll('.histogram .fresh-figures > p:last-child')[{number}].innerText")
        ends = f"half below {spelled(half)}, 99 of 100 below {spelled(most)}, all below {spelled(whole)}"
        assert said == f"{total:,} {noun}; {ends}"
        bars = page.see(f"[...document.querySelectorAll('.bars')[{number}].children].map((bar) => bar.title)")
        assert sum(int(re.search(r": ([0-9,]+) ", bar)[1].replace(",", "")) for bar in bars) == total
    look("histograms", whole=True)
    (most, *_) = sql(
        client,
        capture,
        "SELECT comm, sum(wait_count)::BIGINT AS n FROM run_queue_latency GROUP BY comm ORDER BY n DESC, comm",
    )
    page.see(f"(([first]) => {{ first.value = {most['comm']!r}; first.dispatchEvent(new Event('change', {{bubbles: true}})); }})"
             "(document.querySelectorAll('.histogram select'))")  # fmt: skip
    page.has(f"{most['n']:,} waits; half below", ".histogram")
    assert f"run_queue_latency={most['comm']}" in page.see("location.hash")


def test_names_are_text_in_pictures_too(page: Page, site: Site) -> None:
    capture = site.ids["hostile"]
    page.open(site.at(f"c/{capture}/offcpu?wakers=1&of=%3Cimg%20src%3Dx%3E"))
    page.has("<img src=x>", ".flame-sandwich h2")
    x, y, width, _ = page.see(BOX % ".flame-canvas")
    for part in range(1, 20):
        page.mouse("mouseMoved", x + part * width / 20, y + 1.5 * 18)
        if "<img" in (page.see("document.querySelector('.flame-tip')?.innerText") or ""):
            break
    page.has("<img src=x>", ".flame-tip b")
    page.open(site.at(f"c/{capture}/lanes"))
    page.until("document.querySelector('.lanes-canvas')?.dataset.painted")
    page.see("document.querySelector('.lanes').focus()")
    page.press("ArrowRight")
    page.until("document.querySelector('.stretch-facts')")
    page.open(site.at(f"c/{capture}/histograms"))
    page.until("[...document.querySelectorAll('option')].some((one) => one.innerText.startsWith('<img src=x>'))")
    assert page.see("document.querySelectorAll('img, [onerror]').length") == 0
    assert page.see("document.title") != "hit"
