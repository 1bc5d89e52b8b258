"""`make bench`: `perfcase import` of a large perf.data against perf itself, on the same file in the same run.

    python analyzer/benches/run.py [--runs N] [--json FILE] [CAPTURE]

CAPTURE defaults to $PERFCASE_BENCH_DIR/big.data (/var/tmp/perfcase-bench), which record_big.sh records when it is not
there. The runs take turns, so that a noisy neighbour meets both sides, and the best of each is compared: noise only
ever adds time. The first run of each also warms the page cache and, after an upgrade, makes the
views' template; it is counted like the others. The peak memory is
the kernel's (ru_maxrss) for the whole process tree; file pages that the import maps are part of it, so the anonymous
part is smaller.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).parent
PERFCASE = Path(sys.prefix) / "bin" / "perfcase"

# The goals of `perfcase import` on a perf.data of 350 MB with 1.6 million samples with callchains.
GOAL_RATIO = 10.0
GOAL_RSS_BYTES = 1_000_000_000


@dataclass(frozen=True)
class Run:
    """One run of a command."""

    wall_s: float
    cpu_s: float
    resident_max_bytes: int


def measure(command: list[str]) -> Run:
    """Runs the command to its end with its output thrown away."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    error = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall_s = time.monotonic() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {child.returncode}\n{error.decode(errors='replace')[-2000:]}")
    return Run(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def perfcase_import(capture: Path) -> Run:
    """Imports into a folder that is new each time: nothing is reused."""
    with tempfile.TemporaryDirectory(prefix="perfcase-bench-", dir=capture.parent) as folder:
        return measure([str(PERFCASE), "import", str(capture), "-o", folder])


def perf(*arguments: str, capture: Path) -> Run:
    """perf on the capture, without reading the user's settings."""
    return measure(["perf", "--no-pager", *arguments, "-i", str(capture)])


def benches(capture: Path) -> dict[str, object]:
    """What is measured, by the name it is printed under."""
    return {
        "perfcase import": lambda: perfcase_import(capture),
        "perf script": lambda: perf("script", capture=capture),
        "perf report --stdio": lambda: perf("report", "--stdio", capture=capture),
        "perf sched timehist -s": lambda: perf("sched", "timehist", "-s", capture=capture),
        "perf trace -s": lambda: perf("trace", "-s", capture=capture),
    }


def cpu_model() -> str:
    """The CPU's own name for itself."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main() -> None:
    """Measures, prints a table and the two figures with goals."""
    parser = argparse.ArgumentParser(description="perfcase import against perf on a large capture")
    folder = Path(os.environ.get("PERFCASE_BENCH_DIR", "/var/tmp/perfcase-bench"))
    parser.add_argument("capture", nargs="?", type=Path, default=folder / "big.data")
    parser.add_argument("--runs", type=int, default=3, help="runs of import and script; the others run once")
    parser.add_argument("--json", type=Path, help="also write the runs as JSON")
    options = parser.parse_args()

    for tool, remedy in (("perf", "install linux-perf"), (str(PERFCASE), "run make setup")):
        if shutil.which(tool) is None:
            sys.exit(f"bench: {tool} is not there: {remedy}")
    if not options.capture.exists():
        subprocess.run([str(HERE / "record_big.sh"), str(options.capture)], check=True)

    compared = ("perfcase import", "perf script")
    runs: dict[str, list[Run]] = {name: [] for name in benches(options.capture)}
    for turn in range(options.runs):
        for name, bench in benches(options.capture).items():
            if turn == 0 or name in compared:
                runs[name].append(bench())  # type: ignore[operator]

    print(f"{options.capture}: {options.capture.stat().st_size / 1e6:.0f} MB")
    print(f"Linux {platform.release()}, {cpu_model()} x {os.cpu_count()}")
    print(f"{'':24}{'best':>9}{'median':>9}{'cpu':>9}{'peak memory':>14}{'runs':>6}")
    for name, done in runs.items():
        best = min(done, key=lambda run: run.wall_s)
        median_s = statistics.median(run.wall_s for run in done)
        memory = max(run.resident_max_bytes for run in done)
        print(f"{name:24}{best.wall_s:8.2f}s{median_s:8.2f}s{best.cpu_s:8.2f}s{memory / 1e6:11.0f} MB{len(done):6}")

    ours, theirs = (min(run.wall_s for run in runs[name]) for name in compared)
    memory = max(run.resident_max_bytes for run in runs["perfcase import"])
    ratio = theirs / ours
    print(f"perf script / perfcase import: {ratio:.1f} times (goal: at least {GOAL_RATIO:.0f})")
    print(f"peak memory of perfcase import: {memory / 1e6:.0f} MB (goal: less than {GOAL_RSS_BYTES / 1e6:.0f} MB)")
    if options.json is not None:
        report = {name: [asdict(run) for run in done] for name, done in runs.items()}
        options.json.write_text(json.dumps({"capture": str(options.capture), "ratio": ratio, "runs": report}, indent=1))
    if ratio < GOAL_RATIO or memory >= GOAL_RSS_BYTES:
        print("a goal is not met")


if __name__ == "__main__":
    main()
