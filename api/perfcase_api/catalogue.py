"""The catalogue of a store: one SQLite file. Opening it applies the missing migrations."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from perfcase.errors import PerfcaseError
from perfcase_api.storage import Reserve

Row = sqlite3.Row


def now_ns() -> int:
    """Return the time of day, ns since 1970."""
    return time.time_ns()


class Catalogue:
    """One connection, used by one thread at a time. What ``writing`` wrote is on the disk when it ends, or not at all."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._reserve = Reserve(path.parent)
        self._reserve.tend()
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA foreign_keys = ON")
        self._migrate(path)

    def rows(self, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[Row]:
        """Return all rows of a SELECT."""
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    def row(self, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> Row | None:
        """Return the first row of a SELECT."""
        with self._lock:
            return self._db.execute(sql, values).fetchone()

    def write(self, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> int:
        """Run one statement in its own transaction. Return the id of the inserted row."""
        with self.writing() as db:
            return db.execute(sql, values).lastrowid or 0

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Provide a transaction."""
        with self._lock:
            self._reserve.tend()
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                # SQLite rolls back by itself after some errors of the disk. A transaction that stayed open would refuse all that come later.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            self._db.close()

    def _migrate(self, path: Path) -> None:
        """Run each migration after the one that the file has, each with its number in one transaction."""
        (has,) = self._db.execute("PRAGMA user_version").fetchone()
        scripts = sorted(
            (entry for entry in files("perfcase_api").joinpath("migrations").iterdir() if entry.name.endswith(".sql")),
            key=lambda entry: entry.name,
        )
        if has > len(scripts):
            raise PerfcaseError("version", f"{path}: written by a newer perfcase (version {has})", "update perfcase")
        for number, script in enumerate(scripts, 1):
            if number > has:
                self._db.executescript(f"BEGIN; {script.read_text()} PRAGMA user_version = {number}; COMMIT;")
