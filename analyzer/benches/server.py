"""How long the server takes for the routes that a page asks for, made and kept.

    python analyzer/benches/server.py [CAPTURE] [--runs N]

It starts a server on a store of its own, uploads CAPTURE (default: a sample capture; record_big.sh makes one of 1.6
million samples), and asks each route N times: once each time with what is kept of answers removed, so that it is made,
once with it.
The figures are of whole requests on loopback, one at a time: the median and the 95th percentile.
"""

from __future__ import annotations

import argparse
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import perfcase
from perfcase.errors import PerfcaseError

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample-captures" / "x86_64-scheduling" / "x.perfcase"
ROUTES = (
    "", "/info", "/findings", "/views/thread_time?order=on_cpu_ns+DESC", "/views/cpu_utilization", "/views/run_queue_latency",
    "/views/syscall_summary", "/flamegraph?format=json", "/flamegraph?off_cpu=true&format=json", "/report",
)  # fmt: skip
START_S = 60


def started(store: Path) -> tuple[subprocess.Popen, perfcase.Client]:
    """A server and a client of it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [Path(sys.executable).with_name("perfcase"), "serve", "--store", store, "--port", str(port), "--open",
               "--requests-per-minute", "1000000"]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    client = perfcase.Client(f"http://127.0.0.1:{port}", "")
    end = time.monotonic() + START_S
    while True:
        try:
            client.get("/v1/health")
            return process, client
        except PerfcaseError:
            if process.poll() is not None or time.monotonic() > end:
                sys.exit("the server did not start")
            time.sleep(0.1)


def percentile(times: list[float], share: float) -> float:
    """The smallest that as many are at most."""
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def main() -> None:
    """Runs it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        process, client = started(Path(folder) / "store")
        try:
            begun = time.monotonic()
            capture_id = client.upload(given.capture)["capture_id"]
            print(
                f"{given.capture.name}: uploaded and imported in {time.monotonic() - begun:.1f} s; ms, of {given.runs} requests"
            )
            print(f"{'route':<44}{'made: p50':>10}{'p95':>8}{'kept: p50':>12}{'p95':>8}{'bytes':>12}")
            for route in ROUTES:
                measure(client, Path(folder) / "store", f"/v1/captures/{capture_id}{route}", route or "/", given.runs)
        finally:
            process.terminate()
            process.wait()


def measure(client: perfcase.Client, store: Path, place: str, shown: str, runs: int) -> None:
    """One route's line."""
    made, kept, size = [], [], 0
    for _ in range(runs):
        for path in (store / "answers").iterdir():
            path.unlink(missing_ok=True)
        for times in (made, kept):
            begun = time.perf_counter()
            try:
                size = len(client.get(place))
            except PerfcaseError as error:
                print(f"{shown:<44}{re.sub(' +', ' ', str(error))[:80]}")
                return
            times.append((time.perf_counter() - begun) * 1000)
    figures = [percentile(times, share) for times in (made, kept) for share in (0.5, 0.95)]
    print(f"{shown:<44}{figures[0]:>10.1f}{figures[1]:>8.1f}{figures[2]:>12.1f}{figures[3]:>8.1f}{size:>12,}")


if __name__ == "__main__":
    main()
