"""Whether an imported folder is still what its import.json says: a disk that was full, a copy that was cut, a table deleted."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfcase.lazy import duckdb

DATABASE = "case.duckdb"
KEPT = "kept"
"""The folder of what perfcase.case.kept keeps."""
_OURS = {
    DATABASE,
    f"{DATABASE}.partial",
    f"{DATABASE}.wal",
    "import.json",
    "import.partial",
    "tables",
    "symbolized",
    KEPT,
}
_MAGIC_AT, _MAGIC = 8, b"DUCK"
_TABLE_ENDS = b"PAR1"
_SYNC_THREADS = 16
Tables = Mapping[str, tuple[int, int]]
"""Size in bytes and time of the last change in ns of the files in ``tables``, by their names."""


def is_ours(folder: Path) -> bool:
    """Return whether a folder holds only files of an import, complete or not."""
    names = {path.name for path in folder.iterdir()}
    return names <= _OURS and bool(names & {"import.json", "tables", DATABASE})


def sizes(folder: Path) -> dict[str, int]:
    """Return size in bytes of each table and of the database, by their paths: what import.json keeps as ``files``."""
    files = [*sorted((folder / "tables").iterdir()), folder / DATABASE]
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}


def tables_in(folder: Path) -> Tables:
    """Look at the files in ``tables``: a pipe, a device or a link to nothing is none.

    Raises:
        OSError: they cannot be listed.
    """
    # Without objects for paths: a history looks at the 90 tables of each of a thousand captures.
    with os.scandir(f"{folder}/tables") as entries:
        found = ((entry.name, entry.stat()) for entry in entries if entry.is_file())
        return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in found}


def damage(folder: Path, info: Mapping[str, Any], there: Tables, *, looks_inside: bool = True) -> str | None:
    """Return what is wrong with the tables, or None: one that is missing, has another size than it was written with, or another end.

    ``looks_inside``: false for one of many captures, whose ends would take longer to read than the answer. The reader of such a table finds it.
    """
    files = info.get("files", {})
    for name in info["tables"]:
        path = f"tables/{name}.parquet"
        if f"{name}.parquet" not in there:
            # An import.json may have any name: as it can be printed.
            return f"{folder}/tables: {f'{name}.parquet'!r} is missing"
        size, _ = there[f"{name}.parquet"]
        if path in files and size != files[path]:
            return f"{folder}/{path}: has {size:,} bytes; {files[path]:,} were written"
        if looks_inside and (wrong := _end(f"{folder}/{path}")):
            return f"{folder}/{path}: {wrong}"
    return None


def _end(path: str) -> str | None:
    """Return what is wrong with the last bytes of a table. Do not wait for a pipe at this path."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            size = os.fstat(handle).st_size
            end = os.pread(handle, len(_TABLE_ENDS), max(0, size - len(_TABLE_ENDS)))
        finally:
            os.close(handle)
    except OSError as error:
        return error.strerror
    return None if end == _TABLE_ENDS else "does not end as a table does"


def has_readable_ends(folder: Path) -> bool:
    """Return whether the end of each table, which says what is in it, can be read: ``damage`` looks at its last four bytes alone."""
    try:
        with duckdb.cursor() as connection:
            named = f"{glob.escape(str(folder / 'tables'))}/*.parquet"
            connection.execute("SELECT count(*) FROM parquet_file_metadata($1)", [named]).fetchall()
    except duckdb.Error:
        return False
    return True


def unreadable(folder: Path) -> str | None:
    """Read all tables. Return which cannot be read and why, or None. This takes seconds for large imports."""
    for path in sorted((folder / "tables").glob("*.parquet")):
        try:
            with duckdb.cursor() as connection:
                named = glob.escape(str(path))
                connection.execute("SELECT count(COLUMNS(*)) FROM read_parquet($1)", [named]).fetchall()
        except duckdb.Error as error:
            return f"{path}: cannot be read: {str(error).splitlines()[0]}"
    return None


def has_database(folder: Path, info: Mapping[str, Any]) -> bool:
    """Return whether case.duckdb can be opened. Open it only if its owner changed it."""
    path = folder / DATABASE
    try:
        with path.open("rb") as file:
            file.seek(_MAGIC_AT)
            if file.read(len(_MAGIC)) != _MAGIC:
                return False
        if path.stat().st_size == info.get("files", {}).get(DATABASE):
            return True
        duckdb.connect(str(path), read_only=True).close()
    except (OSError, duckdb.Error):
        return False
    return True


def flush(folder: Path) -> None:
    """Flush everything below a folder to the disk, so that after a power failure no name is there without its content.

    Side by side: file systems put what is asked for at the same time into one write of their journal.
    """
    # Loaded here: an import runs for most of its time without it.
    from concurrent.futures import ThreadPoolExecutor

    files = [path for path in folder.rglob("*") if path.is_file()]
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    with ThreadPoolExecutor(_SYNC_THREADS) as pool:
        list(pool.map(flush_one, files))
    for path in folders:
        flush_one(path)


def flush_one(path: Path) -> None:
    """Flush one file, or the names in one folder, to the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
