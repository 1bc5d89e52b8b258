"""Write the first five minutes of an investigation, as text."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

from perfcase.case.opening import Opened
from perfcase.lazy import duckdb, rich
from perfcase.operations.request import BaseRequest
from perfcase.report import write_report
from perfcase.terminal import render


@dataclass(frozen=True, kw_only=True)
class Request(BaseRequest):
    """A request without options."""


@dataclass(frozen=True)
class Result:
    """The report of a capture."""

    connection: duckdb.DuckDBPyConnection
    file: str
    """FILE with its --only, as words of a command line."""

    @property
    def text(self) -> str:
        """Return the report, with lines of any length."""
        lines = io.StringIO()
        self._write(rich.console.Console(file=lines, highlight=False, width=100_000, soft_wrap=True))
        return lines.getvalue()

    def write(self, output: Path | None = None) -> None:
        """Write it: see ``perfcase.operations.result.Result``."""
        with render.page(output) as console:
            self._write(console)

    def _write(self, console: rich.console.Console) -> None:
        write_report(self.connection, console, self.file)


def run(_request: Request, case: Opened) -> Result:
    """Return the report. A section that fails says so in its place.

    Raises:
        PerfcaseError: the capture cannot be opened (input).
    """
    return Result(case.connection, case.words)
