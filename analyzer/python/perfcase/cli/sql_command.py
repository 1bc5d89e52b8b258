"""perfcase sql: any question."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from perfcase.cli.common import DebugDirOption, FileArgument, OnlyOption, OutputOption, opened
from perfcase.cli.options import from_request
from perfcase.operations import sql


@from_request
def command(
    file: FileArgument,
    request: sql.Request,
    output: OutputOption = None,
    also: Annotated[
        list[Path] | None,
        typer.Option(
            "--also", metavar="FILE", help="Ask this capture, too. May be given several times; implies --capture-id."
        ),
    ] = None,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Ask anything in SQL (DuckDB's dialect) of the tables and views.

    perfcase tables and perfcase views say what there is. The connection is read-only and sees nothing but FILE.

    Example: perfcase sql incident.perfcase "SELECT comm, on_cpu_ns FROM thread_time ORDER BY 2 DESC LIMIT 5"
    """
    if request.sql == "-":
        request = replace(request, sql=sys.stdin.read())
    with ExitStack() as stack:
        cases = [stack.enter_context(opened(each, debug_dir, only)) for each in (file, *(also or ()))]
        sql.run(request, *cases).write(output)
