"""The benches run: what they measure changes, and nobody runs them daily. How fast they are is not asserted here.

Those that start servers, browsers or many imports are for the long tier: what they call, other tests call too.
"""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest

CAPTURES = Path(__file__).parent / "data" / "captures"
BENCHES = Path(__file__).parents[1] / "analyzer" / "benches"


def test_names_of_many_addresses() -> None:
    done = subprocess.run(
        [sys.executable, BENCHES / "symbols.py", "--runs", "1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("100,000 addresses in 300 objects named in ")


def test_the_suite_writes_a_table_and_json(tmp_path: Path) -> None:
    """On a small recording in the place of a large one. It runs nine commands."""
    small = lzma.decompress((CAPTURES / "aarch64" / "offcpu.data.xz").read_bytes())
    (tmp_path / "sockets.data").write_bytes(small)
    done = subprocess.run(
        [sys.executable, BENCHES / "suite.py", "--captures", "sockets", "--parts", "import,answers,peers", "--runs", "1", "--json", tmp_path / "x.json", "--doc", tmp_path / "x.md"],
        capture_output=True, text=True, check=False, env={**os.environ, "PERFCASE_BENCH_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "x.json").read_text())
    rows = {row["what"]: row for row in told["rows"]}
    assert {"import, tables only", "findings, kept", "report, worked out", "perf trace -s"} <= set(rows)
    assert rows["import, tables only"]["output_bytes"] > 10_000
    assert all(row["best"]["cpu_s"] > 0 and row["best"]["anonymous_max_bytes"] > 1_000_000 for row in rows.values())
    document = (tmp_path / "x.md").read_text()
    assert document.startswith("# Benchmarks\n")
    assert "| command | time | CPU time | memory | writes | x perf trace -s | MB/s |" in document
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
    wrong = subprocess.run(
        [sys.executable, BENCHES / "suite.py", "--captures", "x"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert "no capture x: there are default, 50MB, 350MB" in wrong.stderr


def test_snapshots_of_proc_are_imported(tmp_path: Path) -> None:
    """No other tool reads them: the time to read the file is the unit."""
    subprocess.run([sys.executable, BENCHES / "proc.py", tmp_path / "proc.snapshots", "3", "40"], check=True)
    done = subprocess.run(
        [sys.executable, BENCHES / "suite.py", "--captures", "proc", "--parts", "import", "--runs", "1", "--doc", tmp_path / "x.md"],
        capture_output=True, text=True, check=False, env={**os.environ, "PERFCASE_BENCH_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = (tmp_path / "x.md").read_text()
    assert "## proc: 0 MB\n\nAn hour of /proc" in document
    assert "| import, tables only | " in document


def test_conversations_end() -> None:
    subprocess.run([sys.executable, BENCHES / "conversations.py", "20", "3"], check=True, timeout=60)


@pytest.mark.long("15 s")
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


@pytest.mark.long("15 s")
def test_routes_of_the_server() -> None:
    sample = BENCHES.parents[1] / "sample-captures" / "d-nagle" / "pipe.perfcase"
    done = subprocess.run(
        [sys.executable, BENCHES / "server.py", sample, "--runs", "1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("pipe.perfcase: uploaded and imported in ")
    assert len(lines) == 12


@pytest.mark.long("45 s")
def test_many_captures_at_the_server_and_on_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, BENCHES / "fleet.py", "--captures", "8", "--sources", "3", "--runs", "1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("8 captures; best of 1")
    assert len(lines) == 22


@pytest.mark.long("25 s")
def test_how_long_it_takes_to_start() -> None:
    done = subprocess.run(
        [sys.executable, BENCHES / "start.py", "--runs", "1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    named = [line[:40].strip() for line in done.stdout.splitlines()]
    assert {"python -c pass", "perfcase --help", "the first import with other events"} <= set(named)
