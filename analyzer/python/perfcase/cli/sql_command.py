"""perfcase sql: any question."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from perfcase.cli.common import (
    DebugDirOption,
    FileArgument,
    Format,
    FormatOption,
    LimitOption,
    OutputOption,
    opened,
    write,
)


def command(
    file: FileArgument,
    statement: Annotated[
        str, typer.Argument(metavar="SQL", help="One SELECT; - reads it from standard input.", show_default=False)
    ],
    fmt: FormatOption = Format.table,
    output: OutputOption = None,
    limit: LimitOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Ask anything in SQL (DuckDB's dialect) of the tables and views.

    perfcase tables and perfcase views say what there is. The connection is read-only and sees nothing but FILE.

    Example: perfcase sql incident.perfcase "SELECT comm, on_cpu_ns FROM thread_time ORDER BY 2 DESC LIMIT 5"
    """
    if statement == "-":
        statement = sys.stdin.read()
    with opened(file, debug_dir) as connection:
        write(connection, statement, fmt, output, limit)
