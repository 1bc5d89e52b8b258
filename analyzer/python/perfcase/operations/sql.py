"""Run one SELECT on one capture, or on each of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from perfcase.case import query
from perfcase.case.kept import recall_named
from perfcase.case.opening import Opened
from perfcase.case.values import values_of
from perfcase.operations import fields
from perfcase.operations.request import BaseRequest, Option
from perfcase.operations.result import Rows, select


@dataclass(frozen=True, kw_only=True)
class Request(BaseRequest):
    """One SELECT."""

    sql: Annotated[
        str,
        Option(
            "One SELECT",
            besides="; - reads it from standard input.",
            metavar="SQL",
            is_argument=True,
            is_default_shown=False,
            length_max=100_000,
            example="SELECT comm, on_cpu_ns FROM thread_time ORDER BY 2 DESC LIMIT 5",
        ),
    ]
    settings: Annotated[
        tuple[str, ...],
        Option(
            "Give the parameter $NAME of the query a value. Its type is by what is typed: 12, 1.5, true, null, or text; '12' is text.",
            flags=("--set",),
            metavar="NAME=VALUE",
            query="set",
            length_max=50,
            example="comm=java",
        ),
    ] = ()
    fmt: fields.Format = "table"
    limit: fields.Limit = None
    with_capture_id: Annotated[
        bool,
        Option("Add a first column with the capture of each row.", flags=("--capture-id",), is_of_terminals=True),
    ] = False


def run(request: Request, case: Opened, *others: Opened) -> Rows:
    """Return the rows of the SELECT. With several captures: the rows of each in turn, with a first column capture_id.

    Raises:
        PerfcaseError: the query is wrong or not allowed (sql).
    """
    values = values_of(request.settings)
    query.check_values(case.connection, request.sql, values)
    for each in (case, *others):
        recall_named(each.connection, request.sql)
    if others or request.with_capture_id:
        connections = [each.connection for each in (case, *others)]
        rows: query.Result = query.CombinedResult(connections, request.sql, request.limit, values)
    else:
        rows = select(case.connection, request.sql, request.limit, values)
    return Rows(rows, request.fmt, request.limit)
