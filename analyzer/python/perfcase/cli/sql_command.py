"""perfcase sql: run a query."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from perfcase.case import query
from perfcase.cli.common import (
    DebugDirOption,
    FileArgument,
    Format,
    FormatOption,
    LimitOption,
    OnlyOption,
    OutputOption,
    opened,
    write,
)
from perfcase.terminal import render


def command(
    file: FileArgument,
    statement: Annotated[
        str, typer.Argument(metavar="SQL", help="One SELECT; - reads it from standard input.", show_default=False)
    ],
    fmt: FormatOption = Format.table,
    output: OutputOption = None,
    limit: LimitOption = None,
    also: Annotated[
        list[Path] | None,
        typer.Option(
            "--also", metavar="FILE", help="Query this capture too. Can be given several times. Implies --capture-id."
        ),
    ] = None,
    capture_id: Annotated[
        bool, typer.Option("--capture-id", help="Add a first column with the capture of each row.")
    ] = False,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Run a query over the tables and views, in DuckDB's SQL.

    perfcase tables and perfcase views list them. The connection is read-only and can access only FILE.

    Example: perfcase sql incident.perfcase "SELECT comm, on_cpu_ns FROM thread_time ORDER BY 2 DESC LIMIT 5"
    """
    if statement == "-":
        statement = sys.stdin.read()
    with ExitStack() as stack:
        connections = [stack.enter_context(opened(each, debug_dir, only)) for each in (file, *(also or ()))]
        if also or capture_id:
            render.write_result(
                query.CombinedResult(connections, statement, limit), fmt.value, output, limited=limit is not None
            )
        else:
            write(connections[0], statement, fmt, output, limit)
