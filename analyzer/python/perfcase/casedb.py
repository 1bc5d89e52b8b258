"""``case.duckdb``: the tables and views of an imported folder, for anyone who opens it with the stock duckdb.

It holds no data. A table is a view over ``tables/<table>.parquet``, found from wherever the folder is moved to.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfcase.errors import PerfcaseError
from perfcase.schema import Table, literal, load_tables, quote, schema_dir
from perfcase.views import comment, create_view, describe, load_views

if TYPE_CHECKING:
    import duckdb
else:
    from perfcase.lazy import duckdb

STORAGE_VERSION = "v1.2.0"
"""The oldest storage version that holds our views: duckdb 1.2 and later can open the file."""

# A relative path in a view is resolved against the working directory of whoever runs it, so the view asks where the
# database lies: DuckDB puts its temp_directory beside it (`<path of the database>.tmp`). Where that is switched off, or
# the database is attached to another, `SET VARIABLE case_dir = '…'` says it.
_CASE_DIR = "coalesce(getvariable('case_dir'), nullif(parse_dirpath(current_setting('temp_directory')), ''), '.')"


def write(case_dir: Path) -> None:
    """Writes case.duckdb into an imported folder that has its tables/.

    What all cases have in common is made once and copied: it takes DuckDB longer than the import of a small capture.
    """
    path = case_dir / "case.duckdb"
    partial = case_dir / "case.duckdb.partial"
    partial.unlink(missing_ok=True)
    try:
        shutil.copyfile(template(), partial)
        with _connect(partial) as connection:
            connection.execute(f"SET VARIABLE case_dir = {literal(str(case_dir.resolve()))}")
            connection.begin()
            _add_other_tables(connection, case_dir)
            connection.commit()
    except (duckdb.Error, OSError) as error:
        partial.unlink(missing_ok=True)
        raise PerfcaseError("environment", f"{path}: cannot be written: {error}") from error
    partial.replace(path)


def template() -> Path:
    """A database with the tables of the schema and all views, for this schema and this DuckDB; made when it is missing.

    It lies in the user's cache; where that cannot be written, in a temporary folder for as long as the process runs.
    """
    name = f"views-{views_hash()}-{duckdb.__version__}.duckdb"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perfcase"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        writable = os.access(cache, os.W_OK | os.X_OK)
    except OSError:
        writable = False
    path = (cache if writable else Path(_scratch().name)) / name
    if not path.is_file():
        with tempfile.TemporaryDirectory(dir=path.parent) as working:
            made = Path(working) / name
            _make_template(Path(working), made)
            made.replace(path)
    return path


@cache
def _scratch() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="perfcase-")


def _connect(path: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(path), config={"storage_compatibility_version": STORAGE_VERSION, "threads": "1"})


def _make_template(folder: Path, path: Path) -> None:
    """Empty tables of the schema are enough for DuckDB to check the views against."""
    (folder / "tables").mkdir()
    with _connect(path) as connection:
        connection.execute(f"SET VARIABLE case_dir = {literal(str(folder.resolve()))}")
        # One transaction: each of the thousand comments would otherwise wait for the disk.
        connection.begin()
        for table in load_tables().values():
            columns = ", ".join(f"NULL::{column.sql_type} AS {quote(column.name)}" for column in table.columns)
            file = folder / "tables" / f"{table.name}.parquet"
            connection.execute(f"COPY (SELECT {columns} LIMIT 0) TO {literal(str(file))} (FORMAT parquet)")
            _add_table(connection, table.name, [column.name for column in table.columns])
            comment(connection, table.name, describe(table.description, table.grain), table.columns, _names(table))
        for view in load_views().values():
            create_view(connection, view)
        connection.commit()


def _names(table: Table) -> list[str]:
    return [column.name for column in table.columns]


def _add_table(connection: duckdb.DuckDBPyConnection, name: str, columns: list[str], file: str | None = None) -> None:
    place = literal("/tables/" + (file or name).replace("[", "[[]") + ".parquet")
    listed = ", ".join(map(quote, columns))
    connection.execute(
        f"CREATE OR REPLACE VIEW {quote(name)} AS SELECT {listed} FROM read_parquet({_CASE_DIR} || {place})"
    )


def _add_other_tables(connection: duckdb.DuckDBPyConnection, case_dir: Path) -> None:
    """Tracepoints that the schema does not describe, and fields of those it does that it does not know."""
    schema = load_tables()
    views = {path.stem for path in (schema_dir() / "views").glob("*/*.sql")}
    for name, columns in _columns_of_tracepoints(connection, case_dir).items():
        table = schema.get(name)
        if table and columns == _names(table):
            continue
        # A stranger's recording may name an event like one of our views: the view stays what it says it is.
        shown = f"event_{name}" if name in views else name
        _add_table(connection, shown, columns, name)
        if table:
            comment(connection, name, describe(table.description, table.grain), table.columns, columns)
        else:
            text = "Events of this tracepoint, its own fields as columns. One row is an event."
            connection.execute(f"COMMENT ON VIEW {quote(shown)} IS {literal(text)}")


def _columns_of_tracepoints(connection: duckdb.DuckDBPyConnection, case_dir: Path) -> dict[str, list[str]]:
    """The columns of every table that may have others than the schema says. Their types are the schema's."""
    schema = load_tables()
    files = {path.stem: path for path in sorted((case_dir / "tables").glob("*.parquet"))}
    files = {name: path for name, path in files.items() if name not in schema or schema[name].group == "ftrace"}
    columns: dict[str, list[str]] = {name: [] for name in files}
    if not files:
        return columns
    # The elements of a list are below it in the file's schema: only what is not below another column is a column.
    paths = [str(path) for path in files.values()]
    listed = connection.execute("SELECT file_name, name, num_children FROM parquet_schema(?)", [paths]).fetchall()
    below: dict[str, int] = {}
    for file, name, children in listed:
        stem = Path(file).stem
        if stem not in below:
            below[stem] = 0  # the root
        elif below[stem] > 0:
            below[stem] += (children or 0) - 1
        else:
            columns[stem].append(name)
            below[stem] = children or 0
    return columns


@cache
def views_hash() -> str:
    """Changes whenever a table description or view changes: then case.duckdb is written anew."""
    digest = hashlib.sha256()
    root = schema_dir()
    for path in sorted([*root.glob("tables/*/*.toml"), *root.glob("views/*/*.sql")]):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]
