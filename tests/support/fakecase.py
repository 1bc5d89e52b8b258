"""An imported folder with rows of the test's choice, for what no real capture holds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

import duckdb

from perfcase.case import database
from perfcase.case.wholeness import DATABASE
from perfcase.catalogue.schema import load_tables, quote
from perfcase.catalogue.views import load_views, with_dependencies
from tests.support import viewtest
from tests.support.alone import BUILD, alone
from tests.support.run_queue import derive


def make_case(folder: Path, rows: Mapping[str, Sequence[Mapping[str, object]]]) -> Path:
    """Writes every table of the schema into ``folder``, those in ``rows`` filled; columns not given are NULL."""
    (folder / "tables").mkdir(parents=True)
    for table in _empty().iterdir():
        if table.stem not in rows:
            shutil.copyfile(table, folder / "tables" / table.name)
    for table, filled in rows.items():
        put(folder, table, filled)
    derived = _derive(folder, {table: {*filled[0]} for table, filled in rows.items() if filled})
    database.write(folder, {})
    info = {
        "files": {DATABASE: (folder / DATABASE).stat().st_size},
        "views": database.views_hash(),
        "tables": {name: len(rows.get(name, ())) or derived.get(name, 0) for name in load_tables()},
        "other_columns": {},
        "issues": [],
    }
    (folder / "import.json").write_text(json.dumps(info))
    return folder


def _derive(folder: Path, given: Mapping[str, set[str]]) -> dict[str, int]:
    """Fills what the importer would make of the given rows. The number of rows of each table that it filled."""
    counts: dict[str, int] = {}
    if "thread_state" not in given:
        return counts
    views = with_dependencies(load_views(), ["followed_state", "run_queue_stretch"])
    with viewtest.database(frozenset(views.values())).cursor() as connection:
        connection.begin()
        for table in given:
            path = folder / "tables" / f"{table}.parquet"
            connection.execute(f"INSERT INTO {quote(table)} FROM read_parquet($1)", [str(path)])
        for table in derive(connection, given):
            connection.table(table).write_parquet(str(folder / "tables" / f"{table}.parquet"))
            counts[table] = len(connection.table(table))
        connection.rollback()
    return counts


def put(folder: Path, table: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Replaces the rows of one table of an imported folder."""
    with _database().cursor() as connection:
        connection.begin()
        columns = ", ".join(f"{quote(column.name)} {column.sql_type}" for column in load_tables()[table].columns)
        connection.execute(f"CREATE TABLE {quote(table)} ({columns})")
        for names, alike in groupby(rows, key=tuple):
            marks = ", ".join("?" for _ in names)
            insert = f"INSERT INTO {quote(table)} ({', '.join(map(quote, names))}) VALUES ({marks})"
            connection.executemany(insert, [list(row.values()) for row in alike])
        connection.table(table).write_parquet(str(folder / "tables" / f"{table}.parquet"))
        connection.rollback()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Where tables are filled; nothing stays in it."""
    return duckdb.connect(config={"threads": 1})


@cache
def _empty() -> Path:
    """Every table of the schema without rows, made once."""
    folder = BUILD / "empty" / database.views_hash()
    with alone("empty"):
        if not folder.is_dir():
            shutil.rmtree(folder.parent, ignore_errors=True)
            making = folder.with_suffix(".making")
            (making / "tables").mkdir(parents=True)
            for table in load_tables():
                put(making, table, ())
            (making / "tables").rename(folder)
            making.rmdir()
    return folder
