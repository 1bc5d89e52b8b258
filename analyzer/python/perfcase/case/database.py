"""``case.duckdb``: the tables and views of an imported folder, for anyone who opens it with the stock duckdb.

It holds no data but the catalogue (perfcase.catalogue.contents), which says what views mean and need. A table is a view over ``tables/<table>.parquet``, found from wherever the folder is moved to.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock

from perfcase.case.wholeness import flush_one
from perfcase.catalogue import contents, kit
from perfcase.catalogue.schema import literal, load_catalogue, load_tables, package_data, quote, schema_dir
from perfcase.catalogue.views import comment, create_view, describe, load_views, view_files
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

STORAGE_VERSION = "v1.2.0"
"""The oldest storage version that holds our views: duckdb 1.2 and later can open the file."""

Columns = Sequence[tuple[str, str]]
"""Names and DuckDB types."""
OtherColumns = Mapping[str, Columns]
"""The columns of tables that the schema does not describe, or describes with other columns: events of other kernels."""

ROOM = "is there space, and may this user write there?"

_TYPE = re.compile(r"[A-Z]{1,20}(\[\])?")

TEMPLATES = "templates"
"""The folder of the package with what ``ship`` made."""
TEMPLATES_MAX = 24
"""Templates that are kept in the cache, some megabytes each."""
_IN_USE_S = 60
"""One that was used in these seconds stays, whatever their number."""

# A relative path in a view is resolved against the working directory of its process, so the view asks where the
# database lies: DuckDB puts its temp_directory beside it (`<path of the database>.tmp`). Where that is switched off, or
# the database is attached to another, `SET VARIABLE case_dir = '…'` says it.
_CASE_DIR = "coalesce(getvariable('case_dir'), nullif(parse_dirpath(current_setting('temp_directory')), ''), '.')"
_FOLDER = f"regexp_replace({_CASE_DIR}, '([[*?])', '[\\1]', 'g')"
"""The same in a pattern of files, which every path is: a folder of any name stands for itself alone."""


def write(case_dir: Path, other_columns: OtherColumns) -> None:
    """Write case.duckdb into an imported folder.

    Cases with the same tables have the same database. It is made once and copied: to make it takes DuckDB longer than
    the import of a small capture.
    """
    path = case_dir / "case.duckdb"
    partial = case_dir / "case.duckdb.partial"
    try:
        shutil.copyfile(template(other_columns), partial)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise PerfcaseError("environment", f"{path}: cannot be written: {error}", ROOM) from error
    partial.replace(path)


def are_columns(other_columns: OtherColumns) -> bool:
    """Return whether an import may have made these: they come from an untrusted file."""
    types = {sql_type for columns in other_columns.values() for _, sql_type in columns}
    return not any("/" in name for name in other_columns) and all(map(_TYPE.fullmatch, types))


def template(other_columns: OtherColumns | None = None) -> Path:
    """Return a database with the tables of the schema, these others, and all views; made when it is missing.

    It is of this schema and this DuckDB.
    """
    at_hand = template_at_hand(other_columns)
    return at_hand or in_cache(
        "case", _key(other_columns), lambda folder, path: _make(folder, path, other_columns or {})
    )


def template_at_hand(other_columns: OtherColumns | None = None) -> Path | None:
    """Return the same database if it exists and is readable: in the cache, or as it came with the package."""
    stem = _stem("case", _key(other_columns))
    for folder in (cache_folder, lambda: package_data(TEMPLATES)):
        with suppress(OSError, PerfcaseError):
            if found := _found(folder(), stem):
                return found
    return None


def ship(folder: Path) -> None:
    """Make the database of the schema in a folder that comes with the package, so that no first import waits for it."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = _stem("case", _key(None))
    for old in set(folder.iterdir()) - {_found(folder, stem)}:
        old.unlink()
    _in_folder(folder, stem, lambda working, path: _make(working, path, {}))


def _key(other_columns: OtherColumns | None) -> str:
    return f"{views_hash()}\0{_duckdb_version()}\0{json.dumps(other_columns or {}, sort_keys=True)}"


@cache
def _duckdb_version() -> str:
    # To load importlib.metadata takes longer than all else that prepares an import, and so does DuckDB itself.
    for place in sys.path:
        for found in Path(place).glob("duckdb-*.dist-info"):
            return found.stem.removeprefix("duckdb-")
    from importlib.metadata import version

    return version("duckdb")


def in_cache(name: str, key: str, make: Callable[[Path, Path], None]) -> Path:
    """Return the database of this name for this key; ``make``, given a folder to work in and the path, makes it when it is missing.

    It lies in the user's cache; where that cannot be written or is full, in a temporary folder for as long as the process runs. It is to be
    copied: another process may remove it.
    """
    stem, cache = _stem(name, key), cache_folder()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        return _in_folder(cache, stem, make)
    except (OSError, duckdb.Error):
        # Not ours to write, full, or behind a wall of the server's.
        scratch = Path(_scratch().name)
    try:
        return _in_folder(scratch, stem, make)
    except (OSError, duckdb.Error) as error:
        reason = str(error).splitlines()[0]
        raise PerfcaseError("environment", f"{scratch / stem}: cannot be made: {reason}", ROOM) from error


