"""Turn every exception into one PerfcaseError, on a terminal and in a server."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb


def failure(error: Exception, files: Iterable[str | Path]) -> PerfcaseError | None:
    """Return the error to show for an exception; None if perfcase is at fault. ``files``: the files of the request, so that the error
    can name a table that cannot be read."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return PerfcaseError(
            "not_found", f"{str(error.filename)[:60]}…: no such file: no name is so long", "FILE comes first"
        )
    if isinstance(error, PerfcaseError):
        return _damage(error.__cause__, files) or error
    return _damage(error, files)


def fault(error: Exception) -> PerfcaseError:
    """Return the error to show for a fault of perfcase."""
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    return PerfcaseError("internal", text, "PERFCASE_DEBUG=1 shows where")


def _damage(error: BaseException | None, files: Iterable[str | Path]) -> PerfcaseError | None:
    """Return the error for a table that cannot be read, if DuckDB's own may come from one: it often does not say which."""
    if type(error) not in (duckdb.Error, duckdb.IOException, duckdb.InvalidInputException):
        return None
    from perfcase.case import store

    # Path.exists raises where a word, such as a query, is longer than a name may be.
    return store.damage_of(Path(word) for word in files if os.path.exists(word))  # noqa: PTH110
