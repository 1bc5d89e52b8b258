"""Flame graphs of which stacks are left out, libraries and recursion are one frame, the leaf is at the root: what the page shows is what
the command line says of the same, each is in the address and is undone by a chip, by keys too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from perfcase.text import duration, ratio
from tests.api.conftest import upload
from tests.web.chromium import Page
from tests.web.conftest import Site
from tests.web.test_flame import PAINTED, ROW, TOLD, WORK, corner

FIRST = "do_syscall_64"
OBJECT = "[kernel.kallsyms]"
CHIPS = "[...document.querySelectorAll('.flame-chips li > span')].map((one) => one.innerText)"
TOP = "[...document.querySelectorAll('.flame-top li')].map((one) => one.innerText)"
CALM = "!document.querySelector('.fresh[aria-busy=true]')"
SYMBOLS = Path(__file__).parents[1] / "data" / "symbols"


def drawn(client: httpx.Client, capture: str, **asked: object) -> dict:
    return client.get(f"/v1/captures/{capture}/flamegraph", params={**WORK, **asked}).json()


def shows(page: Page, doc: dict) -> None:
    """Waits until the graph is this one: all of it, and the functions beside it."""
    amount = duration(doc["weight"][0])
    page.until(f"{CALM} && {TOLD}.startsWith({f'all: {amount}, '!r})")


def left_out(doc: dict) -> list[str]:
    """What the chips say."""
    whole = doc["weight"][0] + sum(each["weight"] for each in doc["stacks_left_out"])
    words = {"include": "Only stacks with", "exclude": "Without stacks with"}
    return [
        f"{words[each['how']]} {each['name']}: {duration(each['weight'])} ({ratio(each['weight'] / whole)}) left out"
        for each in doc["stacks_left_out"]
    ]


def pick(page: Page, name: str) -> None:
    """Opens the callers and callees of a function."""
    path, _, query = page.see("location.hash").partition("?")
    kept = [each for each in query.split("&") if each and not each.startswith("of=")]
    page.see(f"location.hash = {'?'.join((path, '&'.join([*kept, f'of={name}'])))!r}")
    page.has(name, ".flame-sandwich h2")


def test_stacks_are_left_out_and_come_back(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["x86_64"]
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/flame"))
    page.until(PAINTED)
    whole = page.see(TOLD)
    pick(page, FIRST)
    page.click(".flame-sandwich button", "Only stacks with it")
    shows(page, doc := drawn(client, capture, include=FIRST))
    page.until(f"{CHIPS}[0] === {left_out(doc)[0]!r}")
    # A frame that has the focus keeps it: what is below it, too, in another graph.
    page.see("document.querySelector('.flame-box').focus()")
    page.press("ArrowDown")
    page.press("ArrowDown")
    focused = page.see(TOLD).partition(":")[0]
    page.click(".flame-tools button", "Merge recursion")
    page.until(f"{CALM} && location.hash.includes('merge=1')")
    assert page.see(TOLD).partition(":")[0] == focused
    page.click(".flame-tools button", "Merge recursion")
    page.until(f"{CALM} && !location.hash.includes('merge=1')")
    page.see("document.querySelector('.flame-box').focus()")
    page.press("Home")
    assert f"include={FIRST}" in page.see("location.hash")
    pick(page, "schedule")
    page.click(".flame-sandwich button", "Without them")
    shows(page, doc := drawn(client, capture, include=FIRST, exclude="schedule"))
    page.until(f"JSON.stringify({CHIPS}) === {json.dumps(left_out(doc), separators=(',', ':'))!r}")
    look("flame-left-out")
    # By keys: to the chip, and it is gone.
    page.see("document.querySelector('.flame-chips button').focus()")
    page.press("Enter")
    shows(page, doc := drawn(client, capture, exclude="schedule"))
    page.until(f"JSON.stringify({CHIPS}) === {json.dumps(left_out(doc), separators=(',', ':'))!r}")
    page.click(".flame-chips button", "×")
    page.until(f"{CALM} && {TOLD} === {whole!r} && !document.querySelector('.flame-chips')")


def test_nothing_that_is_left_says_so_and_can_be_undone(page: Page, site: Site) -> None:
    capture = site.ids["x86_64"]
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/flame?exclude={FIRST}&include={FIRST}&of={FIRST}"))
    page.has("Only what is left out was seen", ".empty")
    page.click(".flame-chips button", "×")
    page.until(f"{CALM} && {TOLD}?.startsWith('all: ')")
    page.has(f"{FIRST} is in none of these stacks", ".flame-graph")


def test_a_library_is_one_frame(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["x86_64"]
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/flame"))
    page.until(PAINTED)
    pick(page, FIRST)
    page.click(".flame-sandwich button", f"{OBJECT} as one frame")
    doc = drawn(client, capture, collapse=OBJECT)
    page.until(f"{CALM} && {CHIPS}[0] === 'As one frame: {OBJECT}'")
    page.has("a whole object", ".flame-legend")
    page.has(f"{FIRST} is in none of these stacks", ".flame-graph")
    page.fill(".flame-search", OBJECT)
    hits = [n for n in range(len(doc["parent"])) if doc["names"][doc["name"][n]] == OBJECT]
    outer = [n for n in hits if not within(doc, n, set(hits))]
    weight = sum(doc["weight"][n] for n in outer)
    page.has(f"{ratio(weight / doc['weight'][0])} matches, {duration(weight)}", ".flame-tools")
    shown = page.see("document.querySelector('.flame-top li').innerText.split('\\n')")
    assert shown[0] == OBJECT
    look("flame-one-object")
    # From the frame itself back to its frames: by keys alone.
    page.see("document.querySelector('.flame-box').focus()")
    for _ in range(20):
        if page.see(TOLD).startswith(f"{OBJECT}: "):
            break
        page.press("ArrowDown")
    page.click(".flame-graph > p button", f"Frames of {OBJECT}")
    page.until(f"{CALM} && !document.querySelector('.flame-chips')")
    assert "collapse" not in page.see("location.hash")


def within(doc: dict, node: int, outer: set[int]) -> bool:
    above = doc["parent"][node]
    return above >= 0 and (above in outer or within(doc, above, outer))


@pytest.mark.parametrize("place", ["flame", "offcpu"])
def test_upside_down_and_merged(place: str, page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["x86_64"]
    off_cpu = {"off_cpu": "true"} if place == "offcpu" else {}
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/{place}"))
    page.until(f"{PAINTED} && {TOP}.length")
    before = page.see(TOP)
    page.click(".flame-tools button", "Invert")
    doc = drawn(client, capture, invert="true", **off_cpu)
    roots = [n for n in range(len(doc["parent"])) if doc["parent"][n] == 0]
    heaviest = max(roots, key=lambda n: doc["weight"][n])
    name = doc["names"][doc["name"][heaviest]]
    page.until(f"{CALM} && location.hash.includes('invert=1')")
    page.see("document.querySelector('.flame-box').focus()")
    page.press("ArrowDown")
    said = f"{name}: {duration(doc['weight'][heaviest])}, {ratio(doc['weight'][heaviest] / doc['weight'][0])} of all"
    page.until(f"{TOLD}.startsWith({said!r})")
    # The functions are those of before: which way up the stacks stand changes nothing that was counted.
    page.until(f"{CALM} && JSON.stringify({TOP}) === {json.dumps(before, separators=(',', ':'), ensure_ascii=False)!r}")
    look(f"{place}-inverted")
    page.click(".flame-tools button", "Merge recursion")
    page.until(f"{CALM} && location.hash.includes('merge=1')")
    page.screenshot(f"{place}-inverted-merged")
    for text in ("Invert", "Merge recursion"):
        assert (
            page.see(
                f"[...document.querySelectorAll('.flame-tools button')].find((one) => one.innerText === {text!r}).ariaPressed"
            )
            == "true"
        )
        page.click(".flame-tools button", text)
    page.until(f"{CALM} && !/invert|merge/.test(location.hash)")


def test_a_comparison_is_shaped_on_both_sides(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    mine, other = site.ids["pipe"], site.ids["tcp"]
    whole = client.get("/v1/diff/flamegraph", params={"a": other, "b": mine, **WORK}).json()
    both = {
        whole["names"][whole["name"][n]]
        for n in range(len(whole["parent"]))
        if whole["object"][n] >= 0
        and 0 < whole["weight"][n] < whole["weight"][0]
        and 0 < whole["base"][n] < whole["base"][0]
    }
    name = sorted(both)[0]
    doc = client.get(
        "/v1/diff/flamegraph",
        params={
            "a": other,
            "b": mine,
            **WORK,
            "exclude": name,
            "collapse": OBJECT,
            "invert": "true",
            "merge_recursion": "true",
        },
    ).json()
    page.open("about:blank")
    page.open(
        site.at(f"diff?a={other}&b={mine}&as=flame&exclude={quote(name)}&collapse={quote(OBJECT)}&invert=1&merge=1")
    )
    told = f"all: {doc['weight'][0]:,} {doc['unit']}, 100.0 % of all; before {doc['base'][0]:,} {doc['unit']}, 100.0 %"
    page.until(f"{CALM} && {TOLD} === {told!r}")
    (gone,) = doc["stacks_left_out"]
    parts = [(gone["weight"], doc["weight"][0]), (gone["base"], doc["base"][0])]
    now, before = (f"{part:,} {doc['unit']} ({ratio(part / (part + rest))})" for part, rest in parts)
    assert doc["weight"][0] + gone["weight"] == whole["weight"][0]
    assert doc["base"][0] + gone["base"] == whole["base"][0]
    page.until(f"{CHIPS}[0] === {f'Without stacks with {name}: {now} left out, before {before}'!r}")
    # Both captures call the kernel the same.
    assert "[kernel]" in doc["names"]
    assert page.see(CHIPS)[1] == f"As one frame: {OBJECT}"
    look("flame-shaped-difference")


def test_a_frame_says_where_it_is(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    """The object and the line, in the tip and in the line for keys; the share of all, and of what fills the width."""
    capture = upload(client, SYMBOLS / "cxx-inlined.perfcase")
    doc = drawn(client, capture)
    nodes = range(1, len(doc["parent"]))
    several = max((n for n in nodes if doc["source"][n] >= 0 and doc["places"][n] > 1), key=lambda n: doc["weight"][n])
    thread = next(n for n in nodes if doc["parent"][n] == 0)
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/flame"))
    page.until(PAINTED)
    x, y, width = corner(page)
    path = []
    node = several
    while node > 0:
        path.insert(0, node)
        node = doc["parent"][node]
    page.see("document.querySelector('.flame-box').focus()")
    share = f"{ratio(doc['weight'][several] / doc['weight'][0])} of all"
    where = f"{doc['objects'][doc['object'][several]]}, {doc['sources'][doc['source'][several]]} (most of {doc['places'][several]} places)"
    # Down the heaviest callees, which is where it is, to the frame.
    for _ in path:
        page.press("ArrowDown")
    page.until(f"{TOLD}.includes({share!r}) && {TOLD}.endsWith({f'; from {where}'!r})")
    page.mouse("mouseMoved", x + width / 3, y + (len(path) + 0.5) * ROW)
    page.until("document.querySelector('.flame-tip')")
    assert page.see("document.querySelector('.flame-tip').innerText.split('\\n')[2]")
    page.has(where, ".flame-tip")
    look("flame-where")
    # The thread fills the width: the share of it stands beside that of all.
    page.click_at(x + width / 3, y + 1.5 * ROW)
    page.until("location.hash.includes('at=')")
    name = doc["names"][doc["name"][thread]]
    for _ in path[1:]:
        page.press("ArrowDown")
    of_thread = f"{share}, {ratio(doc['weight'][several] / doc['weight'][thread])} of {name}"
    page.until(f"{TOLD}.includes({of_thread!r})")


def test_hostile_names_are_text(page: Page, site: Site, client: httpx.Client) -> None:
    capture = site.ids["hostile"]
    doc = drawn(client, capture)
    name = next(one for one in doc["names"] if one.startswith("<img"))
    page.open("about:blank")
    reordering = "a\u202eb"
    page.open(
        site.at(f"c/{capture}/flame?include={quote(name)}&collapse={quote('<b>x</b>')}&exclude={quote(reordering)}")
    )
    doc = drawn(client, capture, include=name, exclude=reordering)
    page.until(f"{CALM} && {TOLD}.startsWith('all: {doc['weight'][0]:,} events, ')")
    page.until(f"{CHIPS}.length === 3")
    assert page.see(CHIPS)[0].startswith(f"Only stacks with {name}: {doc['stacks_left_out'][0]['weight']} events (")
    assert page.see(CHIPS)[1].startswith("Without stacks with a\\u202eb: ")
    assert page.see(CHIPS)[2] == "As one frame: <b>x</b>: in none of these stacks"
    assert page.see("document.title") != "hit"
