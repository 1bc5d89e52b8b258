"""perfcase view: print one view."""

from __future__ import annotations

import math
import sys
from typing import Annotated

import typer

from perfcase.case.coverage import why_empty
from perfcase.case.kept import have_findings
from perfcase.case.sharing import FINDINGS
from perfcase.catalogue.plot import plan
from perfcase.catalogue.schema import load_tables, quote
from perfcase.catalogue.views import load_views, parameters
from perfcase.cli.common import (
    DebugDirOption,
    FileArgument,
    Format,
    FormatOption,
    LimitOption,
    OnlyOption,
    OutputOption,
    complete_view,
    opened,
    plot_option,
    unknown,
    where_option,
    write,
)
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb
from perfcase.text import safe


def command(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="A view or table.", show_default=False, autocompletion=complete_view),
    ],
    file: FileArgument,
    where: where_option("Print only these rows: \"comm = 'java'\".") = None,
    order: Annotated[str | None, typer.Option("--order", metavar="SQL", help='Sort by this: "on_cpu_ns DESC".')] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=NUMBER", help="Set a parameter of the view: interval_ns=100000000."),
    ] = None,
    offset: Annotated[int, typer.Option("--offset", min=0, metavar="N", help="Skip the first N rows.")] = 0,
    limit: LimitOption = None,
    fmt: FormatOption = Format.table,
    output: OutputOption = None,
    plot: plot_option("Draw histograms as bars, and intervals as sparklines.") = None,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Print a view of FILE: thread_time, off_cpu_by_stack, syscall_summary, …

    perfcase views lists the views. perfcase views NAME describes the columns. If a view is empty, standard error says what is
    missing in the capture and how to record it.

    Example: perfcase view off_cpu_by_stack incident.perfcase --where "comm = 'java'" --limit 10
    """
    with opened(file, debug_dir, only) as connection:
        known = [
            row[0] for row in connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        ]
        if name not in known:
            raise unknown("view", name, {*known, *load_views(), *load_tables()}, "perfcase views")
        _set(connection, name, settings or [])
        if name in FINDINGS:
            have_findings(connection)
        sql = f"SELECT * FROM {quote(name)}"
        if where:
            sql += f" WHERE ({where}\n)"
        if order:
            sql += f" ORDER BY {order}"
        if offset:
            sql += f" OFFSET {offset}"
        wanted = sys.stdout.isatty() if plot is None else plot
        how = (
            plan(load_views()[name]) if wanted and not output and fmt == Format.table and name in load_views() else None
        )
        result = write(connection, sql, fmt, output, limit, how)
        if (
            not result.row_count
            and not settings
            and not connection.execute(f"SELECT 1 FROM {quote(name)} LIMIT 1").fetchone()
        ):
            _say_why_empty(connection, name)


def _set(connection: duckdb.DuckDBPyConnection, view: str, settings: list[str]) -> None:
    """Set the parameters of the view."""
    known = parameters(load_views(), view)
    for setting in settings:
        name, separator, value = setting.partition("=")
        if name not in known:
            hint = f"it has {', '.join(sorted(known))}" if known else "it has none"
            raise PerfcaseError("usage", f"--set {setting}: {view} has no parameter {name}", hint)
        number = _number(value) if separator else None
        if number is None:
            raise PerfcaseError("usage", f"--set {setting}: not NAME=NUMBER")
        connection.execute(f"SET VARIABLE {quote(name)} = {number}")


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if math.isfinite(number) else None
    return None


def _say_why_empty(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Say on standard error which source is missing, and how to record it."""
    why = why_empty(connection, name)
    if why:
        sys.stderr.write(f"perfcase: {name} has no rows: {safe(why)}\n")
