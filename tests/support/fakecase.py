"""An imported folder with rows of the test's choice, for what no real capture holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from perfcase import casedb
from perfcase.schema import load_tables, quote


def make_case(folder: Path, rows: Mapping[str, Sequence[Mapping[str, object]]]) -> Path:
    """Writes every table of the schema into ``folder``, those in ``rows`` filled; columns not given are NULL."""
    (folder / "tables").mkdir(parents=True)
    with duckdb.connect() as connection:
        for table in load_tables().values():
            _fill(connection, table.name, rows.get(table.name, ()))
            connection.table(table.name).write_parquet(str(folder / "tables" / f"{table.name}.parquet"))
    casedb.write(folder, {})
    info = {
        "views": casedb.views_hash(),
        "tables": {name: len(rows.get(name, ())) for name in load_tables()},
        "other_columns": {},
        "issues": [],
    }
    (folder / "import.json").write_text(json.dumps(info))
    return folder


def put(folder: Path, table: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Replaces the rows of one table of an imported folder."""
    with duckdb.connect() as connection:
        _fill(connection, table, rows)
        connection.table(table).write_parquet(str(folder / "tables" / f"{table}.parquet"))


def _fill(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Mapping[str, object]]) -> None:
    columns = ", ".join(f"{quote(column.name)} {column.sql_type}" for column in load_tables()[table].columns)
    connection.execute(f"CREATE TABLE {quote(table)} ({columns})")
    for row in rows:
        names = ", ".join(map(quote, row))
        marks = ", ".join("?" for _ in row)
        connection.execute(f"INSERT INTO {quote(table)} ({names}) VALUES ({marks})", list(row.values()))
