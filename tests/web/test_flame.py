"""Flame graphs in the page: what is drawn and said, zoom, search, keys, callers and callees against the views, links."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

import httpx
import pytest

from perfcase.text import duration, ratio
from tests.web.chromium import Page
from tests.web.conftest import Site

ROW = 18
TOLD = "document.querySelector('.flame-told').innerText"
WORK = {"format": "json", "workload": "true"}
"""What the page asks for at first."""
PAINTED = "document.querySelector('.flame-canvas')?.dataset.painted && document.querySelector('.flame-told').innerText"


def corner(page: Page) -> tuple[float, float, float]:
    """Where the first picture begins, and its width."""
    page.see("document.querySelector('.flame-box').scrollIntoView({block: 'center'})")
    found = "document.querySelector('.flame-canvas').getBoundingClientRect()"
    return page.see(f"(({{x, y, width}}) => [x, y, width])({found})")


def heaviest(doc: dict, kind: str) -> int:
    """The heaviest node of a kind, and of those the outermost."""
    nodes = [n for n in range(1, len(doc["parent"])) if doc["kinds"][doc["kind"][n]] == kind]
    return max(nodes, key=lambda n: (doc["weight"][n], -n))


def depth(doc: dict, node: int) -> int:
    return 0 if node == 0 else 1 + depth(doc, doc["parent"][node])


def test_frames_are_drawn_clicked_and_walked(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["x86_64"]
    doc = client.get(f"/v1/captures/{capture}/flamegraph", params=WORK).json()
    page.open(site.at(f"c/{capture}/flame"))
    assert page.until(PAINTED) == f"all: {duration(doc['weight'][0])}, 100.0 % of all"
    x, y, width = corner(page)
    # The thread that took most, at its place among its siblings by name.
    node = heaviest(doc, "label")
    siblings = sorted(
        (n for n in range(len(doc["parent"])) if doc["parent"][n] == 0), key=lambda n: doc["names"][doc["name"][n]]
    )
    before = sum(doc["weight"][n] for n in siblings[: siblings.index(node)])
    place = (before + doc["weight"][node] / 2) / doc["weight"][0]
    page.mouse("mouseMoved", x + place * width, y + 1.5 * ROW)
    name = doc["names"][doc["name"][node]]
    page.has(name, ".flame-tip b")
    look("flame")
    x, y, width = corner(page)
    page.click_at(x + place * width, y + 1.5 * ROW)
    said = f"{name}: {duration(doc['weight'][node])}, {ratio(doc['weight'][node] / doc['weight'][0])} of all"
    page.until(f"{TOLD}.startsWith({said!r})")
    assert "at=" in page.see("location.hash")
    link = page.see("location.href")
    page.press("ArrowDown")
    page.until(f"!{TOLD}.startsWith({said!r})")
    page.press("ArrowUp")
    page.until(f"{TOLD}.startsWith({said!r})")
    page.press("Escape")
    page.until("!location.hash.includes('at=')")
    # The link shows the same frame.
    page.open(site.at("captures"))
    page.until("!document.querySelector('.flame')")
    page.open(link)
    page.until(f"{TOLD}.startsWith({said!r})")


def test_a_search_says_how_much_it_found(page: Page, site: Site, client: httpx.Client) -> None:
    capture = site.ids["x86_64"]
    doc = client.get(f"/v1/captures/{capture}/flamegraph", params=WORK).json()
    page.open(site.at(f"c/{capture}/flame"))
    page.until(PAINTED)
    page.press("/")
    page.type("DO_SYSCALL")
    hits = {n for n in range(1, len(doc["parent"])) if "do_syscall" in doc["names"][doc["name"][n]]}

    def inside(node: int) -> bool:
        return node > 0 and (doc["parent"][node] in hits or inside(doc["parent"][node]))

    weight = sum(doc["weight"][n] for n in hits if not inside(n))
    assert weight > 0
    page.has(f"{ratio(weight / doc['weight'][0])} matches, {duration(weight)}", ".flame-tools")
    assert "find=DO_SYSCALL" in page.see("location.hash")
    page.screenshot("flame-search")


def test_callers_and_callees_are_those_of_the_views(
    page: Page, site: Site, client: httpx.Client, look: Callable
) -> None:
    capture = site.ids["x86_64"]
    doc = client.get(f"/v1/captures/{capture}/flamegraph", params={"format": "json"}).json()
    name = "do_syscall_64"
    page.open(site.at(f"c/{capture}/flame?all=1&of={name}"))
    page.until(
        f"document.querySelector('.flame-told')?.innerText.startsWith({('all: ' + duration(doc['weight'][0]))!r})"
    )
    page.has(name, ".flame-sandwich h2")
    lists = page.until("document.querySelectorAll('.flame-lists .flame-list').length === 2 && [...document.querySelectorAll('.flame-lists .flame-list')]"
                       ".map((list) => [...list.children].map((row) => [...row.children].map((cell) => cell.innerText)))")  # fmt: skip
    for view, column, shown in (("callers", "caller", lists[0]), ("callees", "callee", lists[1])):
        condition = {"where": f"event = '{doc['what']}' AND symbol = '{name}' AND depth = 1", "order": "weight DESC"}
        rows = client.get(f"/v1/captures/{capture}/views/{view}", params=condition).json()
        # The twelve heaviest. Threads call the outermost functions; for the view these have no caller.
        threads = {doc["names"][doc["name"][n]] for n in range(len(doc["parent"])) if doc["parent"][n] == 0}
        weights = [weight for _, weight, _ in shown]
        told = {name: weight for name, weight, _ in shown if name not in threads}
        assert told.items() <= {row[column]: duration(row["weight"]) for row in rows}.items()
        assert len(shown) == 12 or len(told) == len(rows)
        assert weights[0] == duration(rows[0]["weight"])
    page.see("document.querySelector('.flame-sandwich').scrollIntoView()")
    look("flame-sandwich", whole=True)
    page.click(".flame-lists button", lists[1][0][0])
    page.has(lists[1][0][0], ".flame-sandwich h2")


@pytest.mark.parametrize("place", ["flame", "offcpu", "offcpu?wakers=1"])
def test_one_switch_leaves_out_what_is_no_work(
    place: str, page: Page, site: Site, client: httpx.Client, look: Callable
) -> None:
    """On at first, it names what it leaves out; the parts and the rest are the whole."""
    capture = site.ids["x86_64"]
    what = {} if place == "flame" else {"off_cpu": "true", "wakers": "true" if "wakers" in place else "false"}
    whole, work = (
        client.get(f"/v1/captures/{capture}/flamegraph", params={**asked, **what}).json()
        for asked in ({"format": "json"}, WORK)
    )
    all_ns = whole["weight"][0]
    assert sum(each["weight"] for each in work["left_out"]) + work["weight"][0] == all_ns
    assert whole["left_out"] == []
    page.open(site.at(f"c/{capture}/{place}"))
    page.until(
        f"document.querySelector('.flame-told')?.innerText.startsWith({('all: ' + duration(work['weight'][0]))!r})"
    )
    named = ", ".join(
        f"{each['what']} {duration(each['weight'])} ({ratio(each['weight'] / all_ns)})" for each in work["left_out"]
    )
    page.has(f"Without idle, kernel threads and the recorder: {named}", ".flame-aside")
    # The server has those of a graph that lacks small frames.
    page.until("document.querySelectorAll('.flame-top li').length > 10")
    look(f"flame-work-{place.replace('?', '-')}")
    page.click(".flame-aside input", "")
    page.until(f"{TOLD}.startsWith({('all: ' + duration(all_ns))!r})")
    assert "all=1" in page.see("location.hash")


def test_top_functions_stand_beside_the_graph(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["x86_64"]
    doc = client.get(f"/v1/captures/{capture}/flamegraph", params={"format": "json"}).json()
    page.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
    page.open(site.at(f"c/{capture}/flame?all=1"))
    page.until(PAINTED)
    for chosen, column in (("self", "self_period"), ("total", "total_period")):
        page.see(f"((one) => {{ one.value = '{chosen}'; one.dispatchEvent(new Event('change', {{bubbles: true}})); }})"
                 "(document.querySelector('.flame-top select'))")  # fmt: skip
        page.until(f"document.querySelector('.flame-top select').value === '{chosen}'")
        asked = {"where": f"event = '{doc['what']}'", "order": f"{column} DESC, symbol", "limit": 25}
        rows = client.get(f"/v1/captures/{capture}/views/function_profile", params=asked).json()
        shown = page.see(
            "[...document.querySelectorAll('.flame-top li')].map((row) => [...row.children].map((cell) => cell.innerText))"
        )
        assert len(shown) == 25
        assert [row[1:] for row in shown] == [
            [duration(row[column]), ratio(row[column] / doc["weight"][0])] for row in rows
        ]
        # Several may have as much as the last.
        least = rows[-1][column]
        assert {row["symbol"] for row in rows if row[column] > least} <= {name for name, _, _ in shown}
    graph, top = (
        page.see(f"(({{left, top}}) => [left, top])(document.querySelector('{one}').getBoundingClientRect())")
        for one in (".flame", ".flame-top")
    )
    assert top[0] > graph[0] + 600
    look("flame-top")
    page.click(".flame-top li button", shown[0][0])
    page.has(shown[0][0], ".flame-sandwich h2")


def test_time_off_the_cpu_with_who_ended_it(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    capture = site.ids["tcp"]
    page.open(site.at(f"c/{capture}/offcpu?process=order-client"))
    page.until(PAINTED)
    page.click(".flame-modes button", "who woke them")
    wanted = {"off_cpu": "true", "wakers": "true", **WORK, "process": "order-client"}
    doc = client.get(f"/v1/captures/{capture}/flamegraph", params=wanted).json()
    page.until(f"{TOLD} === {('all: ' + duration(doc['weight'][0]) + ', 100.0 % of all')!r}")
    look("offcpu")
    page.fill(".flame-search", "woken by")
    page.until("/^[0-9.]+ % matches/.test(document.querySelector('.flame-tools [role=status]').innerText)")


def test_a_screen_of_more_pixels_gets_them(page: Page, site: Site) -> None:
    page.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=2, mobile=False)
    page.open(site.at(f"c/{site.ids['x86_64']}/flame?up=1"))
    page.until(PAINTED)
    sizes = page.see(
        "((c) => [c.width, c.clientWidth, c.height, c.clientHeight])(document.querySelector('.flame-canvas'))"
    )
    assert sizes[0] == 2 * sizes[1]
    assert sizes[2] == 2 * sizes[3]
    page.screenshot("flame-up-2x")


def test_a_part_without_stacks_says_so(page: Page, site: Site) -> None:
    page.open(site.at(f"c/{site.ids['x86_64']}/flame?window=..1ns"))
    page.until("/nothing to draw|no samples/.test(document.querySelector('main').innerText)")
    # A refusal is on the browser's console as well.
    page.problems[:] = [problem for problem in page.problems if not re.search("404", problem)]


def test_another_capture_is_the_base(page: Page, site: Site, client: httpx.Client, look: Callable) -> None:
    mine, other = site.ids["pipe"], site.ids["tcp"]
    page.open(site.at(f"c/{mine}/flame"))
    page.until("[...document.querySelectorAll('.flame-against option')].some((one) => one.innerText.includes('tcp'))")
    page.see(f"((one) => {{ one.value = '{other}'; one.dispatchEvent(new Event('change', {{bubbles: true}})); }})"
             "(document.querySelector('.flame-against'))")  # fmt: skip
    page.has("larger share", ".flame-legend")
    doc = client.get("/v1/diff/flamegraph", params={"a": other, "b": mine, **WORK}).json()
    page.until(f"{TOLD}.endsWith('; before {doc['base'][0]:,} {doc['unit']}, 100.0 %')")
    page.has("the difference from tcp.perfcase", ".flame-graph")
    only_before = sum(
        doc["base"][n] for n in range(1, len(doc["parent"])) if not doc["weight"][n] and doc["weight"][doc["parent"][n]]
    )
    page.has(f"{ratio(only_before / doc['base'][0])} is in paths that are not here", ".flame-graph")
    assert f"base={other}" in page.see("location.hash")
    # Rows of what only the base has would be empty.
    deepest = max(depth(doc, n) for n in range(len(doc["parent"])) if doc["weight"][n])
    assert deepest < max(depth(doc, n) for n in range(len(doc["parent"])))
    assert page.see("document.querySelector('.flame-canvas').clientHeight") == (deepest + 1) * ROW
    look("flame-difference")


def test_time_off_the_cpu_beside_that_of_another_capture(
    page: Page, site: Site, client: httpx.Client, look: Callable
) -> None:
    mine, other = site.ids["pipe"], site.ids["tcp"]
    page.open(site.at(f"c/{mine}/offcpu?wakers=1&base={other}"))
    asked = {"a": other, "b": mine, **WORK, "off_cpu": "true", "wakers": "true"}
    doc = client.get("/v1/diff/flamegraph", params=asked).json()
    page.until(f"{TOLD}?.endsWith('; before {duration(doc['base'][0])}, 100.0 %')")
    page.has("the difference from tcp.perfcase", ".flame-graph")
    look("offcpu-difference")
    # The page of differences has the same, and samples beside it.
    page.open(site.at(f"diff?a={other}&b={mine}&as=flame"))
    page.until(PAINTED)
    page.click(".flame-modes button", "who woke them")
    page.until(f"{TOLD}?.endsWith('; before {duration(doc['base'][0])}, 100.0 %')")
    assert "counted=wakers" in page.see("location.hash")


@pytest.mark.parametrize("name", ["x86_64", "tcp"])
def test_an_event_has_one_total(name: str, page: Page, site: Site, client: httpx.Client) -> None:
    """The choice of events, the graph of each and that of a comparison say what the view says, with and without what is left out."""
    capture = site.ids[name]
    known = client.get(f"/v1/captures/{capture}/views/profile_summary").json()
    assert len(known) >= 3
    for row in known:
        event, total = row["event"], row["period"]
        work = client.get(f"/v1/captures/{capture}/flamegraph", params={**WORK, "event": event}).json()
        unit = work["unit"]
        spelled = duration if unit == "ns" else lambda amount, unit=unit: f"{amount:,} {unit}"
        shown = work["weight"][0]
        assert shown + sum(each["weight"] for each in work["left_out"]) == total
        for more, wanted in (("", shown), ("&all=1", total)):
            told = f"all: {spelled(wanted)}, "
            page.open("about:blank")
            page.open(site.at(f"c/{capture}/flame?event={quote(event)}{more}"))
            page.has(f"{event} ({row['sample_count']:,} samples)", "[aria-label=Event]")
            if wanted == 0:
                page.has("nothing to draw", ".empty")
                continue
            page.until(f"{TOLD}.startsWith({told!r}) && !document.querySelector('[aria-busy=true]')")
            # Two windows that have all of it: the same on both sides.
            page.open(
                site.at(f"diff?a={capture}&a_window=0s..60s&b_window=0s..60s&as=flame&event={quote(event)}{more}")
            )
            page.until(f"location.hash.startsWith('#/diff') && {TOLD}.startsWith({told!r})")
            assert f"before {spelled(wanted)}, 100.0 %" in page.see(TOLD)
