"""Block events against the kernel's own accounts of the same seconds: /proc/diskstats and /proc/vmstat in the sample captures.

The kernel counts a request when it completes, so in each interval between two snapshots block_io must have as many reads,
bytes and flushes complete as diskstats counts: exactly, except requests that complete while the files are being read.
Writes are compared in bytes: the kernel also counts a flush without data as a write of nothing.
"""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from perfcase.case import store
from tests.oracles.conftest import Case

SAMPLES = sorted((Path(__file__).parents[2] / "sample-captures").glob("*/x.perfcase"))
EDGE_NS = 20_000_000
"""A snapshot takes this long at most, in these emulated guests."""

KERNEL = """
SELECT d.device, d.major || ',' || d.minor, d.ts_ns, d.read_count, d.read_bytes, d.write_bytes, d.flush_count
FROM proc_disk AS d
WHERE d.ts_ns > (SELECT first_ts_ns + 20000000 FROM source WHERE is_block_source)
    AND d.major || ',' || d.minor IN (SELECT device FROM block_io)
ORDER BY d.device, d.snapshot
"""
OURS = """
SELECT count(*) FILTER (operation = 'read'), coalesce(sum(size_bytes) FILTER (operation = 'read'), 0)::BIGINT,
    coalesce(sum(size_bytes) FILTER (operation = 'write'), 0)::BIGINT, count(*) FILTER (operation = 'flush')
FROM block_io WHERE device = ? AND completed_ts_ns > ? AND completed_ts_ns <= ?
"""

BYTES_READ = """
SELECT coalesce(sum(size_bytes), 0)::BIGINT FROM block_io
WHERE operation = 'read' AND completed_ts_ns > ? AND completed_ts_ns <= ?
"""


@pytest.fixture(scope="module", params=SAMPLES, ids=lambda path: path.parent.name)
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    copy = tmp_path_factory.mktemp("diskstats") / "x.perfcase"
    shutil.copy(request.param, copy)
    return Case(store.open_case(copy).folder)


def test_every_interval(sample: Case) -> None:
    rows = sample.rows(KERNEL)
    devices = {row[:2] for row in rows}
    assert devices
    for name, number in devices:
        snapshots = [row[2:] for row in rows if row[0] == name]
        total = [0, 0, 0, 0]
        for (begin, *before), (end, *after) in itertools.pairwise(snapshots):
            theirs = tuple(b - a for a, b in zip(before, after, strict=True))
            (least,) = sample.rows(OURS, number, begin + EDGE_NS, end)
            (most,) = sample.rows(OURS, number, begin, end + EDGE_NS)
            told = f"{name} {begin}..{end}: kernel {theirs}, ours {least} to {most}"
            assert all(low <= kernel <= high for low, kernel, high in zip(least, theirs, most, strict=True)), told
            total = [a + b for a, b in zip(total, theirs, strict=True)]
        assert sum(total) > 0


@pytest.mark.parametrize("sample", [path for path in SAMPLES if "aarch64" in str(path)], indirect=True)
def test_pages_missed_are_bytes_read_from_the_device(sample: Case) -> None:
    """page_cache by vmstat counts what came from the block devices: in the same intervals, the same bytes as block_io has.

    The capture has no filemap events: the view would take those instead."""
    (first,) = sample.rows("SELECT first_ts_ns FROM source WHERE is_block_source")[0]
    found = sample.rows(
        "SELECT ts_ns, interval_ns, method, miss_bytes FROM page_cache WHERE ts_ns > ?", first + EDGE_NS
    )
    assert {row[2] for row in found} == {"vmstat"}
    begin, end = found[0][0], found[-1][0] + found[-1][1]
    (least,) = sample.rows(BYTES_READ, begin + EDGE_NS, end)
    (most,) = sample.rows(BYTES_READ, begin, end + EDGE_NS)
    assert 0 < least[0] <= sum(row[3] for row in found) <= most[0]
