"""perfcase sql: run a query."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from perfcase.case.query import bytes_read
from perfcase.cli.common import DebugDirOption, FileArgument, OnlyOption, OutputOption, ReadsOption, opened, say_reads
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
            "--also", metavar="FILE", help="Query this capture too. Can be given several times. Implies --capture-id."
        ),
    ] = None,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
    reads: ReadsOption = False,
) -> None:
    """Run a query over the tables and views, in DuckDB's SQL.

    perfcase tables and perfcase views list them. The connection is read-only and can access only FILE.

    Example: perfcase sql incident.perfcase "SELECT comm, on_cpu_ns FROM thread_time ORDER BY 2 DESC LIMIT 5"
    """
    if request.sql == "-":
        request = replace(request, sql=sys.stdin.read())
    with ExitStack() as stack:
        files = (file, *(also or ()))
        cases = [stack.enter_context(opened(each, debug_dir, only, is_counted=reads)) for each in files]
        sql.run(request, *cases).write(output)
        if reads:
            say_reads((case, bytes_read(case.connection)) for case in cases)
