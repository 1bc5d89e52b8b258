"""pressure against /proc/pressure as the sample captures' snapshots have it: every interval, every cell."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from tests.recorder.support import Capture, parse_snapshots

SAMPLES = sorted((Path(__file__).parents[2] / "sample-captures").glob("*/x.perfcase"))
LINE = re.compile(r"(some|full) avg10=(\S+) avg60=(\S+) avg300=(\S+) total=(\d+)")


def snapshots(path: Path) -> list[dict[str, bytes]]:
    """The files of each snapshot."""
    capture = Capture.read(path)
    packed = capture.stored.get("proc/snapshots.zst")
    if packed is None:
        return [snapshot.files for snapshot in parse_snapshots(capture.content("proc/snapshots"))]
    plain = subprocess.run(["zstd", "-dc"], input=packed, capture_output=True, check=True).stdout
    return [snapshot.files for snapshot in parse_snapshots(plain)]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parent.name)
def test_pressure(path: Path, tmp_path: Path) -> None:
    theirs: dict[str, list[tuple]] = {}
    before: dict[tuple[str, str], int] = {}
    for files in snapshots(path):
        for resource in ("cpu", "io", "irq", "memory"):
            # What the kernel does not have is an empty answer.
            lines = LINE.findall(files.get(f"/proc/pressure/{resource}", b"").decode())
            steps: dict[str, int] = {}
            shares: dict[str, list[float]] = {}
            for kind, *averages, total in lines:
                if (resource, kind) in before:
                    steps[kind] = (int(total) - before[resource, kind]) * 1000
                before[resource, kind] = int(total)
                shares[kind] = [round(float(average) / 100, 6) for average in averages]
            if steps:
                none = [None] * 3
                cells = (steps.get("some"), steps.get("full"), *shares.get("some", none), *shares.get("full", none))
                theirs.setdefault(resource, []).append(cells)
    assert sum(map(len, theirs.values())) > 20
    copy = tmp_path / "x.perfcase"
    shutil.copy(path, copy)
    database = store.open_case(copy).folder / "case.duckdb"
    with duckdb.connect(str(database), read_only=True) as connection:
        rows = connection.execute("""
            SELECT resource, some_ns, full_ns, round(some_avg10_ratio, 6), round(some_avg60_ratio, 6),
                round(some_avg300_ratio, 6), round(full_avg10_ratio, 6), round(full_avg60_ratio, 6),
                round(full_avg300_ratio, 6), some_ratio, full_ratio, interval_ns
            FROM pressure ORDER BY ts_ns
        """).fetchall()
    ours: dict[str, list[tuple]] = {}
    for resource, *cells, some_ratio, full_ratio, interval_ns in rows:
        ours.setdefault(resource, []).append(tuple(cells))
        for ratio, ns in ((some_ratio, cells[0]), (full_ratio, cells[1])):
            assert ratio == (None if ns is None else pytest.approx(ns / interval_ns, rel=1e-12))
    assert ours == theirs
