"""What an operation gives: something that can be written as the command line writes it, and read by a program."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from perfcase.case import query
from perfcase.catalogue.plot import Plan
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb
from perfcase.terminal import render
from perfcase.text import safe


class Result(Protocol):
    """Any answer. It is good for as long as the case that it is of is open."""

    def write(self, output: Path | None = None) -> None:
        """Writes it to a file that takes the place of ``output`` when it is whole, or to standard output; what else there is to
        say goes to standard error.

        Raises:
            PerfcaseError: it cannot be worked out (sql) or written (environment).
        """


class Rows:
    """Rows, in the format that was asked for."""

    def __init__(self, rows: query.Result, fmt: str, limit: int | None, plot: Plan | None = None) -> None:
        """``limit``: how many were asked for; None: of which a table for people shows the first. ``plot``: how they are drawn."""
        self.rows = rows
        self._format = fmt
        self._is_limited = limit is not None
        self._plot = plot

    def write(self, output: Path | None = None) -> None:
        """See ``Result``."""
        render.write_result(self.rows, self._format, output, limited=self._is_limited, plot=self._plot)

    def relation(self) -> duckdb.DuckDBPyRelation:
        """The rows as a relation of DuckDB's: ``df()`` (pandas), ``pl()`` (polars), ``fetchall()``, Arrow.

        Raises:
            PerfcaseError: the query is wrong (sql).
        """
        return self.rows.relation()


@dataclass(frozen=True)
class Text:
    """Text that is whole."""

    text: str

    def write(self, output: Path | None = None) -> None:
        """See ``Result``."""
        if output is None:
            sys.stdout.write(self.text)
            return
        with writing(output) as partial:
            partial.write_text(self.text, encoding="utf-8")


@contextmanager
def writing(output: Path) -> Iterator[Path]:
    """A file that takes the place of ``output`` when all went well.

    Raises:
        PerfcaseError: it cannot be written (environment).
    """
    try:
        with render.replacing(output) as partial:
            yield partial
    except OSError as error:
        raise PerfcaseError("environment", f"{output}: cannot be written: {error.strerror or error}") from error


def select(connection: duckdb.DuckDBPyConnection, sql: str, limit: int | None) -> query.Result:
    """The rows of one SELECT, at most ``limit`` of them; None and 0: all.

    Raises:
        PerfcaseError: it is not one SELECT (sql).
    """
    if limit:
        query.gate(connection, sql)
        sql = f"SELECT * FROM ({sql.strip().rstrip(';')}\n) LIMIT {limit}"
    return query.Result(connection, sql)


def say(told: str) -> None:
    """Says something beside the answer, on standard error."""
    sys.stderr.write(f"perfcase: {safe(told)}\n")
