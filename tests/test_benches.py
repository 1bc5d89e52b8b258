"""The benches run: what they measure changes, and nobody runs them daily. How fast they are is not asserted here."""

from __future__ import annotations

import lzma
import subprocess
import sys
from pathlib import Path

CAPTURES = Path(__file__).parent / "data" / "captures"
BENCHES = Path(__file__).parents[1] / "analyzer" / "benches"


def test_names_of_many_addresses() -> None:
    done = subprocess.run(
        [sys.executable, BENCHES / "symbols.py", "--runs", "1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("100,000 addresses in 300 objects named in ")


def test_flame_graphs_at_the_server_and_in_a_browser(tmp_path: Path) -> None:
    capture = tmp_path / "small.data"
    capture.write_bytes(lzma.decompress((CAPTURES / "aarch64" / "offcpu.data.xz").read_bytes()))
    done = subprocess.run(
        [sys.executable, BENCHES / "flamegraph.py", "--requests", "2", "--pages", "1", capture],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert rows[0].startswith(f"{capture}: ")
    assert [row[:34].strip() for row in rows[2:10]] == [
        "on the CPU", "on the CPU, kept", "off the CPU", "off the CPU, kept", "off the CPU with wakers",
        "off the CPU with wakers, kept", "difference of two captures", "painted in Chromium",
    ]  # fmt: skip


def test_routes_of_the_server() -> None:
    sample = BENCHES.parents[1] / "sample-captures" / "d-nagle" / "pipe.perfcase"
    done = subprocess.run(
        [sys.executable, BENCHES / "server.py", sample, "--runs", "1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("pipe.perfcase: uploaded and imported in ")
    assert len(lines) == 12


def test_how_long_it_takes_to_start() -> None:
    done = subprocess.run(
        [sys.executable, BENCHES / "start.py", "--runs", "1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    named = [line[:40].strip() for line in done.stdout.splitlines()]
    assert {"python -c pass", "perfcase --help", "the first import with other events"} <= set(named)
