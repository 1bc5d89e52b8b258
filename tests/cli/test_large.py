"""A recording of millions of samples: every one of them is counted, and the import takes no more memory than it may."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pytest

from perfcase.case import store
from tests.cli.test_code_over_time import SAMPLE, USER, perf_data
from tests.support.cli import PERFCASE
from tests.support.scale import scaled

SAMPLES = scaled(5_000_000)
THREADS, ADDRESSES, STEP_NS = 1_000, 5_000, 700
PEAK_MAX_BYTES = 128 << 20
PEAK_PER_BYTE_MAX = 3
"""The file is mapped twice, and the kernel takes these pages back when it needs them; 15 bytes a sample are kept."""


@pytest.fixture(scope="module")
def recording() -> np.ndarray:
    """Samples of threads at addresses by chance, a fixed time apart."""
    fields = [
        ("type", "<u4"), ("misc", "<u2"), ("size", "<u2"), ("address", "<u8"), ("pid", "<u4"), ("tid", "<u4"), ("time", "<u8"),
    ]  # fmt: skip
    chance = np.random.default_rng(4711)
    samples = np.zeros(SAMPLES, fields)
    samples["type"], samples["misc"], samples["size"] = SAMPLE, USER, samples.itemsize
    samples["address"] = 0x40_0000 + 16 * chance.integers(ADDRESSES, size=SAMPLES)
    samples["pid"] = samples["tid"] = 100 + chance.integers(THREADS, size=SAMPLES)
    samples["time"] = 10**9 + STEP_NS * np.arange(SAMPLES)
    return samples


def test_every_sample_of_a_large_recording(recording: np.ndarray, tmp_path: Path) -> None:
    file = tmp_path / "large.data"
    file.write_bytes(perf_data(recording.tobytes()))
    # A process begins with the peak of the one that started it: a small one.
    starter = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=2, check=True)"
    told = "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    command = [sys.executable, "-c", f"{starter}; {told}", PERFCASE, "import", file]
    peak_kib = int(subprocess.run(command, capture_output=True, check=True).stdout)
    assert peak_kib * 1024 < PEAK_MAX_BYTES + PEAK_PER_BYTE_MAX * file.stat().st_size
    with duckdb.connect(str(store.default_folder(file) / "case.duckdb"), read_only=True) as case:
        by_thread = case.execute("SELECT tid, count(*) FROM sample JOIN thread USING (utid) GROUP BY 1").fetchall()
        by_place = case.execute(
            "SELECT address, count(*) FROM sample JOIN frame USING (frame_id) GROUP BY 1"
        ).fetchall()
        ends = case.execute("SELECT max(ts_ns) - min(ts_ns), count(DISTINCT ts_ns) FROM sample").fetchone()
        issues = case.execute("SELECT kind FROM import_issue WHERE severity <> 'info'").fetchall()
    assert Counter(dict(by_thread)) == Counter(recording["tid"].tolist())
    assert Counter(dict(by_place)) == Counter(recording["address"].tolist())
    assert ends == (STEP_NS * (SAMPLES - 1), SAMPLES)
    assert issues == []
