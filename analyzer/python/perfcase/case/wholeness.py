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


def is_ours(folder: Path) -> bool:
    """Return whether a folder holds only files of an import, complete or not."""
    names = {path.name for path in folder.iterdir()}
    return names <= _OURS and bool(names & {"import.json", "tables", DATABASE})


def sizes(folder: Path) -> dict[str, int]:
    """Return size in bytes of each table and of the database, by their paths: what import.json keeps as ``files``."""
    files = [*sorted((folder / "tables").iterdir()), folder / DATABASE]
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}


def damage(folder: Path, info: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the tables, or None: one that is missing, has another size than it was written with, or another end."""
    files = info.get("files", {})
    # Without objects for paths and files, and as few calls as there can be: a history looks at the 80 tables of each of a thousand captures.
    try:
        tables = os.open(f"{folder}/tables", os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        return f"{folder}/tables: {error.strerror}"
    try:
        for name in info["tables"]:
            written = files.get(f"tables/{name}.parquet")
            try:
                size, end = _end(f"{name}.parquet", tables, written)
            except OSError as error:
                return f"{folder}/tables/{name}.parquet: {error.strerror}"
            except ValueError:
                return f"{folder}/import.json: {name!r} is no name of a table"
            if written is not None and size != written:
                return f"{folder}/tables/{name}.parquet: has {size:,} bytes; {written:,} were written"
            if end != _TABLE_ENDS:
                return f"{folder}/tables/{name}.parquet: does not end as a table does"
    finally:
        os.close(tables)
    return None


def _end(name: str, folder: int, expected: int | None) -> tuple[int, bytes]:
    """Return the size of a file and its last bytes. Do not wait for a pipe at this path."""
    handle = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
    try:
        ends = len(_TABLE_ENDS)
        if expected is not None and expected >= ends:
            # One byte more than there should be: if it is not there, this is the end.
            end = os.pread(handle, ends + 1, expected - ends)
            if end == _TABLE_ENDS:
                return expected, end
        size = os.fstat(handle).st_size
        return size, os.pread(handle, ends, max(0, size - ends))
    finally:
        os.close(handle)


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
