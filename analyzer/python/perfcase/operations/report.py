"""The first five minutes of an investigation, as text."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

from perfcase.case.opening import Opened
from perfcase.lazy import duckdb, rich
from perfcase.operations.request import Asked
from perfcase.report import write_report
from perfcase.terminal import render


@dataclass(frozen=True, kw_only=True)
class Request(Asked):
    """Nothing can be chosen."""


@dataclass(frozen=True)
class Result:
    """The report of a capture."""

    connection: duckdb.DuckDBPyConnection
    file: str
    """FILE, as a command says it again."""

    @property
    def text(self) -> str:
        """The report, in lines as long as they need to be."""
        lines = io.StringIO()
        self._write(rich.console.Console(file=lines, highlight=False, width=100_000, soft_wrap=True))
        return lines.getvalue()

    def write(self, output: Path | None = None) -> None:
        """See ``perfcase.operations.result.Result``."""
        with render.page(output) as console:
            self._write(console)

    def _write(self, console: rich.console.Console) -> None:
        write_report(self.connection, console, self.file)


def run(_request: Request, case: Opened) -> Result:
    """The report: a section that fails says so in its place.

    Raises:
        PerfcaseError: the capture cannot be opened (input).
    """
    return Result(case.connection, case.told)
