"""A capture as a DuckDB connection, for Python: ``perfcase.open``."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from perfcase.case import query, store
from perfcase.lazy import duckdb


def open_capture(
    file: str | PathLike[str], *, only: Sequence[str] = (), debug_dirs: Sequence[str | PathLike[str]] = ()
) -> duckdb.DuckDBPyConnection:
    """See ``perfcase.open``."""
    return connect(store.open_case(Path(file), debug_dirs=[Path(place) for place in debug_dirs]), only)


def connect(case: store.Case, only: Sequence[str] = ()) -> duckdb.DuckDBPyConnection:
    """Return a connection to an imported capture, or to a part of it."""
    if not only:
        return query.connect(case.folder)
    # Loaded here: most questions are about all of it.
    from perfcase.case.scope import resolve
    from perfcase.case.window import open_scope

    return open_scope(case, resolve(lambda: query.connect(case.folder), list(only)))
