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
from perfcase.catalogue.schema import load_tables
from perfcase.catalogue.views import load_views
from perfcase.terminal import lines
from tests.support.cli import fail, succeed
from tests.support.fakecase import make_case
from tests.support.scale import scaled


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
