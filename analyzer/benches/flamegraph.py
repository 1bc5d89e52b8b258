"""`make bench`: how long a reader waits for a flame graph of a large capture, at the server and in a browser.

    python analyzer/benches/flamegraph.py [--requests N] [--pages N] [CAPTURE]

CAPTURE defaults to $PERFCASE_BENCH_DIR/big.data (/var/tmp/perfcase-bench), which record_big.sh records when it is not
there. A server of its own gets it uploaded and imported; then each kind of flame graph is asked for, one after another, by
one client, with no kept answer (they are removed before each) and with one. Chromium opens the page with nothing in its
cache; what counts is the time from the navigation to the first painted frame. For comparison the same callchains are folded
from perf script's text, by a few lines of Python that read it as it comes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import httpx

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from tests.api.conftest import Running, start, wait_ready  # noqa: E402
from tests.web.chromium import chromium  # noqa: E402

GOAL_SERVER_S = 0.3
GOAL_PAINTED_S = 1.5
PAINTED = "+document.querySelector('.flame-canvas')?.dataset.painted"
PIPE_BYTES = 16 << 20


def upload(client: httpx.Client, capture: Path) -> str:
    """The capture's id, imported."""

    def parts():  # noqa: ANN202 - bytes, as httpx takes them
        with capture.open("rb") as file:
            while data := file.read(1 << 20):
                yield data

    length = {"Content-Length": str(capture.stat().st_size)}
    answer = client.post("/v1/captures", params={"name": capture.name}, content=parts(), headers=length)
    capture_id = answer.raise_for_status().json()["capture_id"]
    state = wait_ready(client, capture_id)
    if state["state"] != "ready":
        sys.exit(f"bench: the capture was not imported: {state}")
    return capture_id


def forget(running: Running) -> None:
    """Removes the answers that the server kept."""
    for kept in (running.store / "answers").iterdir():
        kept.unlink()


def ask(client: httpx.Client, route: str, query: dict) -> tuple[float, int]:
    """Seconds until the whole answer is there, and its bytes."""
    begin = time.perf_counter()
    answer = client.get(route, params={"format": "json", **query})
    took = time.perf_counter() - begin
    answer.raise_for_status()
    return took, len(answer.content)


def p95(times: list[float]) -> float:
    """Nineteen of twenty took no longer."""
    return sorted(times)[max(0, -(-len(times) * 95 // 100) - 1)]


def line(name: str, times: list[float], more: str = "") -> str:
    """A row of the table."""
    figures = (statistics.median(times), p95(times), max(times))
    return f"{name:34}" + "".join(f"{figure * 1000:8.0f}" for figure in figures) + f"{len(times):6}  {more}"


def fold(capture: Path) -> tuple[float, int]:
    """Seconds of perf script and of folding its text, and the distinct callchains of all events."""
    begin = time.perf_counter()
    script = subprocess.Popen(
        ["perf", "--no-pager", "script", "-F", "comm,event,ip,sym", "-i", capture],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace", bufsize=PIPE_BYTES,
    )  # fmt: skip
    assert script.stdout is not None
    stacks: Counter[str] = Counter()
    head, frames = "", []
    for text in script.stdout:
        if text == "\n":
            stacks[";".join((head, *reversed(frames)))] += 1
            frames = []
        elif text.startswith(("\t", "        ")):
            # "address name", right-aligned; a line of a sample begins with the thread's name.
            frames.append(text.split(None, 1)[-1].rstrip())
        else:
            head = text.strip()
    if script.wait() != 0:
        sys.exit("bench: perf script failed")
    return time.perf_counter() - begin, len(stacks)


def paint(running: Running, capture_id: str, pages: int) -> list[float]:
    """Seconds from navigation to the first painted frame, each in a Chromium of its own."""
    times = []
    for _ in range(pages):
        forget(running)
        folder = tempfile.TemporaryDirectory(prefix="perfcase-bench-", ignore_cleanup_errors=True)
        with folder as name, chromium(Path(name) / "profile") as page:
            page.open(f"http://127.0.0.1:{running.port}/#/c/{capture_id}/flame")
            times.append(page.until(PAINTED) / 1000)
            assert page.problems == [], page.problems
    return times


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="flame graphs of a large capture, at the server and in a browser")
    folder = Path(os.environ.get("PERFCASE_BENCH_DIR", "/var/tmp/perfcase-bench"))
    parser.add_argument("capture", nargs="?", type=Path, default=folder / "big.data")
    parser.add_argument("--requests", type=int, default=30, help="of each kind")
    parser.add_argument("--pages", type=int, default=5)
    options = parser.parse_args()
    if not options.capture.exists():
        subprocess.run([str(HERE / "record_big.sh"), str(options.capture)], check=True)
    with ExitStack() as stack:
        store = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="perfcase-bench-"))) / "store"
        running = start(store, "", "--open", "--requests-per-minute", "1000000")
        stack.callback(running.stop)
        client = stack.enter_context(running.client())
        capture_id = upload(client, options.capture)
        graph = f"/v1/captures/{capture_id}/flamegraph"
        samples = json.loads(client.get(graph, params={"format": "json"}).text)["events"]
        print(f"{options.capture}: {sum(event['sample_count'] for event in samples):,} samples with callchains")
        load = os.getloadavg()[0]
        print(f"Linux {platform.release()}, {os.cpu_count()} CPUs, load before {load:.1f}; ms: median, p95, slowest")
        kinds = {
            "on the CPU": (graph, {}),
            "off the CPU": (graph, {"off_cpu": True}),
            "off the CPU with wakers": (graph, {"off_cpu": True, "wakers": True}),
        }
        slowest = 0.0
        for name, (route, query) in kinds.items():
            times, size = [], 0
            for _ in range(options.requests):
                forget(running)
                took, size = ask(client, route, query)
                times.append(took)
            slowest = max(slowest, p95(times))
            print(line(name, times, f"{size:,} bytes"))
            print(line(f"{name}, kept", [ask(client, route, query)[0] for _ in range(options.requests)]))
        # With itself: as much work as with another of its size.
        both = {"a": capture_id, "b": capture_id}
        times = []
        for _ in range(max(1, options.requests // 3)):
            forget(running)
            times.append(ask(client, "/v1/diff/flamegraph", both)[0])
        print(line("difference of two captures", times))
        painted = paint(running, capture_id, options.pages)
        print(line("painted in Chromium", painted, "from the navigation"))
    folded, stacks = fold(options.capture)
    print(
        f"perf script and folding: {folded:.1f} s, {stacks:,} callchains; {folded / slowest:.0f} times the server's p95"
    )
    print(f"server's p95: {slowest * 1000:.0f} ms (goal: less than {GOAL_SERVER_S * 1000:.0f} ms)")
    print(f"painted, the slowest: {max(painted) * 1000:.0f} ms (goal: less than {GOAL_PAINTED_S * 1000:.0f} ms)")
    if slowest >= GOAL_SERVER_S or max(painted) >= GOAL_PAINTED_S:
        print("a goal is not met")


if __name__ == "__main__":
    main()
