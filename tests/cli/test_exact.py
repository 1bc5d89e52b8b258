"""Values of every type of SQL come out as they are, in every format, of one capture and of several."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query
from perfcase.errors import EXIT_CODES
from tests.support.cli import fail, perfcase, succeed
from tests.support.fakecase import make_case

LARGE = 9_007_199_254_740_993
"""The first integer that a float does not have."""
EXACT = {
    f"sum({LARGE}::BIGINT)": LARGE,
    f"[sum({LARGE}::BIGINT)]": [LARGE],
    f"{{'a': {LARGE}::HUGEINT, 'b': 1}}": {"a": LARGE, "b": 1},
    f"MAP {{'a': {LARGE}::HUGEINT}}": {"a": LARGE},
    "-170141183460469231731687303715884105728": -(1 << 127),
    "340282366920938463463374607431768211455::UHUGEINT": (1 << 128) - 1,
    f"{LARGE}::DECIMAL(38,0)": LARGE,
    "18446744073709551615::UBIGINT": (1 << 64) - 1,
    "1.5::DECIMAL(4,2)": 1.5,
    "'10101'::BIT": "10101",
    "to_timestamp(0) AT TIME ZONE 'UTC' AT TIME ZONE 'UTC'": "1970-01-01 00:00:00+00",
    "[to_timestamp(1.5)]": ["1970-01-01 00:00:01.5+00"],
    "TIMESTAMP_NS '2026-01-02 03:04:05.123456789'": "2026-01-02 03:04:05.123456789",
    "INTERVAL 3 MONTHS": "3 months",
    "TIMETZ '12:00:00+05'": "12:00:00+05",
    "'a'::ENUM('a', 'b')": "a",
}


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_case(tmp_path_factory.mktemp("case") / "x.case", {"capture": [{"capture_id": "c1"}]})


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


def test_json(case: Path) -> None:
    sql = f"SELECT {', '.join(EXACT)}"
    for way in ((), ("--capture-id",), ("--also", str(case))):
        for row in json.loads(succeed("sql", case, sql, "-f", "json", *way)):
            assert list(row.values())[1 if way else 0 :] == list(EXACT.values()), way
            assert not any(isinstance(value, float) for value in row.values() if value != 1.5)


@pytest.mark.parametrize("way", [(), ("--capture-id",)])
def test_csv(case: Path, way: tuple[str, ...]) -> None:
    first, second = "170141183460469231731687303715884105727", "18446744073709551616"
    sql = f"SELECT {first}::HUGEINT AS a, sum({second}::HUGEINT) AS b, '101'::BIT AS c, to_timestamp(0) AS d"
    lines = succeed("sql", case, sql, "-f", "csv", *way).splitlines()
    assert lines[1].removeprefix("c1,") == f"{first},{second},101,1970-01-01 00:00:00+00"


@pytest.mark.parametrize("way", [(), ("--capture-id",)])
def test_parquet(case: Path, tmp_path: Path, way: tuple[str, ...]) -> None:
    sql = f"SELECT sum({LARGE}::BIGINT) AS a, '101'::BIT AS b, to_timestamp(0) AS c, [sum({LARGE}::BIGINT)] AS d"
    succeed("sql", case, sql, "-f", "parquet", "-o", tmp_path / "x.parquet", *way)
    read = duckdb.connect().sql(f"SELECT a::VARCHAR, b, epoch(c), d[1]::VARCHAR FROM '{tmp_path}/x.parquet'").fetchall()
    assert read == [(str(LARGE), "101", 0.0, str(LARGE))]
    too_large = fail(
        EXIT_CODES["sql"],
        "sql",
        case,
        f"SELECT {(1 << 127) - 1}::HUGEINT AS a",
        "-f",
        "parquet",
        "-o",
        tmp_path / "y.parquet",
        *way,
    )
    assert "38" in too_large or "cast" in too_large.lower() or "range" in too_large.lower(), (
        "an error, not another number"
    )


@pytest.mark.parametrize(("form", "captures"), [("parquet", 1), ("arrow", 1), ("csv", 2)])
def test_a_query_runs_once(
    case: Path, tmp_path: Path, form: str, captures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB asks a stream for its schema before it reads it: one that is made for each question runs the query each time."""
    made = []

    class Counted:
        def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
            self._relation = relation

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            made.append(self)
            return self._relation.__arrow_c_stream__(requested_schema)

    begin = query.ArrowStream.__init__
    monkeypatch.setattr(query.ArrowStream, "__init__", lambda self, relation: begin(self, Counted(relation)))
    succeed("sql", case, "SELECT 1 AS a", *["--also", case] * (captures - 1), "-f", form, "-o", tmp_path / "x")
    assert [len(made), len({*made})] == [captures, captures]


def test_two_columns_of_one_name(case: Path) -> None:
    sql = "SELECT to_timestamp(0) AS a, 1 AS a, 2::HUGEINT AS a"
    assert json.loads(succeed("sql", case, sql, "-f", "json")) == [{"a": "1970-01-01 00:00:00+00", "a_1": 1, "a_2": 2}]
    (row,) = json.loads(succeed("sql", case, sql, "-f", "json", "--capture-id"))
    assert list(row.values()) == ["c1", "1970-01-01 00:00:00+00", 1, 2]


def test_every_type_is_the_same_of_one_and_of_several(case: Path) -> None:
    """DuckDB's own collection of all types, with their extremes."""
    kinds = [row[0] for row in duckdb.connect().sql("DESCRIBE FROM test_all_types()").fetchall()]
    assert len(kinds) > 50
    # Arrow has no tuples: theirs become structures.
    sql = f"SELECT {', '.join(name for name in map(quoted, kinds) if name != quoted('tuple'))} FROM test_all_types()"
    alone = json.loads(succeed("sql", case, sql, "-f", "json"))
    several = json.loads(succeed("sql", case, sql, "-f", "json", "--capture-id"))
    assert [{name: value for name, value in row.items() if name != "capture_id"} for row in several] == alone
    for fmt in ("csv", "table"):
        assert perfcase("sql", case, sql, "-f", fmt).returncode == 0


def quoted(name: str) -> str:
    return f'"{name}"'