def _stem(name: str, key: str) -> str:
    return f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def cache_folder() -> Path:
    """Return the folder of perfcase in the user's cache. It need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perfcase"


def _found(folder: Path, stem: str) -> Path | None:
    # Its name says how long it is: one that was cut, by a full disk or a power failure, would break every import to come.
    for path in folder.glob(f"{stem}-*.duckdb"):
        if path.stem == f"{stem}-{path.stat().st_size}":
            # A wall shows that it is there, and does not let it be read.
            path.open("rb").close()
            # What is used is not the oldest: all others are made from the one of the schema alone, which was made first.
            with suppress(OSError):
                os.utime(path)
            return path
    return None


def _in_folder(folder: Path, stem: str, make: Callable[[Path, Path], None]) -> Path:
    if found := _found(folder, stem):
        return found
    for cut in folder.glob(f"{stem}-*.duckdb"):
        cut.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as working:
        made = Path(working) / f"{stem}.duckdb"
        make(Path(working), made)
        flush_one(made)
        path = made.replace(folder / f"{stem}-{made.stat().st_size}.duckdb")
    _keep_newest(folder)
    return path


def _keep_newest(folder: Path) -> None:
    """Remove the least recently used templates: those of old schemas, or of kernels that are no longer needed."""
    made = {}
    for path in folder.glob("*.duckdb"):
        # Another process may remove one meanwhile.
        with suppress(OSError):
            made[path] = path.stat().st_mtime
    for path in sorted(made, key=made.__getitem__)[:-TEMPLATES_MAX]:
        # Another process may be about to copy it.
        if made[path] < time.time() - _IN_USE_S:
            path.unlink(missing_ok=True)


_SCRATCH = Lock()


@cache
def _made_scratch() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="perfcase-")


def _scratch() -> tempfile.TemporaryDirectory:
    # Both sides of a diff may need it at once: a second one would replace the first, which removes itself while it is in use.
    with _SCRATCH:
        return _made_scratch()


def _connect(path: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(path), config={"storage_compatibility_version": STORAGE_VERSION, "threads": "1"})


def _make(folder: Path, path: Path, other_columns: OtherColumns) -> None:
    if other_columns:
        shutil.copyfile(template(), path)
    (folder / "tables").mkdir()
    with _connect(path) as connection:
        connection.execute(f"SET VARIABLE case_dir = {literal(str(folder.resolve()))}")
        # One transaction: each of the thousand comments would otherwise wait for the disk.
        connection.begin()
        if other_columns:
            _add_other_tables(connection, folder, other_columns)
        else:
            _add_schema(connection, folder)
        connection.commit()
        checkpoint(connection)


def checkpoint(connection: duckdb.DuckDBPyConnection) -> None:
    """Write all of a database into its file. Closing it does so too, but hides that the disk is full."""
    connection.execute("CHECKPOINT")


def _add_schema(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    for table in load_tables().values():
        columns = [(column.name, column.sql_type) for column in table.columns]
        _add_table(connection, folder, table.name, columns)
        comment(connection, table.name, describe(table.description, table.grain), table.columns)
    contents.add(connection, f"{_FOLDER} || '/tables/*.parquet'")
    for view in load_views().values():
        create_view(connection, view)


def _add_table(
    connection: duckdb.DuckDBPyConnection, folder: Path, file: str, columns: Columns, shown: str | None = None
) -> None:
    """Add the view of a table over an empty file. This is enough for DuckDB to check the views that use it."""
    path = folder / "tables" / f"{file}.parquet"
    empty = ", ".join(f"NULL::{sql_type} AS {quote(name)}" for name, sql_type in columns)
    connection.execute(f"COPY (SELECT {empty} LIMIT 0) TO {literal(str(path))} (FORMAT parquet)")
    place = literal("/tables/" + file.replace("[", "[[]") + ".parquet")
    listed = ", ".join(quote(name) for name, _ in columns)
    connection.execute(
        f"CREATE OR REPLACE VIEW {quote(shown or file)} AS SELECT {listed} FROM read_parquet({_FOLDER} || {place})"
    )


def _add_other_tables(connection: duckdb.DuckDBPyConnection, folder: Path, other_columns: OtherColumns) -> None:
    """Add the tracepoints and the fields that the schema does not describe."""
    schema = load_tables()
    if not are_columns(other_columns):
        raise PerfcaseError("input", f"{folder}: not written by perfcase import", "import the capture again")
    taken = {*load_catalogue(), *view_files()}
    for name, columns in other_columns.items():
        table = schema.get(name)
        # An untrusted recording may name an event like one of our views. The view is kept.
        shown = f"event_{name}" if name in taken else name
        _add_table(connection, folder, name, columns, shown)
        if table:
            names = {column for column, _ in columns}
            known = [column for column in table.columns if column.name in names]
            comment(connection, name, describe(table.description, table.grain), known)
        else:
            text = "Events of this tracepoint, its own fields as columns. One row is an event."
            connection.execute(f"COMMENT ON VIEW {quote(shown)} IS {literal(text)}")


@cache
def views_hash() -> str:
    """Return a hash of the tables' descriptions and the views. If it changes, case.duckdb is written again."""
    digest = hashlib.sha256()
    root = schema_dir()
    events = package_data("recorder") / "events.list"
    for path in sorted([*root.rglob("*.toml"), *root.rglob("*.sql")]):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(path.read_bytes())
    digest.update(events.read_bytes() if events.is_file() else b"")
    digest.update(str(contents.VERSION).encode())
    # How the text of the kit is put into a view, and a table's file, is part of what the view is.
    for path in (kit.__file__, __file__):
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()[:32]
