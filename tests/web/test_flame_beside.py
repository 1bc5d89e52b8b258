"""Figures beside a flame graph from which small frames are left out: the view's, to the last one."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx
import pytest

from perfcase.text import ratio
from tests.api.conftest import upload
from tests.web.chromium import Page
from tests.web.conftest import Site, rows
from tests.web.test_flame import TOLD

CALM = "!document.querySelector('.fresh[aria-busy=true], .waiting')"
TOP = "[...document.querySelectorAll('.flame-top li')].map((one) => one.innerText.split('\\n').map((part) => part.trim()))"
SMALL = 40


@pytest.fixture(scope="module")
def capture(client: httpx.Client, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Much in one function, and little below 40 callers that are too small to be seen."""
    stacks = [(1_000_000_000, ("work", "main"))]
    stacks += [(number, ("malloc", f"small_{number}", "main")) for number in range(1, SMALL + 1)]
    lines = []
    for at, (period, frames) in enumerate(stacks):
        lines.append(f"prog  100/100   [000]  {10 + at}.000000: {period} cycles:")
        lines += [f"\t{0x1000 + 16 * level:x} {frame} (/bin/prog)" for level, frame in enumerate(frames)]
        lines.append("")
    file = tmp_path_factory.mktemp("beside") / "small.txt"
    file.write_text("\n".join(lines) + "\n")
    return upload(client, file)


def expected(client: httpx.Client, capture: str, find: str = "", by: str = "self") -> list[list[str]]:
    """The rows of function_profile as the page lists them."""
    found = rows(client, capture, "function_profile", limit=1000)
    found = [row for row in found if find in row["symbol"] and row[f"{by}_period"] > 0]
    found.sort(key=lambda row: (-row[f"{by}_period"], row["symbol"]))
    whole = 1_000_000_000 + sum(range(1, SMALL + 1))
    return [
        [row["symbol"], f"{row[f'{by}_period']:,} cycles", ratio(row[f"{by}_period"] / whole)] for row in found[:25]
    ]


def shows(page: Page, told: list[list[str]]) -> None:
    page.until(f"{CALM} && JSON.stringify({TOP}) === {json.dumps(told, separators=(',', ':'))!r}")


def test_every_figure_is_the_views(page: Page, site: Site, client: httpx.Client, capture: str, look: Callable) -> None:
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/flame"))
    page.has("frames with less than 0.0010 % each are left out", ".flame-graph")
    shows(page, expected(client, capture))
    page.see(
        "const s = document.querySelector('.flame-top select'); s.value = 'total'; s.dispatchEvent(new Event('change'))"
    )
    shows(page, expected(client, capture, by="total"))
    page.has(f"25 of {SMALL + 3} functions", ".flame-top")
    page.fill(".flame-search", "small_")
    shows(page, expected(client, capture, find="small_", by="total"))
    page.has(f"25 of {SMALL} functions", ".flame-top")
    weight = sum(range(1, SMALL + 1))
    page.has(f"matches, {weight} cycles", ".flame-tools")
    look("flame-small")
    # By keys: the callers of a function that the graph does not have.
    page.fill(".flame-search", "malloc")
    shows(page, expected(client, capture, find="malloc", by="total"))
    page.see("document.querySelector('.flame-top li button').focus()")
    page.press("Enter")
    page.has(
        f"{weight} cycles, {ratio(weight / (10**9 + weight))} of all; in itself {weight} cycles", ".flame-sandwich"
    )
    callers = "[...document.querySelectorAll('.flame-lists .flame-list')[0].children].map((one) => one.innerText.split('\\n')[0].trim())"
    page.until(
        f"JSON.stringify({callers}) === {json.dumps([f'small_{n}' for n in range(SMALL, SMALL - 12, -1)], separators=(',', ':'))!r}"
    )
    look("flame-small-callers")
    page.click(".flame-sandwich button", "Without them")
    page.until(f"{CALM} && {TOLD}.startsWith('all: 1,000,000,000 cycles, ')")
    page.has("malloc is in none of these stacks", ".flame-graph")


def test_a_frame_that_fills_the_width(page: Page, site: Site, capture: str) -> None:
    """Only what is in it; a search of what is elsewhere finds nothing."""
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/flame?find=small"))
    page.has("matches, 820 cycles", ".flame-tools")
    page.see("document.querySelector('.flame-box').focus()")
    for _ in range(3):
        page.press("ArrowDown")
    page.press("Enter")
    page.has("0 % matches, 0 cycles", ".flame-tools")
    shows(page, [])


def test_an_error_is_said_and_tried_again(page: Page, site: Site, capture: str) -> None:
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/flame"))
    page.until(f"{CALM} && {TOP}.length")
    # The server is asked for the functions of a search; the browser does not let it through.
    page.see(
        "window.before = window.fetch; window.fetch = (path, ...more) => String(path).includes('functions')"
        ' ? Promise.resolve(new Response(\'{"error":{"kind":"timeout","message":"too slow"}}\', {status: 504}))'
        " : window.before(path, ...more)"
    )
    page.fill(".flame-search", "wor")
    page.has("took too long", ".flame-beside .problem")
    assert page.see("document.querySelector('.flame-tools [role=status]').innerText") == ""
    page.see("window.fetch = window.before")
    page.click(".flame-beside .problem button", "Try again")
    shows(page, [["work", "1,000,000,000 cycles", "100.0 %"]])
