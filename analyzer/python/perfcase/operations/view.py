"""Print the rows of a view or table."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from perfcase.case.coverage import why_empty
from perfcase.case.kept import have_findings, recall_view
from perfcase.case.opening import Opened
from perfcase.case.sharing import FINDINGS
from perfcase.catalogue.causes import FOLLOWED, gaps
from perfcase.catalogue.histogram import RANK, added_up, keys_of
from perfcase.catalogue.plot import Plan, plan
from perfcase.catalogue.schema import load_tables, quote
from perfcase.catalogue.views import load_views, parameters, view_files
from perfcase.errors import PerfcaseError, unknown
from perfcase.lazy import duckdb
from perfcase.operations import fields
from perfcase.operations.request import BaseRequest, Option
from perfcase.operations.result import Rows, say, select
from perfcase.terminal.render import TABLE_ROWS_MAX


@dataclass(frozen=True, kw_only=True)
class Request(BaseRequest):
    """A view, and some of its rows."""

    name: Annotated[
        str,
        fields.view("A view or table.", flags=(), is_argument=True, is_default_shown=False),
    ]
    where: fields.where("Show only these rows: \"comm = 'java'\".") = None
    order: Annotated[
        str | None,
        Option(
            'Sort by this: "on_cpu_ns DESC".',
            flags=("--order",),
            metavar="SQL",
            length_max=1000,
            example="on_cpu_ns DESC",
        ),
    ] = None
    settings: Annotated[
        tuple[str, ...],
        Option(
            "Set a parameter of the view: interval_ns=100000000.",
            flags=("--set",),
            metavar="NAME=NUMBER",
            query="set",
            length_max=20,
        ),
    ] = ()
    by: Annotated[
        str | None,
        Option(
            "Add a histogram up by these columns, and over all rows; - adds it up over all rows only.",
            flags=("--by",),
            metavar="COLUMNS",
            length_max=1000,
            example="comm",
        ),
    ] = None
    offset: Annotated[int, Option("Skip the first N rows.", flags=("--offset",), metavar="N", min=0, max=1 << 40)] = 0
    limit: fields.Limit = None
    fmt: Annotated[
        Literal["table", "csv", "json", "columns", "arrow", "parquet"],
        Option(
            "csv, json, columns (JSON with a list for each column), arrow (IPC stream) or parquet.",
            flags=("--format", "-f"),
            query="format",
            for_people={"table": "for people"},
        ),
    ] = "table"
    plot: fields.plot("Draw histograms as bars, and intervals as sparklines.") = None


class Result(Rows):
    """The rows. If there are none, ``write`` also says what is missing in the capture and how to record it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, request: Request, sql: str, how: Plan | None) -> None:
        super().__init__(select(connection, sql, request.limit), request.fmt, request.limit, how)
        self._connection = connection
        self._request = request
        self._is_plotted = how is not None

    def write(self, output: Path | None = None) -> None:
        """Write it: see ``Rows``."""
        request = self._request
        if request.limit is None and request.fmt == "table" and not self._is_plotted and has_first(request):
            _take_first(self._connection, request, TABLE_ROWS_MAX + 1)
        super().write(output)
        if request.name in FINDINGS:
            # They took several queries.
            self.bytes_read = None
        if request.name in FOLLOWED and (told := self._gaps()):
            say(told)
        if self.rows.row_count or request.settings:
            return
        name = request.name
        if not self._connection.execute(f"SELECT 1 FROM {quote(name)} LIMIT 1").fetchone():
            why = why_empty(self._connection, name)
            if why:
                say(f"{name} has no rows: {why}")

    def _gaps(self) -> str | None:
        rows = select(self._connection, "SELECT * FROM blame_gap", None).relation()
        return gaps(dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall())


def run(request: Request, case: Opened) -> Result:
    """Return the rows of a view or table of a capture.

    Raises:
        PerfcaseError: there is no such view (not_found), it has no such parameter or is not added up by that (usage), a condition
            is wrong (sql).
    """
    connection, name = case.connection, request.name
    known = [row[0] for row in connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()]
    if name not in known:
        raise unknown("view", name, {*known, *load_views(), *load_tables()}, "perfcase views")
    _set(connection, name, request.settings)
    if has_first(request) and request.limit:
        _take_first(connection, request, request.limit)
    if name in FINDINGS:
        have_findings(connection)
    else:
        recall_view(connection, name)
    sql = f"SELECT * FROM {quote(name)}"
    if request.where:
        sql += f" WHERE ({request.where}\n)"
    wanted = sys.stdout.isatty() if request.plot is None else request.plot
    how = plan(load_views()[name]) if wanted and name in view_files() else None
    if request.by is not None:
        histogram, keys = keys_of(load_views().get(name), request.by)
        sql = f"SELECT * FROM ({added_up(histogram, keys, sql)})"
        how = replace(histogram, keys=(RANK, *keys))
    if request.order:
        sql += f" ORDER BY {request.order}"
    if request.offset:
        sql += f" OFFSET {request.offset}"
    return Result(connection, request, sql, how if wanted and request.fmt == "table" else None)


def has_first(request: Request) -> bool:
    """Return whether the view finds its first rows without the others, and only these are asked for."""
    is_all = request.limit == 0 or request.where or request.order or request.by is not None or request.settings
    name = request.name
    if is_all or name not in view_files() or _first(name) not in view_files()[name].read_text(encoding="utf-8"):
        return False
    return _first(name) in parameters(load_views(), name)


def _take_first(connection: duckdb.DuckDBPyConnection, request: Request, count: int) -> None:
    """Let the view find so many rows behind those that are skipped."""
    connection.execute(f"SET VARIABLE {quote(_first(request.name))} = {request.offset + count}")


def _first(view: str) -> str:
    """Return the parameter by which a view finds its first rows."""
    return f"{view}_limit"


def _set(connection: duckdb.DuckDBPyConnection, view: str, settings: tuple[str, ...]) -> None:
    """Set the parameters of the view."""
    if not settings:
        return
    known = parameters(load_views(), view)
    for setting in settings:
        name, separator, value = setting.partition("=")
        if name not in known:
            hint = f"it has {', '.join(sorted(known))}" if known else "it has none"
            raise PerfcaseError("usage", f"--set {setting}: {view} has no parameter {name}", hint)
        number = _number(value) if separator else None
        if number is None:
            raise PerfcaseError("usage", f"--set {setting}: not NAME=NUMBER", "a number below 2^63")
        connection.execute(f"SET VARIABLE {quote(name)} = {number}")


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            number = kind(text)
            # Parameters are numbers of 64 bits.
            return number if math.isfinite(number) and -(2**63) <= number < 2**63 else None
        except (ValueError, OverflowError):
            continue
    return None
