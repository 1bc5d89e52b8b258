"""The lines of CSV and JSON that DuckDB makes are those that Python makes of its objects."""

from __future__ import annotations

import json
import random
import struct
import sys
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query
from perfcase.catalogue.charts import charts
from perfcase.catalogue.schema import load_tables
from perfcase.catalogue.views import load_views
from perfcase.terminal import lines
from tests.support.cli import fail, perfcase, succeed
from tests.support.fakecase import make_case
from tests.support.imports import placed
from tests.support.scale import scaled

ROOT = Path(__file__).parents[2]
LANES = ("thread_lane", "call_lane", "blame_lane", "cpu_lane", "subsecond_offset", "latency_heat_map")


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_case(tmp_path_factory.mktemp("case") / "x.case", {"capture": [{"capture_id": "c1"}]})


def both(case: Path, sql: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Compare both ways in both formats. Return whether DuckDB has made the lines of the one."""
    made: list[str | None] = []
    for fmt in ("csv", "json"):
        with monkeypatch.context() as patched:
            for name in ("csv_line", "json_line"):
                way = getattr(lines, name)
                patched.setattr(lines, name, lambda *given, way=way: made.append(way(*given)) or made[-1])
            fast = succeed("sql", case, sql, "-f", fmt)
        with monkeypatch.context() as patched:
            patched.setattr(lines, f"{fmt}_line", lambda *_: None)
            slow = succeed("sql", case, sql, "-f", fmt)
        if fmt == "json":
            assert json.loads(fast) == json.loads(slow)
        assert fast.lower() == slow.lower()
    return None not in made


def test_every_type(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB's own collection of all types, with their extremes and NULL."""
    all_types = duckdb.connect().sql("FROM test_all_types()")
    kinds = zip(all_types.columns, all_types.types, strict=True)
    by_duckdb = [name for name, kind in kinds if lines.csv_line([name], [kind])]
    assert {"bool", "uhugeint", "double", "varchar", "blob", "small_enum", "interval", "nested_int_array"} <= {
        *by_duckdb
    }
    assert "struct" not in by_duckdb
    assert both(case, f"SELECT {', '.join(map(quoted, by_duckdb))} FROM test_all_types()", monkeypatch)
    for name in ("int", "varchar", "blob", "int_array"):
        assert both(case, f"SELECT {quoted(name)} FROM test_all_types()", monkeypatch)


def quoted(name: str) -> str:
    return f'"{name}"'


def test_texts_and_numbers(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1)
    signs = [chr(sign) for sign in (*range(1, 13), *range(14, 0x180), 0x2028, 0x202E, 0xFEFF, 0x1F600)]
    words = ["".join(chance.choices(signs, k=chance.randrange(6))) for _ in range(scaled(4_000))]
    numbers = [struct.unpack("d", chance.randbytes(8))[0] for _ in words]
    numbers = [number if number == number else 0.1 for number in numbers]  # NaN has two signs
    rounded = [round(number % 1e6, chance.randrange(6)) if abs(number) < sys.maxsize else -0.0 for number in numbers]
    rows = ", ".join(
        f"({text(word)}, {number!r}::DOUBLE, {other!r}::DOUBLE)"
        for word, number, other in zip(words, numbers, rounded, strict=True)
    )
    given = f"FROM (VALUES {rows}) AS t(word, number, rounded)"
    assert both(case, f"SELECT *, [word, NULL], [[rounded], [], NULL], encode(word) {given}", monkeypatch)
    assert both(case, f"SELECT word {given}", monkeypatch)


def text(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"


def test_no_rows_and_equal_names(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert both(case, 'SELECT 1 AS a, \'x\' AS a, [1] AS "a\'\\"""', monkeypatch)
    assert both(case, "SELECT 1 AS a WHERE false", monkeypatch)
    assert both(case, "SELECT i, i % 7 AS b FROM range(25_000) AS t(i) -- more than are fetched at once", monkeypatch)


def test_a_carriage_return_is_quoted(case: Path) -> None:
    assert succeed("sql", case, "SELECT E'a\\rb' AS a, 1 AS b", "-f", "csv") == 'a,b\n"a\rb",1\n'


def test_an_error_in_the_middle_is_of_the_query(case: Path, tmp_path: Path) -> None:
    sql = "SELECT CASE WHEN i > 30_000 THEN error('broken') ELSE i END AS a FROM range(100_000) AS t(i)"
    for fmt in ("csv", "json", "arrow", "parquet"):
        assert "broken" in fail(5, "sql", case, sql, "-f", fmt, "-o", tmp_path / "x")


def test_all_types_of_the_schema_have_lines(case: Path) -> None:
    """So no view or table is written by Python, which takes ten times as long."""
    with query.connect(case) as connection:
        for name in (*load_views(), *load_tables()):
            asked = connection.sql(f"FROM {quoted(name)}")
            assert lines.csv_line(asked.columns, asked.types), name


def rows_of(columns: dict[str, list]) -> list[dict]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


HOSTILE = (
    "SELECT unnest([9223372036854775807, -9007199254740993, NULL, 0]) AS whole, unnest([chr(31), chr(30) || '\"', NULL, E'a\\\n,]']) AS text,"
    " unnest([0.1, 'nan'::DOUBLE, NULL, 1e300]) AS number, unnest([[1, NULL], [], NULL, [2]]) AS list, 1 AS a, 2 AS a"
)


@pytest.mark.parametrize("is_fast", [True, False])
def test_columns_have_the_rows(is_fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers of 64 bits, the signs that stand between cells, no row, names that are there twice."""
    if not is_fast:
        monkeypatch.setattr(lines, "cells_line", lambda *_: None)
    with duckdb.connect() as connection:
        for sql in (HOSTILE, f"SELECT * FROM ({HOSTILE}) WHERE false", "SELECT range AS n, 'x' AS x FROM range(25000)"):
            columns, told = (
                json.loads("".join(way(query.Result(connection, sql)))) for way in (lines.columns_text, lines.json_text)
            )
            assert rows_of(columns) == told
            assert list(columns) == lines.unique(connection.sql(sql).columns)


def test_columns_of_the_time_line_have_its_rows(tmp_path: Path) -> None:
    """The views that the page asks for so."""
    case = placed(ROOT / "sample-captures" / "x86_64-scheduling" / "x.perfcase", tmp_path)
    charted = [view.name for view in load_views().values() if charts(view)]
    filled = 0
    for name in (*LANES, *charted):
        told, found = (
            json.loads(perfcase("view", name, case, "-f", fmt, "--order", "ALL").stdout) for fmt in ("json", "columns")
        )
        assert rows_of(found) == told, name
        filled += bool(told)
    assert filled >= 8
