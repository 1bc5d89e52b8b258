"""The length of an interval is asked for by a variable, as any DuckDB can set it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.support.fakecase import make_case

SECOND = 1_000_000_000


@pytest.fixture
def connection(tmp_path: Path) -> duckdb.DuckDBPyConnection:
    request = {"device": "8,0", "operation": "read", "size_bytes": 4096, "latency_ns": 1000}
    times = [{"issued_ts_ns": ts, "completed_ts_ns": ts + 1000} for ts in range(0, 2 * SECOND, SECOND // 10)]
    page = {"source_id": 0, "utid": 1, "s_dev": 1, "i_ino": 7}
    folder = make_case(
        tmp_path / "x.case",
        {
            "capture": [{"duration_ns": 2 * SECOND}],
            "block_io": [{**request, **time} for time in times],
            "mm_filemap_add_to_page_cache": [{**page, "ts_ns": n * SECOND // 10, "index": n} for n in range(20)],
        },
    )
    return duckdb.connect(str(folder / "case.duckdb"), read_only=True)


@pytest.mark.parametrize(
    ("view", "count"), [("block_latency_over_time", "request_count"), ("page_cache", "miss_count")]
)
def test_intervals_are_a_second_or_as_asked(connection: duckdb.DuckDBPyConnection, view: str, count: str) -> None:
    sql = f"SELECT interval_ns, {count} FROM {view} ORDER BY ts_ns"
    assert connection.execute(sql).fetchall() == [(SECOND, 10)] * 2
    connection.execute("SET VARIABLE interval_ns = 100000000")
    assert connection.execute(sql).fetchall() == [(SECOND // 10, 1)] * 20
    connection.execute("SET VARIABLE interval_ns = 1500000000")
    assert connection.execute(sql).fetchall() == [(3 * SECOND // 2, 15), (SECOND // 2, 5)]
