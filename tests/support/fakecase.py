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
            columns = ", ".join(f"{quote(column.name)} {column.sql_type}" for column in table.columns)
            connection.execute(f"CREATE TABLE {quote(table.name)} ({columns})")
            for row in rows.get(table.name, ()):
                names = ", ".join(map(quote, row))
                marks = ", ".join("?" for _ in row)
                connection.execute(f"INSERT INTO {quote(table.name)} ({names}) VALUES ({marks})", list(row.values()))
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
