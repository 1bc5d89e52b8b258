"""What the page's benches share: the time line is moved frame by frame, and what this costs is counted.

Frames come late when other programs want the CPU too. What the page's main thread spends in a frame is its own: CPU time, from the trace of Chromium.
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.web.chromium import Page

FRAME_MS = 1000 / 60
SIDEWAYS = (
    "() => roll({ shiftKey: true, deltaY: 20 })",
    "() => roll({ shiftKey: true, deltaY: -20 })",
)
WAYS = {
    # Zooming by hand is not as quick as frames are.
    "zoom": (
        "(number) => number % 6 || roll({ ctrlKey: true, deltaY: -1 })",
        "(number) => number % 6 || roll({ ctrlKey: true, deltaY: 1 })",
    ),
    # To and fro: what lies further away is asked for when it rests.
    "pan": SIDEWAYS * 6,
    "scroll": ("() => { line.scrollTop += 15; }", "() => { line.scrollTop -= 15; }"),
}
"""In and out, to the right and to the left, down and up."""
_MOVE = """
(async () => {
  const line = document.querySelector('.line'), box = line.getBoundingClientRect();
  const gaps = [], answers = [], tasks = [];
  const watch = [['resource', answers], ['longtask', tasks]].map(([type, all]) => {
    const observer = new PerformanceObserver((found) => all.push(...found.getEntries()));
    observer.observe({ type });
    return observer;
  });
  const roll = (more) => line.dispatchEvent(new WheelEvent('wheel', {
    clientX: box.x + box.width / 2, clientY: box.y + 100, bubbles: true, cancelable: true, ...more }));
  const turns = [TURNS];
  const frame = () => new Promise(requestAnimationFrame);
  let last = await frame();
  const begin = last;
  for (let number = 0; last < begin + SECONDS * 1000; number++) {
    turns[Math.floor((last - begin) * turns.length / TURN_MS) % turns.length](number);
    const now = await frame();
    gaps.push(now - last);
    last = now;
  }
  for (const one of watch) one.disconnect();
  return {
    gaps,
    tasks: tasks.map(({ duration }) => duration),
    memory: performance.memory?.usedJSHeapSize ?? 0,
    answers: answers.map(({ name, encodedBodySize, decodedBodySize, duration }) => ({ name, encodedBodySize, decodedBodySize, duration })),
  };
})()
"""


@dataclass
class Moved:
    """What was seen while it moved."""

    gaps: list[float]
    """From a frame to the next, in ms."""
    tasks: list[float]
    """Tasks of more than 50 ms."""
    memory: int
    answers: list[dict[str, Any]]
    """What the server answered: its address, bytes and ms."""
    spent: list[float] = field(default_factory=list)
    """CPU time of the main thread in each frame, in ms."""
    parts: Counter[str] = field(default_factory=Counter)
    """The same for the browser's own names of what it did, each without what it called, in ms."""

    @property
    def lost(self) -> int:
        """Frames that did not come at all."""
        return sum(max(round(gap / FRAME_MS) - 1, 0) for gap in self.gaps)

    def said(self) -> str:
        """Return how even the frames were, in words."""
        ranked = sorted(self.gaps)
        # A browser rounds when a frame was.
        late = sum(gap > FRAME_MS + 1 for gap in ranked)
        return (
            f"{len(ranked)} frames, from one to the next: median {statistics.median(ranked):.1f} ms, p95 {ranked[int(0.95 * (len(ranked) - 1))]:.1f},"
            f" most {ranked[-1]:.0f}; {late} later than {FRAME_MS:.1f} ms, {self.lost} did not come"
        )

    def lines(self) -> list[str]:
        """Return what the main thread did, in words."""
        ranked = sorted(self.spent)
        p95 = ranked[int(0.95 * (len(ranked) - 1))]
        most = ", ".join(f"{name} {ms / len(ranked):.2f}" for name, ms in self.parts.most_common(8))
        over = sum(one > FRAME_MS for one in ranked)
        return [
            f"main thread, CPU time of a frame: {statistics.mean(ranked):.2f} ms, median {statistics.median(ranked):.2f},"
            f" p95 {p95:.2f}, most {ranked[-1]:.1f}; {over} of {len(ranked)} frames above {FRAME_MS:.0f} ms",
            f"  of it: {most} ms",
        ]


def moved(page: Page, turns: tuple[str, ...], seconds: float) -> Moved:
    """Move the time line for so long, a part of the time in each way."""
    script = _MOVE.replace("TURN_MS", str(seconds * 1000)).replace("SECONDS", str(seconds))
    with page.traced() as trace:
        found = Moved(**page.see(script.replace("TURNS", ", ".join(turns))))
    found.spent, found.parts = _spent(trace)
    return found


EMPTY = """
([width, height]) => {
  document.body.innerHTML = `<div class="line"><canvas width="${width}" height="${height}"></canvas></div>`;
  const canvas = document.querySelector('canvas'), context = canvas.getContext('2d');
  let number = 0;
  // Stripes, so that each frame differs from the one before in all of its pixels.
  const stripes = (from, to) => {
    for (let x = from; x < to; x += 4) {
      context.fillStyle = `hsl(${(number++ * 37) % 360} 60% 50%)`;
      context.fillRect(x, 0, 4, height);
    }
  };
  stripes(0, width);
  globalThis.shift = (by) => {
    context.drawImage(canvas, -by, 0);
    if (by > 0) stripes(width - by, width);
    else stripes(0, -by);
  };
}
"""


def floor(page: Page, size: tuple[int, int], seconds: float) -> Moved:
    """Move one canvas of this size in a page that has nothing else, as a time line moves: what the browser itself loses here."""
    page.open("about:blank")
    page.until("location.href === 'about:blank' && document.body")
    page.see(f"({EMPTY})({list(size)})")
    return moved(page, ("() => shift(20)", "() => shift(-20)"), seconds)


def _spent(trace: list[dict[str, Any]]) -> tuple[list[float], Counter[str]]:
    """Return the CPU time of each frame of the page's main thread, and of its parts, in ms."""
    frames = [one for one in trace if one["name"] == "FireAnimationFrame"]
    (((pid, tid), _),) = Counter((one["pid"], one["tid"]) for one in frames).most_common(1)  # fmt: skip
    own = sorted(
        (one for one in trace if (one["pid"], one["tid"], one["ph"]) == (pid, tid, "X") and "tdur" in one),
        key=lambda one: (one["ts"], -one["dur"]),
    )
    begins: list[float] = []
    end = 0.0
    for one in own:
        if one["ts"] >= end:
            task, end = one["ts"], one["ts"] + one["dur"]
        # All that asked for a frame is called in one task: the bench asks as well as the page, and half of a frame is none.
        if one["name"] == "FireAnimationFrame" and begins[-1:] != [task]:
            begins.append(task)
    spent, parts = [0.0] * len(begins), Counter[str]()
    open_: list[dict[str, Any]] = []
    number = 0
    for one in own:
        while open_ and open_[-1]["ts"] + open_[-1]["dur"] <= one["ts"]:
            open_.pop()
        while number + 1 < len(begins) and begins[number + 1] < one["ts"] + one["dur"]:
            number += 1
        ms = one["tdur"] / 1000
        parts[one["name"]] += ms
        if open_:
            parts[open_[-1]["name"]] -= ms
        elif begins and one["ts"] + one["dur"] > begins[0]:
            spent[number] += ms
        open_.append(one)
    return spent, parts
