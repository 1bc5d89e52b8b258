"""A histogram added up by some of its columns: each row worked by hand."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from perfcase.catalogue.histogram import added_up, keys_of
from perfcase.catalogue.plot import Histogram
from perfcase.catalogue.views import load_views
from perfcase.errors import PerfcaseError
from tests.support.cli import perfcase, succeed
from tests.support.fakecase import make_case

HOW = Histogram("bucket_min_ns", "bucket_max_ns", "wait_count", ("tid", "comm"), "ns")
ROWS = (
    "SELECT * FROM (VALUES (1, 'a', 0, 2, 3), (1, 'a', 4, 8, 1), (2, 'a', 4, 8, 1), (3, NULL, 2, 4, 5), (4, 'all', 8, 16, 90))"
    " AS t (tid, comm, bucket_min_ns, bucket_max_ns, wait_count)"
)


def rows(keys: tuple[str, ...], of: str = ROWS) -> list[tuple]:
    with duckdb.connect() as connection:
        return connection.execute(added_up(HOW, keys, of)).fetchall()


def test_by_a_name_that_may_be_unknown() -> None:
    columns = "rank, comm, bucket_min_ns, bucket_max_ns, wait_count, wait_ratio, total_count, below_p50_ns, below_p99_ns, below_max_ns"
    with duckdb.connect() as connection:
        found = connection.execute(added_up(HOW, ("comm",), ROWS))
        assert [column[0] for column in found.description] == columns.split(", ")
    assert rows(("comm",)) == [
        # 3, 8, 10 and 100 of 100: half and 99 of 100 are in the last bucket.
        (0, None, 0, 2, 3, 0.03, 100, 16, 16, 16), (0, None, 2, 4, 5, 0.05, 100, 16, 16, 16),
        (0, None, 4, 8, 2, 0.02, 100, 16, 16, 16), (0, None, 8, 16, 90, 0.9, 100, 16, 16, 16),
        (1, "all", 8, 16, 90, 1.0, 90, 16, 16, 16),
        # Where two are of one size, what has a name comes first.
        (2, "a", 0, 2, 3, 0.6, 5, 2, 8, 8), (2, "a", 4, 8, 2, 0.4, 5, 2, 8, 8),
        (3, None, 2, 4, 5, 1.0, 5, 4, 4, 4),
    ]  # fmt: skip


def test_by_nothing_and_by_two() -> None:
    assert [row[:4] for row in rows(())] == [(0, 0, 2, 3), (0, 2, 4, 5), (0, 4, 8, 2), (0, 8, 16, 90)]
    assert [row[:6] for row in rows(("comm", "tid")) if row[0]] == [
        (1, "all", 4, 8, 16, 90), (2, None, 3, 2, 4, 5), (3, "a", 1, 0, 2, 3), (3, "a", 1, 4, 8, 1), (4, "a", 2, 4, 8, 1),
    ]  # fmt: skip
    assert rows(("comm",), f"{ROWS} WHERE false") == []


def test_a_part_is_reached_exactly() -> None:
    """99 of 100 are below the end of a bucket up to which 99 of 100 are, and one more is not."""
    table = "SELECT 1 AS tid, 'a' AS comm, * FROM (VALUES (0, 2, 50), (2, 4, 49), (4, 8, {})) AS t (bucket_min_ns, bucket_max_ns, wait_count)"
    assert rows((), table.format(1))[0][-3:] == (2, 4, 8)
    assert rows((), table.format(2))[0][-3:] == (4, 8, 8)


def test_large_counts_are_added_up() -> None:
    largest = 2**63 - 1
    two = f"SELECT 1 AS tid, 'a' AS comm, * FROM (VALUES (0, 2, {largest}), (2, 4, {largest})) AS t (bucket_min_ns, bucket_max_ns, wait_count)"
    assert [row[3:] for row in rows((), two)] == [
        (largest, 0.5, 2 * largest, 2, 4, 4),
        (largest, 0.5, 2 * largest, 2, 4, 4),
    ]


def test_what_by_names() -> None:
    view = load_views()["block_size"]
    assert keys_of(view, "operation,comm , comm")[1] == ("operation", "comm")
    assert keys_of(view, "-")[1] == ()
    for wrong in ("", "request_count", "comm; SELECT 1", "comm,"):
        with pytest.raises(PerfcaseError, match="no such column"):
            keys_of(view, wrong)
    for other in (load_views()["thread_time"], None):
        with pytest.raises(PerfcaseError, match="only a histogram"):
            keys_of(other, "comm")


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    requests = [("sh", 512), ("sh", 600), ("dd", 4096), ("dd", 4096), ("dd", 5000)]
    ios = [{"comm": comm, "operation": "read", "size_bytes": size, "issued_ts_ns": n, "latency_ns": n}
           for n, (comm, size) in enumerate(requests)]  # fmt: skip
    return make_case(tmp_path_factory.mktemp("histogram") / "x.case", {"block_io": ios})


def test_the_command_adds_up(case: Path) -> None:
    assert succeed("view", "block_size", case, "--by", "comm", "-f", "csv").splitlines() == [
        "rank,comm,bucket_min_bytes,bucket_max_bytes,request_count,request_ratio,total_count,below_p50_bytes,below_p99_bytes,below_max_bytes",
        "0,,512,1024,2,0.4,5,8192,8192,8192",
        "0,,4096,8192,3,0.6,5,8192,8192,8192",
        "1,dd,4096,8192,3,1.0,3,8192,8192,8192",
        "2,sh,512,1024,2,1.0,2,1024,1024,1024",
    ]
    chosen = succeed("view", "block_size", case, "--by", "-", "--where", "comm = 'sh'", "--order", "rank", "-f", "csv")
    assert chosen.splitlines()[1:] == ["0,512,1024,2,1.0,2,1024,1024,1024"]
    assert "rank 1  comm dd" in succeed("view", "block_size", case, "--by", "comm", "--plot")
    refused = perfcase("view", "block_size", case, "--by", "device")
    assert (refused.returncode, refused.stderr) == (
        2, "perfcase: --by device: no such column: device (it has comm, operation)\n")  # fmt: skip
    # An @ of the user's is DuckDB's: its absolute value, or text.
    absolute = succeed(
        "view", "block_size", case, "--by", "-", "--where", "@(-1) = 1 AND comm <> '@nothing(x)'", "-f", "csv"
    )
    assert absolute == succeed("view", "block_size", case, "--by", "-", "-f", "csv")
