"""A question about one capture, rewritten for many: DuckDB answers it as it answers for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import sqlglot

from perfcase.case import query
from perfcase.catalogue.schema import literal, load_catalogue, load_tables, quote
from perfcase.catalogue.views import load_views
from perfcase.cluster import translation
from perfcase.cluster.keyed import CAPTURES, KEY, Keyed
from perfcase.cluster.relations import KEPT, not_portable
from perfcase.errors import PerfcaseError
from tests.support.alike import counted
from tests.support.imports import SAMPLES, imported

ROOT = Path(__file__).parents[2]
SOME = ("d-nagle/tcp", "b-false-sharing/shared", "e-page-cache/fits")
"""Captures of few rows: sockets, counters, the page cache. One has no row of what another has."""
LEFT_OUT = {*KEPT, "syscall_log"}
"""The rules are asked by the import; the log has a star of which sqlglot does not know the columns."""
SHARED = frozenset(load_catalogue()) - {"table_rows"}

QUESTIONS = (
    "SELECT comm, count(*) AS many FROM thread GROUP BY ALL ORDER BY many DESC, comm LIMIT 2",
    "SELECT count(*) AS many FROM page_cache_event GROUP BY ALL",
    "SELECT comm, tid FROM thread ORDER BY tid DESC LIMIT 1",
    "SELECT count(*) AS many, max(tid) AS top FROM thread ORDER BY many",
    "SELECT tid FROM thread WHERE utid = (SELECT max(utid) FROM thread)",
    "SELECT tid FROM thread WHERE utid NOT IN (SELECT utid FROM thread WHERE comm LIKE 'o%')",
    "SELECT a.tid, b.pid FROM thread AS a FULL JOIN process AS b ON a.tid = b.pid",
    "SELECT DISTINCT ON (pid) pid, tid FROM thread ORDER BY pid, tid",
    "SELECT pid, comm, count(*) AS many FROM thread GROUP BY ROLLUP (pid, comm)",
    "SELECT tid, row_number() OVER (ORDER BY tid) AS place FROM thread",
    "SELECT tid FROM thread EXCEPT SELECT pid FROM process",
    "WITH t AS (SELECT 1 AS one) SELECT one, count(*) AS many FROM t CROSS JOIN thread GROUP BY one",
    "SELECT one, tid FROM (VALUES (1), (2)) AS v(one) LEFT JOIN thread ON thread.utid = v.one",
    "SELECT count(*) AS many FROM page_cache_event HAVING count(*) = 0",
    "SELECT count(*) + (SELECT count(*) FROM process) AS both FROM page_cache_event",
    "SELECT count(*) FILTER (tid > 1) AS some, max(tid) - min(pid) AS span, sum((SELECT count(*) FROM process AS p WHERE p.pid = t.pid)) AS many FROM thread AS t",
    "SELECT sum(tid) / sum(sum(tid)) OVER () AS share FROM thread",
    "SELECT EXISTS (FROM page_cache_event) AS there",
    "SELECT tid FROM thread WHERE (tid, pid) IN (SELECT pid, pid FROM process)",
    "SELECT 1 AS one",
    "SELECT max(tid) AS top FROM thread UNION ALL SELECT count(*) FROM process",
    "SELECT t.tid, (SELECT count(*) FROM thread AS t WHERE t.pid > 1) AS many FROM thread AS t",
    "SELECT n.comm, (SELECT max(tid) FROM thread AS u WHERE u.pid = n.pid) AS top FROM thread AS n",
)
"""What people ask of one capture."""

Schema = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def folders() -> dict[str, Path]:
    return {name: imported(SAMPLES / f"{name}.perfcase").folder for name in SOME}


@pytest.fixture(scope="module")
def schema(folders: dict[str, Path]) -> Schema:
    """The types of the columns of each relation."""
    found: Schema = {}
    sql = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"
    with query.connect(folders[SOME[0]]) as connection:
        for table, column, kind in connection.execute(sql).fetchall():
            found.setdefault(table, {})[column] = kind
    return found


@pytest.fixture(scope="module")
def together(folders: dict[str, Path], schema: Schema) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with the tables of all captures, each with the column of its capture, and the views rewritten."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(f"CREATE TABLE {CAPTURES} AS SELECT unnest($1) AS {KEY}", [list(SOME)])
        for name in [*load_tables(), "table_rows"]:
            parts = [_table(connection, folder, name, key, schema) for key, folder in folders.items()]
            connection.execute(f"CREATE VIEW {quote(name)} AS {' UNION ALL '.join(parts)}")
        with query.connect(folders[SOME[0]]) as one:
            for name in SHARED:
                rows = one.execute(f"FROM {name}").fetchall()
                columns = ", ".join(f"{quote(column)} {kind}" for column, kind in schema[name].items())
                connection.execute(f"CREATE TABLE {name} ({columns})")
                if rows:
                    connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        keyed = Keyed(schema, SHARED)
        for name, view in load_views().items():
            if name not in LEFT_OUT:
                tree = keyed.rewritten(sqlglot.parse_one(view.sql, read="duckdb"))
                connection.execute(f"CREATE VIEW {quote(name)} AS {tree.sql('duckdb', comments=False)}")
        yield connection


def _table(connection: duckdb.DuckDBPyConnection, folder: Path, name: str, key: str, schema: Schema) -> str:
    file = folder / "tables" / f"{name}.parquet"
    if name == "table_rows":
        counts = f"SELECT parse_filename(file_name, true) AS table_name, num_rows AS row_count FROM parquet_file_metadata({literal(str(folder / 'tables' / '*.parquet'))})"
        return f"SELECT *, {literal(key)} AS {KEY} FROM ({counts})"
    source, there = "(SELECT 1) LIMIT 0", set()
    if file.exists():
        source = f"read_parquet({literal(str(file))})"
        there = {row[0] for row in connection.execute(f"DESCRIBE FROM {source}").fetchall()}
    # An event of another kernel has other columns.
    columns = [
        f"{quote(each) if each in there else 'NULL'}::{kind} AS {quote(each)}" for each, kind in schema[name].items()
    ]
    return f"(SELECT {', '.join(columns)}, {literal(key)} AS {KEY} FROM {source})"


@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_question_to_all_is_that_to_each(
    sql: str, folders: dict[str, Path], schema: Schema, together: duckdb.DuckDBPyConnection
) -> None:
    asked = Keyed(schema, SHARED).rewritten(sqlglot.parse_one(sql, read="duckdb")).sql("duckdb")
    rows = together.execute(asked).fetchall()
    for key, folder in folders.items():
        with query.connect(folder) as one:
            alone = one.execute(sql).fetchall()
        of_it = [row[:-1] for row in rows if row[-1] == key]
        assert counted(of_it) == counted(alone), key
        assert of_it == alone or "LIMIT" not in sql, key


def test_only_functions_that_a_compared_view_has_are_asked_of_spark() -> None:
    had = {
        translation.function_name(call)
        for name, view in load_views().items()
        if name not in (*KEPT, *not_portable())
        for call in sqlglot.parse_one(view.sql, read="duckdb").find_all(sqlglot.exp.Func)
    }
    assert had == translation.PROVEN


@pytest.mark.parametrize("group", sorted({view.group for view in load_views().values()}))
def test_each_view_of_all_is_that_of_each(
    group: str, folders: dict[str, Path], schema: Schema, together: duckdb.DuckDBPyConnection
) -> None:
    differing = {}
    for name, view in load_views().items():
        if view.group != group or name in LEFT_OUT:
            continue
        columns = ", ".join(map(quote, schema[name]))
        # Once for all captures: to plan a view takes longer than to answer it.
        of_all = together.execute(f"SELECT {columns}, {KEY} FROM {quote(name)}").fetchall()
        assert {row[-1] for row in of_all} <= folders.keys(), name
        for key, folder in folders.items():
            with query.connect(folder) as one:
                alone = counted(one.execute(f"SELECT {columns} FROM {quote(name)}").fetchall())
            rows = counted(row[:-1] for row in of_all if row[-1] == key)
            if rows != alone:
                differing[name, key] = [*(alone - rows)][:1], [*(rows - alone)][:1]
    assert differing == {}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 3000,
        "SELECT " + "(" * 60 + "1" + ")" * 60,
        "SELECT " + "abs(" * 90 + "1" + ")" * 90,
        "SELECT " + "NOT " * 5000 + "true",
        "SELECT " + "CASE WHEN true THEN " * 2000 + "1" + " END" * 2000,
        "SELECT * FROM " + "(SELECT * FROM " * 300 + "thread" + ")" * 300,
    ],
)
def test_what_is_too_deep_is_said(sql: str) -> None:
    """sqlglot calls itself for each level: Python ended it, as a fault of perfcase."""
    with pytest.raises(PerfcaseError, match="nested too deeply for Spark") as refused:
        translation.parsed(sql)
    assert refused.value.kind == "sql"
    assert "about 30 levels" in (refused.value.hint or "")


def test_thirty_levels_can_be_asked(schema: Schema) -> None:
    for sql in (f"SELECT {'(' * 30}tid{')' * 30} AS tid FROM thread", "SELECT tid" + " + 1" * 100 + " AS tid FROM thread",
                "SELECT * FROM " + "(SELECT * FROM " * 20 + "thread" + ")" * 20):  # fmt: skip
        translation.translated(translation.parsed(sql)[0], schema)
