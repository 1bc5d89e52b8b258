"""perfcase report: print the first five minutes of an investigation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfcase.cli.common import DebugDirOption, FileArgument, OnlyOption, named, opened
from perfcase.report import write_report
from perfcase.terminal import render


def command(
    file: FileArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this file instead of standard output."),
    ] = None,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Print the first five minutes of an investigation: the host, load, threads, waits, calls, counters, profile.

    Every block names the view behind it. Ask for this view to see more.

    Example: perfcase report incident.perfcase
    """
    with opened(file, debug_dir, only) as connection, render.page(output) as console:
        write_report(connection, console, named(file, only))
