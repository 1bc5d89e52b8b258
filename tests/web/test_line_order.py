"""Tracks of the time line are moved by keys, by buttons and by dragging; the address holds the order."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from tests.support.scale import scaled
from tests.web.chromium import Page
from tests.web.conftest import Site
from tests.web.line import SAID, opened, param, settled, titles, top
from tests.web.script import run
from tests.web.test_accessible import violations

ALT = 1
MOVED = """
import { inOrder, movesOf, moveText, step, withMove } from "FILE";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const same = (one) => one;
process.stdout.write(JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()).map(({ all, steps }) => {
  let made = [];
  for (const [id, by] of steps) {
    const now = inOrder(all, same, made).map((one, at) => ({ id: one, top: 10 * at, height: 10, among: "" }));
    const move = step(now, id, by);
    if (move) made = withMove(made, move);
  }
  const none = [{ id: "?", before: "a" }, { id: "a", before: "?" }, { id: "a", before: "a" }];
  return [made, movesOf(made.map(moveText)), none].map((moves) => inOrder(all, same, moves).join(""));
})));
"""


def test_steps_in_a_row_are_what_a_list_does() -> None:
    chance = random.Random(7)
    given, expected = [], []
    for _ in range(scaled(1000)):
        every = list("abcdefgh"[: chance.randint(1, 8)])
        steps = [(chance.choice(every), chance.choice((-1, 1))) for _ in range(chance.randint(0, 30))]
        given.append({"all": list(every), "steps": steps})
        wanted = list(every)
        for one, by in steps:
            at = wanted.index(one)
            if 0 <= at + by < len(wanted):
                wanted[at], wanted[at + by] = wanted[at + by], wanted[at]
        # An address has all of it; what is not there moves nothing.
        expected.append(["".join(wanted)] * 2 + ["".join(every)])
    assert run("line/order.ts", MOVED, json.dumps(given)) == expected


ENDS = """
import { endsOf, step } from "FILE";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
process.stdout.write(JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()).filter((all) => {
  const ends = endsOf(all);
  return all.some(({ id }) => [-1, 1].some((by) => ends.has(`${by} ${id}`) === (step(all, id, by) !== null)));
})));
"""


def test_a_track_has_a_button_where_it_can_go() -> None:
    chance = random.Random(7)
    given = [
        [{"id": str(number), "among": chance.choice((None, "", "a", "b"))} for number in range(chance.randint(0, 12))]
        for _ in range(scaled(1000))
    ]
    assert run("line/order.ts", ENDS, json.dumps(given)) == []


def test_keys_move_a_track_and_a_group(page: Page, site: Site, look: Callable) -> None:
    # All tracks are in sight.
    page.resize(1280, 2000)
    opened(page, site.at(f"c/{site.ids['x86_64']}/timeline?process=hog"))
    first = titles(page)
    at = first.index("▾ Host 5")
    assert first[at + 1 : at + 6] == ["CPU", "Run queue", "Disks", "Memory", "Network"]
    page.see("document.querySelector('.line').focus()")
    page.mouse("mouseMoved", 5, 5)
    for _ in range(at + 4):
        page.press("ArrowDown")
    page.until(f"{SAID} === 'Memory'")
    page.press("ArrowUp", ALT)
    page.press("ArrowUp", ALT)
    page.until(f"{SAID} === 'Memory, place 2 of 5'")
    page.until("location.hash.includes('order=')")
    host = ["CPU", "Memory", "Run queue", "Disks", "Network"]
    assert titles(page)[at + 1 : at + 6] == host
    # A group goes with its tracks, and the title that has the focus keeps it.
    page.see("document.querySelector('[data-track=host] .line-title').focus()")
    page.press("ArrowDown", ALT)
    page.press("ArrowDown", ALT)
    page.until("document.activeElement.closest('[data-track]')?.dataset.track === 'host'")
    moved = titles(page)
    at = moved.index("▾ Host 5")
    assert moved[at - 1].startswith("▸ Heat maps")
    assert moved[at + 1 : at + 6] == host
    # At the end of all nothing moves, and nothing is lost.
    for _ in range(200):
        page.press("ArrowDown", ALT)
        if page.see("document.querySelector('[aria-label=\"Move Host down\"]') === null"):
            break
    page.press("ArrowDown", ALT)
    settled(page)
    last = titles(page)
    assert last[-6:] == ["▾ Host 5", *host]
    assert sorted(last) == sorted(first)
    address = page.see("location.href")
    assert len(address) < 400, "steps of one group are one move"
    opened(page, address)
    assert titles(page) == last
    look("line-order")
    assert violations(page) == []
    page.click("button", "Reset order")
    page.until("!location.hash.includes('order=')")
    page.resize(1280, 2000)
    settled(page)
    assert titles(page) == first


def test_a_title_is_dragged(page: Page, site: Site) -> None:
    opened(page, site.at(f"c/{site.ids['x86_64']}/timeline"))
    first = titles(page)
    left = page.see("document.querySelector('.line').getBoundingClientRect().x") + 30

    def grip(track: str) -> tuple[float, float]:
        return left, page.see(f"document.querySelector('[data-track=\"{track}\"]').getBoundingClientRect().y") + 8

    top(page, "host")
    cpu = "chart:cpu_utilization.timeline.1"
    network = page.see("[...document.querySelectorAll('.line-chart')].at(-1).dataset.track")
    page.drag(grip(network), grip(cpu))
    page.until("location.hash.includes('order=')")
    settled(page)
    at = titles(page).index("▾ Host 5")
    assert titles(page)[at + 1 : at + 6] == ["Network", "CPU", "Run queue", "Disks", "Memory"]
    # A group is not folded by being dragged; what lies between goes round it.
    page.drag(grip("cpus"), grip("host"))
    page.until("decodeURIComponent(location.hash).includes('order=cpus*host')")
    settled(page)
    assert titles(page).index("▾ CPUs 2") < titles(page).index("▾ Host 5")
    # To its own place, or beside the tracks: it stays. Escape lets go of it.
    now = page.see("location.hash")
    page.drag(grip("cpus"), (left, grip("cpus")[1] + 7))
    page.mouse("mouseMoved", *grip("cpus"))
    page.mouse("mousePressed", *grip("cpus"), clickCount=1)
    page.mouse("mouseMoved", left, grip("cpus")[1] + 300, buttons=1)
    page.until("document.querySelector('.line-edge')")
    page.screenshot("line-dragged")
    page.press("Escape")
    page.until("!document.querySelector('.line-edge')")
    page.mouse("mouseReleased", left, grip("cpus")[1] + 300, clickCount=1)
    assert page.see("location.hash") == now
    page.click("[data-track=host] .line-title")
    page.until("location.hash.includes('turn=host')")
    assert sorted(titles(page)) != sorted(first)


def test_buttons_beside_a_title_move_it(page: Page, site: Site) -> None:
    """For those who neither drag nor have keys."""
    opened(page, site.at(f"c/{site.ids['x86_64']}/timeline"))
    top(page, "cpu:0")
    page.mouse("mouseMoved", *page.point("[data-track='cpu:0'] .line-title"))
    page.click("[aria-label='Move CPU 0 down']")
    page.until("location.hash.includes('order=')")
    seen = titles(page)
    assert seen.index("CPU 1") + 1 == seen.index("CPU 0")
    assert page.see("document.querySelector('[aria-label=\"Move CPU 0 down\"]')") is None
    # Threads of a process, and what is pinned, stay among each other.
    opened(page, site.at(f"c/{site.ids['x86_64']}/timeline?pin=cpu:0&pin=cpu:1&turn=host"))
    page.mouse("mouseMoved", *page.point("[data-track='pin:cpu:1'] .line-title"))
    page.click("[aria-label='Move CPU 1 up']")
    page.until("location.hash.includes('order=')")
    assert titles(page)[:3] == ["▾ Pinned 2", "CPU 1", "CPU 0"]


def test_an_order_that_is_none_moves_nothing(page: Page, site: Site) -> None:
    address = f"c/{site.ids['x86_64']}/timeline"
    opened(page, site.at(address))
    first = titles(page)
    for order in ("x", "*", "host*host", "cpu:0*host", "t:9999*", "<b>*cpu:0", "pinned*host"):
        opened(page, site.at(f"{address}?order={order}"))
        assert titles(page) == first, order
        assert param(page, "order") == order
