"""What a reader of the time line waits for, in Chromium: the largest paint, what follows a key, a click and the wheel, what moves, lost frames.

    python analyzer/benches/page.py CAPTURE [--pages N] [--json FILE]

It starts a server on a store of its own and uploads CAPTURE. Each of N Chromiums, with nothing in its cache, opens the time line, zooms and moves it. Beside
each figure stands its goal. Frames that an empty page loses here while it moves one canvas of the same size are the machine's. Nothing is asserted: figures are the median of the Chromiums, those of input the slowest of all inputs of one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from flamegraph import upload
from page_moves import SIDEWAYS, Moved, floor, moved

from tests.api.conftest import start
from tests.web.chromium import CTRL, Page, chromium
from tests.web.line import axis, settled, top

SHIFT = 8
PAN_S = 2
GOALS: dict[str, float | None] = {
    "largest paint, ms": 1000,
    "tracks painted, ms": 1000,
    "layout shift": 0.05,
    "wheel to the next frame, ms": 100,
    "key to the next frame, ms": 100,
    "click to the next frame, ms": 100,
    "longest task, ms": 100,
    "frames lost of 120 while it moves": 6,
    "  frames lost by one canvas on an empty page": None,
    "main thread in a frame while it moves, CPU ms": 8,
    "  main thread with one canvas on an empty page": None,
    "a zoom until all is as fine as seen, ms": 1000,
}
OBSERVE = """
window.told = {paint: 0, shift: 0, task: 0, inputs: {}};
new PerformanceObserver((list) => list.getEntries().forEach((one) => told.paint = one.startTime)).observe({type: "largest-contentful-paint", buffered: true});
new PerformanceObserver((list) => list.getEntries().forEach((one) => one.hadRecentInput || (told.shift += one.value))).observe({type: "layout-shift", buffered: true});
new PerformanceObserver((list) => list.getEntries().forEach((one) => told.task = Math.max(told.task, one.duration))).observe({type: "longtask", buffered: true});
for (const kind of ["wheel", "keydown", "mousedown", "click"]) addEventListener(kind, (event) => requestAnimationFrame(() => {
  const {port1, port2} = new MessageChannel();
  port1.onmessage = () => (told.inputs[kind] ??= []).push(performance.now() - event.timeStamp);
  port2.postMessage(0);
}), {capture: true, passive: true});
const first = () => { const at = document.querySelector(".line-canvas")?.dataset.painted; if (at) told.tracks = performance.now(); else requestAnimationFrame(first); };
requestAnimationFrame(first);
"""


def once(page: Page, address: str) -> dict[str, float]:
    """One reader's figures."""
    page.call("Page.addScriptToEvaluateOnNewDocument", source=OBSERVE)
    page.open(address)
    settled(page)
    # A paint counts until the first input.
    page.see("new Promise((done) => setTimeout(done, 300))")
    first = page.see("told")
    page.see("told.task = 0")
    tracks = page.see("[...document.querySelectorAll('.line-lane, .line-chart')].map((one) => one.dataset.track)")
    y = top(page, tracks[len(tracks) // 2]) + 8
    left, width = axis(page)
    zooms = []
    for step in range(8):
        begun = time.perf_counter()
        page.mouse("mouseWheel", left + width * 0.4, y, deltaX=0, deltaY=-120 if step < 6 else 120, modifiers=CTRL)
        page.until("document.querySelector('.line').dataset.detail === 'awaited'")
        page.until("document.querySelector('.line').dataset.detail === 'whole'")
        zooms.append((time.perf_counter() - begun) * 1000)
    for _ in range(4):
        page.mouse("mouseWheel", left + width * 0.4, y, deltaX=60, deltaY=0, modifiers=SHIFT)
        settled(page)
    page.see("document.querySelector('.line').focus()")
    for key in ("w", "d", "a", "s", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.press(key)
        settled(page)
    for part in (0.2, 0.5, 0.8):
        page.click_at(left + part * width, y)
        settled(page)
    page.see("told.inputs_ = structuredClone(told.inputs)")
    pan = moved(page, SIDEWAYS, PAN_S)
    settled(page)
    last = page.see("told")
    inputs = last["inputs_"]
    assert page.problems == [], page.problems
    size = page.see(
        "(({ width, height }) => [Math.round(width), Math.round(height)])(document.querySelector('.line-canvas').getBoundingClientRect())"
    )
    alone = floor(page, size, PAN_S)
    return {
        "largest paint, ms": first["paint"],
        "tracks painted, ms": first["tracks"],
        "layout shift": last["shift"],
        "wheel to the next frame, ms": max(inputs["wheel"]),
        "key to the next frame, ms": max(inputs["keydown"]),
        "click to the next frame, ms": max(inputs["mousedown"] + inputs["click"]),
        "longest task, ms": last["task"],
        "frames lost of 120 while it moves": lost_of_120(pan),
        "  frames lost by one canvas on an empty page": lost_of_120(alone),
        "main thread in a frame while it moves, CPU ms": statistics.median(pan.spent),
        "  main thread with one canvas on an empty page": statistics.median(alone.spent),
        "a zoom until all is as fine as seen, ms": statistics.median(zooms),
    }


def lost_of_120(seen: Moved) -> float:
    """Return the frames that did not come, of 120."""
    return seen.lost * 120 / (len(seen.gaps) + seen.lost)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", type=Path)
    parser.add_argument("--pages", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = []
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="perfcase-bench-", ignore_cleanup_errors=True))
        )
        running = start(folder / "store", "", "--open", "--requests-per-minute", "1000000")
        stack.callback(running.stop)
        client = stack.enter_context(running.client())
        capture_id = upload(client, given.capture)
        for number in range(given.pages):
            with chromium(folder / f"profile-{number}") as page:
                found.append(once(page, f"http://127.0.0.1:{running.port}/#/c/{capture_id}/timeline"))
    figures = {name: statistics.median(one[name] for one in found) for name in GOALS}
    for name, value in figures.items():
        goal = GOALS[name]
        print(
            f"{name:<46}{value:>9.3g}", "" if goal is None else f"  goal {goal:g}{'' if value <= goal else ': not met'}"
        )
    if given.json:
        given.json.write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
