"""page_cache by ftrace's function profile: cachestat's arithmetic on the recorded texts, and what the workload is known to do."""

from __future__ import annotations

import lzma
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from tests.oracles.test_proc import files

DATA = Path(__file__).parents[1] / "data" / "proc"
FILE_PAGES = 1024
"""The size of the file that the workload reads: 4 MiB, a page a folio."""


@pytest.fixture(scope="module")
def stream() -> bytes:
    return lzma.decompress((DATA / "function-profile.xz").read_bytes())


@pytest.fixture(scope="module")
def case(stream: bytes, tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    file = tmp_path_factory.mktemp("profile") / "snapshots"
    file.write_bytes(stream)
    with duckdb.connect(str(store.open_case(file).folder / "case.duckdb"), read_only=True) as connection:
        yield connection


def calls(stream: bytes) -> list[Counter[str]]:
    """Calls of each function since the profile was switched on, over all CPUs, by snapshot."""
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for snapshot, _, path, text in files(stream):
        if "/trace_stat/function" in path:
            for name, count, *_ in map(str.split, text.splitlines()[2:]):
                found[snapshot][name] += int(count)
    return [found[snapshot] for snapshot in sorted(found)]


def test_every_function_of_every_cpu(case: duckdb.DuckDBPyConnection, stream: bytes) -> None:
    theirs = [
        (snapshot, int(path.rpartition("function")[2]), *line.split()[:2])
        for snapshot, _, path, text in files(stream)
        if "/trace_stat/function" in path
        for line in text.splitlines()[2:]
    ]
    ours = case.execute("SELECT snapshot, cpu, function, hit_count::VARCHAR FROM function_hit").fetchall()
    assert Counter(ours) == Counter(theirs)
    assert {cpu for _, cpu, _, _ in ours} == {0, 1}


def test_cachestat(case: duckdb.DuckDBPyConnection, stream: bytes) -> None:
    """The lines that bcc's cachestat would print for the same counts; this kernel has the folio names of its functions."""
    counts = calls(stream)
    theirs = []
    for before, after in pairwise(counts):
        mpa, mbd, apcl, apd = (
            after[name] - before[name]
            for name in ("folio_mark_accessed", "mark_buffer_dirty", "filemap_add_folio", "folio_account_dirtied")
        )
        total, misses = max(mpa - mbd, 0), max(apcl - apd, 0)
        if total < misses:
            # Read ahead adds more than is asked for: bcc takes all for misses then.
            misses = total
        theirs.append((total - misses, misses, mbd))
    ours = case.execute("SELECT method, hit_count, miss_count, dirty_count FROM page_cache ORDER BY ts_ns").fetchall()
    assert ours == [("function profile", *row) for row in theirs]
    assert len(ours) > 10


def test_what_the_workload_did(case: duckdb.DuckDBPyConnection, stream: bytes) -> None:
    """The whole file is read from the cache, from the disk after the cache was dropped, and from the cache again."""
    steps = [line.split() for line in (DATA / "function-profile.txt").read_text().splitlines()]
    times = {name: (float(at), float(steps[n + 1][0])) for n, (at, name) in enumerate(steps) if name != "end"}
    start = min(time for _, time, _, _ in files(stream))
    rows = case.execute(
        "SELECT ts_ns, ts_ns + interval_ns, hit_count, miss_count, dirty_count FROM page_cache"
    ).fetchall()

    def during(name: str) -> tuple[int, int, int]:
        """Hits, misses and dirty pages of the intervals that a step of the workload touches."""
        began, ended = (round(at * 1e9) - start for at in times[name])
        # /proc/uptime has hundredths of a second.
        touched = [row[2:] for row in rows if row[0] < ended + 10_000_000 and row[1] > began]
        hits, misses, dirty = (sum(column) for column in zip(*touched, strict=True))
        return hits, misses, dirty

    hits, misses, _ = during("cached")
    assert hits >= FILE_PAGES > misses
    assert during("write")[2] >= FILE_PAGES
    assert during("drop")[1] >= FILE_PAGES
    hits, misses, _ = during("again")
    assert hits >= FILE_PAGES > misses
