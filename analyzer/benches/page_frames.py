"""How evenly the time line is drawn while it is moved: ``python analyzer/benches/page_frames.py [CAPTURE]``.

Without a capture it makes one: 10 million intervals of 1,000 threads on 8 CPUs. Chromium opens the time line of it. It is zoomed, panned and
scrolled, some seconds each. It says how many frames were late, what the page's main thread spent in each, and bytes and times of the server's
answers.
"""

from __future__ import annotations

import argparse
import heapq
import random
import re
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from analyzer.benches.captures import FOLDER  # noqa: E402 - from the repository
from analyzer.benches.page_moves import WAYS, Moved, moved  # noqa: E402
from tests.support.perfdata import SWITCH, Recording  # noqa: E402
from tests.web.chromium import Page, chromium  # noqa: E402

THREADS, CPUS, INTERVALS = 1000, 8, 10_000_000
SECONDS = 6
_SWITCH = struct.Struct("<IHHQIIQIIIHBBi16siiq16sii4x")
"""A sample of sched_switch as Recording writes it: these have the names of their threads."""
OPEN_S = 120


def made(path: Path) -> Path:
    """Return a perf.data of switches: each of 5 million ends one interval of a thread and begins another."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    chance = random.Random(1)
    recording = Recording()
    names = {1000 + number: f"worker-{number}".encode() for number in range(THREADS)}
    for tid, name in names.items():
        recording.comm(1, tid, tid, name.decode())
    here = [[tid for tid in names if tid % CPUS == cpu] for cpu in range(CPUS)]
    running = [threads[0] for threads in here]
    waiting = [(1000, cpu) for cpu in range(CPUS)]
    for number in range(INTERVALS // 2):
        now, cpu = heapq.heappop(waiting)
        before, after = running[cpu], chance.choice(here[cpu])
        if before == after:
            after = here[cpu][0 if before != here[cpu][0] else 1]
        running[cpu] = after
        # Two of three go to sleep, the third waits for a disk: who waits for a CPU waits for many, which is another bench.
        state = 1 if number % 3 else 2
        head = (9, 0, _SWITCH.size, SWITCH, before, before, now, cpu, 0, 68, SWITCH, 0, 0, before)
        recording.records.append(_SWITCH.pack(*head, names[before], before, 120, state, names[after], after, 120))
        heapq.heappush(waiting, (now + 2_000 + chance.getrandbits(14), cpu))
    partial = path.with_name(f"partial-{path.name}")
    recording.write(partial)
    return partial.rename(path)


@contextmanager
def served(capture: Path) -> Iterator[str]:
    """Yield the address of the page of a capture."""
    command = [str(Path(sys.executable).parent / "perfcase"), "open", "--no-browser", str(capture)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert child.stdout is not None
        for line in child.stdout:
            if found := re.search(r"http://\S+", line):
                yield found[0].replace("/overview", "/timeline")
                return
        sys.exit("perfcase open said no address")
    finally:
        child.terminate()
        child.wait()


def opened(page: Page, address: str) -> float:
    """Open the time line; return after how many seconds it is whole."""
    begin = time.monotonic()
    page.open(address)
    rested(page)
    return time.monotonic() - begin


def rested(page: Page) -> None:
    """Wait until it is whole."""
    begin = time.monotonic()
    while not page.see(
        "document.querySelector('.line')?.dataset.detail === 'whole' && !document.querySelector('.waiting')"
    ):
        if time.monotonic() > begin + OPEN_S:
            sys.exit(
                f"the time line is not there after {OPEN_S} s: {page.see('document.body.innerText.slice(0, 500)')}"
            )
        time.sleep(0.1)


def closer(page: Page) -> None:
    """Zoom in: there is nothing beside the whole recording."""
    page.see("document.querySelector('.line').focus()")
    for _ in range(6):
        page.press("w")
    time.sleep(0.3)
    rested(page)


def told(seen: Moved) -> Iterator[str]:
    """Yield what is printed of a run."""
    yield f"{seen.said()}; heap: {seen.memory / 1e6:.0f} MB"
    yield from seen.lines()
    yield f"tasks of more than 50 ms: {len(seen.tasks)}, {sum(seen.tasks):.0f} ms"
    answers = [one for one in seen.answers if "/views/" in one["name"]]
    sizes = [sum(one[key] for one in answers) for key in ("encodedBodySize", "decodedBodySize")]
    yield f"answers: {len(answers)}, {sizes[0]:,} bytes on the wire, {sizes[1]:,} unpacked"
    for one in sorted(answers, key=lambda each: -each["decodedBodySize"])[:6]:
        view = one["name"].partition("/views/")[2].partition("?")[0]
        yield f"  {view}: {one['encodedBodySize']:,} bytes of {one['decodedBodySize']:,}, {one['duration']:.0f} ms"


def main() -> None:
    """Measure, and print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("capture", type=Path, nargs="?")
    parser.add_argument("--address", help="the time line of a server that runs")
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    with ExitStack() as stack:
        capture = given.capture or (None if given.address else made(FOLDER / "10M-intervals.data"))
        address = given.address or stack.enter_context(served(capture))
        for _ in range(given.runs):
            with tempfile.TemporaryDirectory() as profile, chromium(Path(profile)) as page:
                print(
                    f"{capture.name if capture else address}: the whole time line after {opened(page, address):.1f} s"
                )
                closer(page)
                for name, turns in WAYS.items():
                    rested(page)
                    for line in told(moved(page, turns, SECONDS)):
                        print(f"{name}: {line}")


if __name__ == "__main__":
    main()
