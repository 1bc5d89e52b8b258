"""A capture as it is asked: imported, all of it or a part, with a connection to its tables and views."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path

from perfcase.case import query, store
from perfcase.lazy import duckdb


class Opened:
    """An imported capture, or a part of it. It is connected to when that is first asked for, and let go of by ``close``."""

    def __init__(self, case: store.Case, only: Sequence[str] = (), file: Path | None = None) -> None:
        """``only``: which part of it (perfcase.case.scope). ``file``: FILE, as its user calls it."""
        self.case = case
        self.only = tuple(only)
        self.file = file or case.folder

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """Reads its tables and views, and nothing else of this machine.

        Raises:
            PerfcaseError: the folder cannot be opened (input), or ``only`` is wrong (usage) or names nothing (not_found).
        """
        return connect(self.case, self.only)

    @property
    def told(self) -> str:
        """FILE with its --only, as a command says it again."""
        return self._with_part(str(self.file))

    @property
    def told_by_name(self) -> str:
        """The same without the folder, for those elsewhere."""
        return self._with_part(self.file.name)

    def close(self) -> None:
        """Ends the connection."""
        if made := self.__dict__.pop("connection", None):
            made.close()

    def _with_part(self, file: str) -> str:
        return " ".join([file, *(f"--only {shlex.quote(condition)}" for condition in self.only)])


def open_capture(
    file: str | PathLike[str],
    *,
    only: Sequence[str] = (),
    debug_dirs: Sequence[str | PathLike[str]] = (),
    progress: store.Progress | None = None,
) -> Opened:
    """FILE, imported now if it was not before (perfcase.case.store.open_case)."""
    places = [Path(place) for place in debug_dirs]
    return Opened(store.open_case(Path(file), progress=progress, debug_dirs=places), only, Path(file))


def connect(case: store.Case, only: Sequence[str] = ()) -> duckdb.DuckDBPyConnection:
    """A connection to an imported capture, or to a part of it."""
    if not only:
        return query.connect(case.folder)
    # Loaded here: most questions are about all of it.
    from perfcase.case.scope import resolve
    from perfcase.case.window import open_scope

    return open_scope(case, resolve(lambda: query.connect(case.folder), list(only)))
