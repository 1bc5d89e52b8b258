"""Write the first five minutes of an investigation, as text or as JSON."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from perfcase.case.opening import Opened
from perfcase.lazy import duckdb, rich
from perfcase.operations.request import BaseRequest, Option
from perfcase.report.document import to_dict
from perfcase.report.writer import sections, write_report
from perfcase.terminal import render

Form = Literal["text", "json"]


@dataclass(frozen=True, kw_only=True)
class Request(BaseRequest):
    """The format of the report."""

    fmt: Annotated[
        Form,
        Option(
            "text, or json: sections, tables and links, for programs (schema/report.schema.json).",
            flags=("--format", "-f"),
            query="format",
        ),
    ] = "text"


@dataclass(frozen=True)
class Result:
    """The report of a capture."""

    connection: duckdb.DuckDBPyConnection
    file: str
    """FILE with its --only, as words of a command line."""
    fmt: Form

    @property
    def text(self) -> str:
        """Return the report; text has lines of any length."""
        if self.fmt == "json":
            document = to_dict(self.file, sections(self.connection))
            return json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n"
        lines = io.StringIO()
        self._print(rich.console.Console(file=lines, highlight=False, width=100_000, soft_wrap=True))
        return lines.getvalue()

    def write(self, output: Path | None = None) -> None:
        """Write it: see ``perfcase.operations.result.Result``. Text comes section by section."""
        if self.fmt == "json":
            render.write_text(self.text, output)
            return
        with render.page(output) as console:
            self._print(console)

    def _print(self, console: rich.console.Console) -> None:
        write_report(self.connection, console, self.file)


def run(request: Request, case: Opened) -> Result:
    """Return the report. A section that fails says so in its place.

    Raises:
        PerfcaseError: the capture cannot be opened (input).
    """
    return Result(case.connection, case.words, request.fmt)
