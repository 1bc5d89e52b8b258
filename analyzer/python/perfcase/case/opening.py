"""Open a capture or a part of it: import it if necessary, and connect to its tables and views."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path

from perfcase.case import query, store
from perfcase.lazy import duckdb


class Opened:
    """An imported capture, or a part of it. The first use connects to it; ``close`` ends the connection."""

    def __init__(
        self, case: store.Case, only: Sequence[str] = (), file: Path | None = None, *, is_counted: bool = False
    ) -> None:
        """Open nothing yet. ``only``: the part (perfcase.case.scope). ``file``: FILE as the user wrote it. ``is_counted``: as in
        ``perfcase.case.query.connect``."""
        self.case = case
        self.only = tuple(only)
        self.file = file or case.folder
        self._is_counted = is_counted

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """Return the connection. It reads the tables and views, and nothing else of this machine.

        Raises:
            PerfcaseError: the folder cannot be opened (input), ``only`` is wrong (usage) or matches nothing (not_found).
        """
        return connect(self.case, self.only, is_counted=self._is_counted)

    @property
    def words(self) -> str:
        """Return FILE with its --only options, as words of a command line."""
        from perfcase.case import remote

        return self._with_part(remote.url_of(self.file) or str(self.file))

    @property
    def name_words(self) -> str:
        """Return the same without the folder, for readers elsewhere."""
        return self._with_part(self.file.name)

    def close(self) -> None:
        """Close the connection."""
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
    is_counted: bool = False,
) -> Opened:
    """Open FILE, a path or a URL. Import it first if necessary (perfcase.case.store.open_case). ``is_counted``: as in ``perfcase.case.query.connect``."""
    # Loaded here: most captures are files.
    from perfcase.case import remote

    places = [Path(place) for place in debug_dirs]
    path = remote.fetch(file) if remote.is_url(file) else Path(file)
    case = store.open_case(path, progress=progress, debug_dirs=places)
    return Opened(case, only, path, is_counted=is_counted)


def connect(case: store.Case, only: Sequence[str] = (), *, is_counted: bool = False) -> duckdb.DuckDBPyConnection:
    """Return a connection to an imported capture, or to a part of it. ``is_counted``: as in ``perfcase.case.query.connect``."""
    if not only:
        return query.connect(case.folder, is_counted=is_counted)
    # Loaded here: most questions are about all of it.
    from perfcase.case.scope import resolve
    from perfcase.case.window import open_scope

    return open_scope(case, resolve(lambda: query.connect(case.folder), list(only)), is_counted=is_counted)
