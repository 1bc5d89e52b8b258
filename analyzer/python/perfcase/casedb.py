"""``case.duckdb``: the tables and views of an imported folder, for anyone who opens it with the stock duckdb.

It holds no data. A table is a view over ``tables/<table>.parquet``, found from wherever the folder is moved to.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import duckdb

from perfcase.errors import PerfcaseError
from perfcase.schema import literal, load_tables, quote, schema_dir
from perfcase.views import comment, create_view, describe, load_views

STORAGE_VERSION = "v1.2.0"
"""The oldest storage version that holds our views: duckdb 1.2 and later can open the file."""

# A relative path in a view is resolved against the working directory of whoever runs it, so the view asks where the
# database lies: DuckDB puts its temp_directory beside it (`<path of the database>.tmp`). Where that is switched off, or
# the database is attached to another, `SET VARIABLE case_dir = '…'` says it.
_CASE_DIR = "coalesce(getvariable('case_dir'), nullif(parse_dirpath(current_setting('temp_directory')), ''), '.')"


def write(case_dir: Path) -> None:
    """Writes case.duckdb into an imported folder that has its tables/."""
    path = case_dir / "case.duckdb"
    partial = case_dir / "case.duckdb.partial"
    partial.unlink(missing_ok=True)
    try:
        config = {"storage_compatibility_version": STORAGE_VERSION, "threads": "1"}
        with duckdb.connect(str(partial), config=config) as connection:
            connection.execute(f"SET VARIABLE case_dir = {literal(str(case_dir.resolve()))}")
            # One transaction: each of the thousand comments would otherwise wait for the disk.
            connection.begin()
            add_tables(connection, case_dir)
            for view in load_views().values():
                create_view(connection, view)
            connection.commit()
    except (duckdb.Error, OSError) as error:
        partial.unlink(missing_ok=True)
        raise PerfcaseError("environment", f"{path}: cannot be written: {error}") from error
    partial.replace(path)


def add_tables(connection: duckdb.DuckDBPyConnection, case_dir: Path) -> None:
    """A view for each Parquet file: those of the schema and the other tracepoints'."""
    schema = load_tables()
    for path in sorted((case_dir / "tables").glob("*.parquet")):
        name = path.stem
        place = literal("/tables/" + path.name.replace("[", "[[]"))
        columns = [row[0] for row in connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(path)]).fetchall()]
        connection.execute(
            f"CREATE VIEW {quote(name)} AS SELECT {', '.join(map(quote, columns))} FROM read_parquet({_CASE_DIR} || {place})"
        )
        table = schema.get(name)
        if table:
            comment(connection, name, describe(table.description, table.grain), table.columns, columns)
        else:
            text = "Events of this tracepoint, its own fields as columns. One row is an event."
            connection.execute(f"COMMENT ON VIEW {quote(name)} IS {literal(text)}")


def views_hash() -> str:
    """Changes whenever a table description or view changes: then case.duckdb is written anew."""
    digest = hashlib.sha256()
    root = schema_dir()
    for path in sorted([*root.glob("tables/*/*.toml"), *root.glob("views/*/*.sql")]):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]
