"""Histograms: figures against the views. Colours that every reader tells apart. Names from captures are text in pictures, too."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import pytest

from perfcase.text import duration, size
from tests.web.chromium import Page
from tests.web.conftest import Site, sql
from tests.web.line import opened, titles

BOX = "(({x, y, width, height}) => [x, y, width, height])(document.querySelector(%r).getBoundingClientRect())"
DRAWN = """(room) => {
  const [bar, space] = [room.firstChild.getBoundingClientRect(), room.getBoundingClientRect()];
  return [bar.width, space.width, bar.height, space.height];
}"""
ROOT = Path(__file__).parents[2]


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
        counts = [int(re.search(r": ([0-9,]+) ", bar)[1].replace(",", "")) for bar in bars]
        assert sum(counts) == total
        drawn = page.see(
            f"[...document.querySelectorAll('.bars')[{number}].querySelectorAll('.bar-room')].map({DRAWN})"
        )
        assert [width for width, *_ in drawn] == pytest.approx([room - 2 for _, room, *_ in drawn], abs=0.1)
        assert all(width > 4 for width, *_ in drawn)
        heights = [
            max(2, count / max(counts) * (space - 1)) if count else 0
            for (*_, space), count in zip(drawn, counts, strict=True)
        ]
        assert [height for _, _, height, _ in drawn] == pytest.approx(heights, abs=0.6)
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
    opened(page, site.at(f"c/{capture}/timeline"))
    page.press("ArrowDown")
    assert "<img src=x>" in "".join(titles(page))
    page.see("document.querySelector('.line-lane[data-track^=t] .line-title').click()")
    page.has("<img src=x>", ".line-panel h2")
    page.open(site.at(f"c/{capture}/histograms"))
    page.until("[...document.querySelectorAll('option')].some((one) => one.innerText.startsWith('<img src=x>'))")
    assert page.see("document.querySelectorAll('img, [onerror]').length") == 0
    assert page.see("document.title") != "hit"
