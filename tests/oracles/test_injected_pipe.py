"""`perf inject -i FILE -o -` writes the tracing data before the first record: perf 6.1 to 6.12 cannot read that file, perfcase can."""

from __future__ import annotations

import struct
from pathlib import Path

import duckdb
import pytest

from tests.oracles.captures import RECORDED
from tests.support.imports import imported

HEADER_ATTR, TRACING_DATA = 64, 66
TRACING_FEATURE = 1
TABLES = ("sched_switch", "sched_wakeup", "sample")
(SCHED,) = [each for each in RECORDED if each.id == "x86_64/sched"]


def injected(data: bytes, *, is_early: bool) -> bytes:
    """A file of perf as a stream, with the tracing data where `perf inject` puts them, or behind their record, where perf record does."""
    attr_size, attrs, attrs_size, at, size = struct.unpack_from("<16xQQQQQ", data)
    flags = int.from_bytes(data[72:104], "little")
    sections = [number for number in range(256) if flags >> number & 1]
    places = {number: struct.unpack_from("<QQ", data, at + size + 16 * index) for index, number in enumerate(sections)}
    start, length = places[TRACING_FEATURE]
    tracing = data[start : start + length].ljust(-(-length // 8) * 8, b"\0")
    stream = b""
    for place in range(attrs, attrs + attrs_size, attr_size):
        ids_at, ids_size = struct.unpack_from("<QQ", data, place + attr_size - 16)
        body = data[place : place + attr_size - 16] + data[ids_at : ids_at + ids_size]
        stream += struct.pack("<IHH", HEADER_ATTR, 0, 8 + len(body)) + body
    record = struct.pack("<IHHII", TRACING_DATA, 0, 16, len(tracing), 0)
    head = struct.pack("<8sQ", b"PERFILE2", 16)
    if is_early:
        return head + tracing + stream + record + data[at : at + size]
    return head + stream + record + tracing + data[at : at + size]


def rows(folder: Path) -> dict[str, list[tuple]]:
    """The rows of the events' tables."""
    found = {}
    with duckdb.connect() as connection:
        for table in TABLES:
            file = folder / "tables" / f"{table}.parquet"
            found[table] = (
                connection.execute(f"SELECT * FROM '{file}' ORDER BY ALL").fetchall() if file.exists() else []
            )
    return found


@pytest.mark.parametrize("is_early", [True, False])
def test_a_stream_of_perf_inject_is_read_as_its_file(tmp_path: Path, is_early: bool) -> None:
    whole, stream = tmp_path / "sched.data", tmp_path / "injected.data"
    whole.write_bytes(SCHED.bytes())
    stream.write_bytes(injected(SCHED.bytes(), is_early=is_early))
    case = imported(stream).folder
    assert rows(case) == rows(imported(whole).folder)
    assert rows(case)["sched_switch"]
    with duckdb.connect() as connection:
        issues = connection.execute(
            f"SELECT kind, message FROM '{case}/tables/import_issue.parquet' WHERE severity <> 'info' AND kind <> 'no_manifest'"
        ).fetchall()
    assert issues == []
