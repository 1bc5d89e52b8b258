"""perfcase view: one answer."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcase.cli.common import (
    FileArgument,
    Format,
    FormatOption,
    LimitOption,
    OutputOption,
    complete_view,
    opened,
    unknown,
    write,
)
from perfcase.schema import load_tables, quote
from perfcase.views import load_views


def command(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="A view or table.", show_default=False, autocompletion=complete_view),
    ],
    file: FileArgument,
    where: Annotated[
        str | None, typer.Option("--where", "-w", metavar="SQL", help="A condition on its columns: \"comm = 'java'\".")
    ] = None,
    order: Annotated[
        str | None, typer.Option("--order", metavar="SQL", help='What to sort by: "on_cpu_ns DESC".')
    ] = None,
    limit: LimitOption = None,
    fmt: FormatOption = Format.table,
    output: OutputOption = None,
) -> None:
    """Show a view of FILE: thread_time, off_cpu_by_stack, syscall_summary, …

    perfcase views lists them; perfcase views NAME says what each column means.

    Example: perfcase view off_cpu_by_stack incident.perfcase --where "comm = 'java'" --limit 10
    """
    with opened(file) as connection:
        known = [
            row[0] for row in connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        ]
        if name not in known:
            raise unknown("view", name, {*known, *load_views(), *load_tables()}, "perfcase views")
        sql = f"SELECT * FROM {quote(name)}"
        if where:
            sql += f" WHERE ({where}\n)"
        if order:
            sql += f" ORDER BY {order}"
        write(connection, sql, fmt, output, limit)
