"""perfcase report: the first five minutes of an investigation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from perfcase.cli.common import DebugDirOption, FileArgument, opened
from perfcase.errors import PerfcaseError
from perfcase.render import console
from perfcase.report import write_report


def command(
    file: FileArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there instead of to standard output.")
    ] = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Read the first five minutes of an investigation: the host, load, threads, waits, calls, counters, profile.

    Every block names the view behind it, so that you can go on from there.

    Example: perfcase report incident.perfcase
    """
    with opened(file, debug_dir) as connection:
        if output is None:
            write_report(connection, console(), str(file))
            return
        try:
            with output.open("w", encoding="utf-8") as text:
                write_report(connection, Console(file=text, highlight=False, width=100_000, soft_wrap=True), str(file))
        except OSError as error:
            raise PerfcaseError("environment", f"{output}: cannot be written: {error.strerror}") from error
