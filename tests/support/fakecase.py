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
from tests.support.alone import BUILD, alone


def make_case(folder: Path, rows: Mapping[str, Sequence[Mapping[str, object]]]) -> Path:
    """Writes every table of the schema into ``folder``, those in ``rows`` filled; columns not given are NULL."""
    (folder / "tables").mkdir(parents=True)
    for table in _empty().iterdir():
        if table.stem not in rows:
            shutil.copyfile(table, folder / "tables" / table.name)
    for table, filled in rows.items():
        put(folder, table, filled)
    database.write(folder, {})
    info = {
        "files": {DATABASE: (folder / DATABASE).stat().st_size},
        "views": database.views_hash(),
        "tables": {name: len(rows.get(name, ())) for name in load_tables()},
        "other_columns": {},
        "issues": [],
    }
    (folder / "import.json").write_text(json.dumps(info))
    return folder


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
