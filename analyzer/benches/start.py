"""How long perfcase takes before it works: the list of commands, one row of a view, the first import of all.

    python analyzer/benches/start.py [--runs N] [--json FILE]

Whole processes, in turns: the median of N runs. Beside them perf, which only says its version, and Python itself, which is the
floor. The first import of all makes the database of the views; the first with other events makes one
from it; later ones copy it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
PERFCASE = Path(sys.executable).with_name("perfcase")
SAMPLES = ROOT / "sample-captures"


def timed(*command: object, **environment: str) -> float:
    """Seconds that a process takes, with its output thrown away."""
    begun = time.monotonic()
    subprocess.run(
        [*map(str, command)], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )  # fmt: skip
    return time.monotonic() - begun


def first_imports(folder: Path) -> dict[str, float]:
    """Imports by somebody who has never run perfcase: of two captures with other events, and of the second again."""
    home = {"XDG_CACHE_HOME": str(folder / "cache")}
    shutil.rmtree(folder / "cache", ignore_errors=True)
    small, other = folder / "small.perfcase", folder / "other.perfcase"
    return {
        "the first import of all": timed(PERFCASE, "import", "--force", small, **home),
        "the first import with other events": timed(PERFCASE, "import", "--force", other, **home),
        "the same import again": timed(PERFCASE, "import", "--force", other, **home),
    }


def main() -> None:
    """Runs it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="perfcase-bench-") as scratch:
        folder = Path(scratch)
        shutil.copy(SAMPLES / "d-nagle" / "tcp.perfcase", folder / "small.perfcase")
        shutil.copy(SAMPLES / "x86_64-scheduling" / "x.perfcase", folder / "other.perfcase")
        timed(PERFCASE, "import", folder / "small.perfcase")
        case = folder / "small.case"
        asked: dict[str, Callable[[], float]] = {
            "python -c pass": lambda: timed(sys.executable, "-c", "pass"),
            "perfcase --help": lambda: timed(PERFCASE, "--help"),
            "perfcase view thread, one row": lambda: timed(PERFCASE, "view", "thread", case, "--limit", 1),
        }
        if shutil.which("perf"):
            asked["perf --version"] = lambda: timed("perf", "--version")
        found: dict[str, list[float]] = {name: [] for name in asked}
        for _ in range(given.runs):
            for name, ask in asked.items():
                found[name].append(ask())
        for _ in range(max(1, given.runs // 3)):
            for name, seconds in first_imports(folder).items():
                found.setdefault(name, []).append(seconds)
    medians = {name: statistics.median(times) for name, times in found.items()}
    print(f"{'':<40}{'ms':>8}{'to Python':>11}")
    for name, seconds in medians.items():
        print(f"{name:<40}{seconds * 1000:>8.0f}{seconds / medians['python -c pass']:>10.1f}x")
    if given.json:
        given.json.write_text(json.dumps({"seconds": medians, "runs": given.runs}, indent=2) + "\n")


if __name__ == "__main__":
    main()
