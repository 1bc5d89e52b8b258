"""Captures with almost no data: every rule must be silent, and no view may fail.

They are made of real ones that do fire rules: one reading of /proc, the same reading twice, no time at all, one CPU, 1,152 CPUs;
and of rows with the largest and smallest numbers that a column can hold, as a damaged file has them.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb
import pytest

from perfcase.case import database, query
from perfcase.case.kept import have_findings
from perfcase.case.sharing import share_findings
from perfcase.catalogue.schema import load_tables, quote
from perfcase.catalogue.views import load_views
from tests.support.fakecase import make_case
from tests.support.imports import ROOT, imported
from tests.support.scale import scaled

HEALTHY = "tests/data/captures/idle.perfcase"
# One that fires rules of each kind of /proc figures: paging, disks, memory, descriptors, steal, interrupts, TCP.
SOURCES = (
    "sample-captures/e-page-cache/larger.perfcase",
    "tests/data/findings/fd-leak.perfcase.xz",
    "tests/data/findings/steal",
    "tests/data/findings/listen.perfcase.xz",
    "tests/data/findings/softirq.perfcase.xz",
    "tests/data/findings/growth",
    "sample-captures/x86_64-scheduling/x.perfcase",
)[: scaled(7, 3)]
OF_ONE_READING = {
    "capture_trust",  # what a recording lost is lost
    "fd_leak",  # a limit is near whenever it is looked at
    "listen_overflow",  # and so is a queue that is full
}
CPUS = 1152

Change = Callable[[str, set[str]], str | None]
"""Gets a table's name and columns; returns the SELECT of its rows from ``whole``; None where they stay."""


def changed(source: str, folder: Path, change: Change) -> Path:
    """A copy of an import with other rows."""
    case = imported(ROOT / source)
    (folder / "tables").mkdir(parents=True)
    with duckdb.connect() as connection:
        for path in sorted((case.folder / "tables").glob("*.parquet")):
            whole = connection.from_parquet(str(path))
            select = change(path.stem, set(whole.columns))
            if select is None:
                shutil.copyfile(path, folder / "tables" / path.name)
            else:
                connection.execute(f"CREATE OR REPLACE VIEW whole AS FROM read_parquet('{path}')")
                connection.sql(select).write_parquet(str(folder / "tables" / path.name))
    database.write(folder, {})
    shutil.copyfile(case.folder / "import.json", folder / "import.json")
    return folder


def one_reading(_: str, columns: set[str]) -> str | None:
    if "snapshot" in columns:
        return "FROM whole WHERE snapshot = (SELECT min(snapshot) FROM whole)"
    return "FROM whole WHERE false" if columns & {"ts_ns", "sample_id"} else None


def twice_the_same(table: str, columns: set[str]) -> str | None:
    if "snapshot" in columns:
        one = "SELECT * FROM whole WHERE snapshot = (SELECT min(snapshot) FROM whole)"
        return f"{one} UNION ALL SELECT * REPLACE ((snapshot + 1)::UINTEGER AS snapshot) FROM ({one})"
    return one_reading(table, columns)


def no_time(table: str, columns: set[str]) -> str | None:
    times = sorted(name for name in columns if name.endswith(("ts_ns", "duration_ns", "interval_ns")))
    if not times or table == "thread_name":
        return None
    return f"SELECT * REPLACE ({', '.join(f'(CASE WHEN {name} IS NOT NULL THEN 0 END)::BIGINT AS {name}' for name in times)}) FROM whole"


def one_cpu(table: str, columns: set[str]) -> str | None:
    if table == "capture":
        return "SELECT * REPLACE (1::UINTEGER AS cpu_count) FROM whole"
    return "FROM whole WHERE cpu IS NULL OR cpu = 0" if "cpu" in columns else None


def many_cpus(table: str, columns: set[str]) -> str | None:
    if table == "capture":
        return f"SELECT * REPLACE ({CPUS}::UINTEGER AS cpu_count) FROM whole"
    if {"cpu", "snapshot"} <= columns:
        return f"SELECT w.* REPLACE (i::UINTEGER AS cpu) FROM whole AS w, range({CPUS}) AS r(i) WHERE w.cpu = 0"
    return None


def fired(folder: Path) -> list[tuple]:
    with query.connect(folder) as connection:
        share_findings(connection)
        return connection.execute("SELECT finding, severity, message FROM finding").fetchall()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("change", [one_reading, twice_the_same], ids=lambda change: change.__name__)
def test_one_moment_tells_of_no_rate(source: str, change: Change, tmp_path: Path) -> None:
    found = fired(changed(source, tmp_path / "x.case", change))
    assert [row for row in found if row[0] not in OF_ONE_READING] == []


@pytest.mark.parametrize("source", SOURCES)
def test_no_time_tells_of_no_rate(source: str, tmp_path: Path) -> None:
    found = fired(changed(source, tmp_path / "x.case", no_time))
    assert [row for row in found if row[0] not in OF_ONE_READING] == []


@pytest.mark.parametrize("change", [one_cpu, many_cpus], ids=lambda change: change.__name__)
def test_a_healthy_host_of_any_size(change: Change, tmp_path: Path) -> None:
    assert fired(changed(HEALTHY, tmp_path / "x.case", change)) == []


QUANTITY_MAX = 1 << 61
"""What the importer bounds quantities to, which are the columns with a unit (columns.rs)."""


def filled(end: int, count: int) -> dict[str, list[Mapping[str, object]]]:
    """So many rows in every table: quantities and 64-bit numbers at one end of what they may be, the keys counted."""

    def value(row: int, sql_type: str, unit: str | None) -> object:
        if sql_type.endswith("[]"):
            inner = value(row, sql_type[:-2], unit)
            return None if inner is None else [inner, inner]
        if bits := re.fullmatch("(U?)(TINY|SMALL||BIG)INT(?:EGER)?", sql_type):
            size = {"TINY": 8, "SMALL": 16, "": 32, "BIG": 64}[bits[2]]
            if not unit and size < 64:
                return row
            least, most = (0, 2**size - 1) if bits[1] else (-(2 ** (size - 1)), 2 ** (size - 1) - 1)
            if unit and size == 64:
                least, most = max(least, -QUANTITY_MAX), QUANTITY_MAX
            return (least, most)[end]
        return {"DOUBLE": (-1.7e308, 1.7e308)[end], "BOOLEAN": bool(end), "VARCHAR": "x"}.get(sql_type)

    return {
        table.name: [{c.name: value(row, c.sql_type, c.unit) for c in table.columns} for row in range(count)]
        for table in load_tables().values()
    }


@pytest.mark.parametrize("end", [0, 1], ids=["smallest", "largest"])
def test_no_view_fails_over_any_number(end: int, tmp_path: Path) -> None:
    folder = make_case(tmp_path / "x.case", filled(end, 9))
    failed = []
    with query.connect(folder) as connection:
        have_findings(connection)  # a rule at a time, as the commands do: all in one plan take much memory
        for name in load_views():
            try:
                connection.execute(f"FROM {quote(name)}").fetchall()
            except duckdb.Error as error:
                failed.append(f"{name}: {str(error).splitlines()[0][:170]}")
    assert failed == []
