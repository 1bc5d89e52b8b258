"""perfcase sql: any question."""

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
            "--also", metavar="FILE", help="Ask this capture, too. May be given several times; implies --capture-id."
        ),
    ] = None,
    capture_id: Annotated[
        bool, typer.Option("--capture-id", help="A first column that says of which capture a row is.")
    ] = False,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Ask anything in SQL (DuckDB's dialect) of the tables and views.

    perfcase tables and perfcase views say what there is. The connection is read-only and sees nothing but FILE.

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
