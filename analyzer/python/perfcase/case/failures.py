"""What a user is told of an exception: always one PerfcaseError, at a terminal and at a server."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb


def failure(error: Exception, files: Iterable[str | Path]) -> PerfcaseError | None:
    """The error that stands for an exception; None where it is a fault of ours. ``files``: what was asked, so that a table that
    cannot be read is named."""
    if isinstance(error, PerfcaseError):
        return _damage(error.__cause__, files) or error
    return _damage(error, files)


def fault(error: Exception) -> PerfcaseError:
    """The error that stands for a fault of ours."""
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    return PerfcaseError("internal", text, "PERFCASE_DEBUG=1 shows where")


def _damage(error: BaseException | None, files: Iterable[str | Path]) -> PerfcaseError | None:
    """The error of a table that cannot be read, where DuckDB's own may come from one: it seldom says from which."""
    if type(error) not in (duckdb.Error, duckdb.IOException, duckdb.InvalidInputException):
        return None
    from perfcase.case import store

    # Path.exists raises where a word, such as a query, is longer than a name may be.
    return store.damage_of(Path(word) for word in files if os.path.exists(word))  # noqa: PTH110
