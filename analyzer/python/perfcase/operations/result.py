"""The result of an operation: the command line writes it, programs read it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from perfcase.case import query
from perfcase.case.values import Value
from perfcase.catalogue.plot import Plan
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb
from perfcase.terminal import render
from perfcase.text import safe


class Result(Protocol):
    """The result of any operation. It is valid while its case is open."""

    def write(self, output: Path | None = None) -> None:
        """Write it to standard output, or to a file that replaces ``output`` when it is complete. Messages go to standard error.

        Raises:
            PerfcaseError: a query fails (sql), or it cannot be written (environment).
        """


class Rows:
    """Rows in one of the formats."""

    def __init__(self, rows: query.Result, fmt: str, limit: int | None, plot: Plan | None = None) -> None:
        """Keep rows with the ``limit`` of the request (None: a table for people shows the first) and the ``plot`` that draws them."""
        self.rows = rows
        self._format = fmt
        self._is_limited = limit is not None
        self._plot = plot
        self.bytes_read: int | None = None
        """How many bytes of the tables' files the rows took, when they are written; None where that was not counted."""

    def write(self, output: Path | None = None) -> None:
        """Write it: see ``Result``."""
        render.write_result(self.rows, self._format, output, limited=self._is_limited, plot=self._plot)
        self.bytes_read = self.rows.bytes_read()

    def relation(self) -> duckdb.DuckDBPyRelation:
        """Return the rows as a relation of DuckDB: ``df()`` (pandas), ``pl()`` (polars), ``fetchall()``, Arrow.

        Raises:
            PerfcaseError: the query is wrong (sql).
        """
        return self.rows.relation()


@dataclass(frozen=True)
class Text:
    """A text."""

    text: str

    def write(self, output: Path | None = None) -> None:
        """Write it: see ``Result``."""
        render.write_text(self.text, output)


@contextmanager
def writing(output: Path) -> Iterator[Path]:
    """Open a file that replaces ``output`` on success.

    Raises:
        PerfcaseError: it cannot be written (environment).
    """
    try:
        with render.replacing(output) as partial:
            yield partial
    except OSError as error:
        raise PerfcaseError("environment", f"{output}: cannot be written: {error.strerror or error}") from error


def select(
    connection: duckdb.DuckDBPyConnection, sql: str, limit: int | None, values: Mapping[str, Value] | None = None
) -> query.Result:
    """Return the rows of one SELECT, at most ``limit`` of them; None and 0: all. ``values``: those of its parameters.

    Raises:
        PerfcaseError: it is not one SELECT (sql).
    """
    if limit:
        query.gate(connection, sql)
        sql = f"SELECT * FROM ({sql.strip().rstrip(';')}\n) LIMIT {limit}"
    return query.Result(connection, sql, values)


def say(message: str) -> None:
    """Write a message to standard error."""
    sys.stderr.write(f"perfcase: {safe(message)}\n")
