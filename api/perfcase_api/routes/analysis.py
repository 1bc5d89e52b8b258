"""Every view, finding, report, flame graph, export, difference and history: an operation a route, with the request's own fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, Field

from perfcase.catalogue.schema import Table, load_tables
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views, parameters
from perfcase.operations import (
    diff,
    diff_flamegraph,
    export,
    findings,
    flamegraph,
    history,
    info,
    reading,
    report,
    summary,
    view,
)
from perfcase.operations.fields import Part, Threads
from perfcase_api import described
from perfcase_api.asked import query_of
from perfcase_api.asking import MEDIA, Question, ask, rows_max, while_connected
from perfcase_api.catalogue import Row
from perfcase_api.errors import ApiError
from perfcase_api.readings import readings
from perfcase_api.routes.captures import CaptureId, labels_of
from perfcase_api.state import Here, Me, Server
from perfcase_api.who import Who

router = APIRouter(prefix="/v1/captures/{capture_id}", tags=["analysis"])
comparisons = APIRouter(prefix="/v1", tags=["analysis"])

CaptureA = Annotated[str, Query(pattern="^[0-9a-f]{64}$", description="A capture.")]
CaptureB = Annotated[str | None, Query(pattern="^[0-9a-f]{64}$", description="Another; not needed with two windows.")]
ViewName = Annotated[str, Path(max_length=200, description="A view or table; GET /v1/schema lists them.")]
Ticket = Annotated[str, Query(max_length=200, description="Captures whose tickets begin with this.")]
Only = Annotated[Part, Depends(query_of(Part))]
OnlyOfBoth = Annotated[Threads, Depends(query_of(Threads))]


EXPORTS = {
    "folded": "text", "speedscope": "json", "firefox": "json", "pprof": "binary", "perfetto": "binary",
    "csv": "tar", "parquet": "tar",
}  # fmt: skip
_CAPTURES_MAX = 1000


@router.get("/views/{name}", response_class=Response, responses=described.table())
async def show_view(
    here: Here,
    me: Me,
    http: Request,
    capture_id: CaptureId,
    asked: Annotated[view.Request, Depends(query_of(view.Request, path=["name"]))],
    only: Only,
) -> Response:
    """A view or table; GET /v1/schema lists them."""
    if not asked.name.isidentifier():
        raise ApiError("not_found", "there is no such view", "GET /v1/schema lists them")
    rows_max(here, asked.limit)
    here.ready(me, capture_id)
    return await ask(here, me, http, Question(asked, [capture_id], only=only.conditions()), MEDIA[asked.fmt])


@router.get(
    "/findings",
    response_class=Response,
    responses=described.table(described.rows_of_view("finding", "finding_coverage")),
)
async def show_findings(
    here: Here,
    me: Me,
    http: Request,
    capture_id: CaptureId,
    asked: Annotated[findings.Request, Depends(query_of(findings.Request))],
    only: Only,
) -> Response:
    """What is wrong: every rule that fired, most severe first."""
    rows_max(here, asked.limit)
    here.ready(me, capture_id)
    return await ask(here, me, http, Question(asked, [capture_id], only=only.conditions()), MEDIA[asked.fmt])


@router.get("/info", response_class=Response, responses=described.answers("json", json=described.info()))
async def show_info(here: Here, me: Me, http: Request, capture_id: CaptureId) -> Response:
    """What the capture is: host, kernel, command; its sources, what each lost, what is missing and how to record it."""
    here.ready(me, capture_id)
    return await ask(here, me, http, Question(info.Request(), [capture_id]), MEDIA["json"])


@router.get("/report", response_class=Response, responses=described.answers("text"))
async def show_report(here: Here, me: Me, http: Request, capture_id: CaptureId, only: Only) -> Response:
    """The first five minutes of an investigation, as text."""
    here.ready(me, capture_id)
    question = Question(report.Request(), [capture_id], only=only.conditions())
    return await ask(here, me, http, question, MEDIA["text"])


@router.get("/flamegraph", response_class=Response, responses=described.answers("svg", "json", json=described.tree()))
async def show_flame_graph(
    here: Here,
    me: Me,
    http: Request,
    capture_id: CaptureId,
    asked: Annotated[flamegraph.Request, Depends(query_of(flamegraph.Request))],
    only: Only,
) -> Response:
    """A flame graph as SVG, or as a tree in JSON."""
    here.ready(me, capture_id)
    return await ask(here, me, http, Question(asked, [capture_id], only=only.conditions()), MEDIA[asked.fmt])


@router.get("/summary", response_class=Response, responses=described.answers("md", "html"))
async def show_summary(
    here: Here,
    me: Me,
    http: Request,
    capture_id: CaptureId,
    asked: Annotated[summary.Request, Depends(query_of(summary.Request, to=summary.USUAL))],
    only: Only,
) -> Response:
    """One page for the ticket: findings, the report's tables, flame graphs, how far to trust it; to be kept as a file."""
    here.ready(me, capture_id)
    form = asked.to or summary.USUAL
    answer = await ask(here, me, http, Question(asked, [capture_id], only=only.conditions()), MEDIA[form])
    answer.headers["Content-Disposition"] = f'attachment; filename="summary.{form}"'
    return answer


@router.get("/export", response_class=Response, responses=described.answers("text", "json", "binary", "tar"))
async def export_(
    here: Here,
    me: Me,
    http: Request,
    capture_id: CaptureId,
    asked: Annotated[export.Request, Depends(query_of(export.Request))],
    only: Only,
) -> Response:
    """The capture for another tool, or its tables and views as files: ``curl … | tar x``."""
    here.ready(me, capture_id)
    return await ask(here, me, http, Question(asked, [capture_id], only=only.conditions()), MEDIA[EXPORTS[asked.to]])


@comparisons.get("/diff", response_class=Response, responses=described.table(described.diff()))
async def diff_(
    here: Here,
    me: Me,
    http: Request,
    a: CaptureA,
    asked: Annotated[diff.Request, Depends(query_of(diff.Request, without=["baseline"]))],
    only: OnlyOfBoth,
    b: CaptureB = None,
    baseline: Annotated[
        str | None,
        Query(
            max_length=1000,
            description="Instead of another capture the median of these, chosen as history does; empty: all in scope.",
            examples=["host=web-*,before=2026-01-05"],
        ),
    ] = None,
    ticket: Ticket = "",
) -> Response:
    """What differs between two captures, two parts of one, or one and what is usual: what changed most comes first. FILE is a,
    OTHER is b."""
    sides = _sides(here, me, a, b)
    stores: list[str] = []
    if baseline is not None:
        # As the command line writes it: of all the captures that are named.
        asked = replace(asked, baseline=f":{baseline}")
        stores = [row["capture_id"] for row in _ready_ones(here, me, ticket)]
    asked.check(has_other=b is not None, is_part=bool(only.conditions()), has_stores=bool(stores))
    return await ask(here, me, http, Question(asked, sides, stores, only.conditions()), MEDIA[asked.fmt])


@comparisons.get(
    "/diff/flamegraph",
    response_class=Response,
    responses=described.answers("svg", "json", json=described.tree("base", "base_self")),
)
async def diff_flame_graph(
    here: Here,
    me: Me,
    http: Request,
    a: CaptureA,
    asked: Annotated[diff_flamegraph.Request, Depends(query_of(diff_flamegraph.Request, without=["per"]))],
    only: OnlyOfBoth,
    b: CaptureB = None,
) -> Response:
    """The flame graph of the second, coloured by the difference from the first: SVG, or the tree of both in JSON."""
    question = Question(asked, _sides(here, me, a, b), only=only.conditions())
    return await ask(here, me, http, question, MEDIA[asked.fmt])


@comparisons.get("/history", response_class=Response, responses=described.table(described.history()))
async def history_(
    here: Here,
    me: Me,
    http: Request,
    asked: Annotated[history.Request, Depends(query_of(history.Request))],
    ticket: Ticket = "",
) -> Response:
    """One figure over all captures in scope, in the order of time; without a view, the captures."""
    rows = _ready_ones(here, me, ticket)
    rows_max(here, asked.limit)
    # Ticket and labels may have changed since they were recorded.
    asked = replace(asked, filed=tuple((row["ticket"], tuple(labels_of(here, row["capture_id"]))) for row in rows))
    if asked.view and (asked.measure or asked.agg) and asked.where is None:
        figure = reading.Request(view=asked.view, measure=asked.measure, agg=asked.agg)
        # Those that are left out need not be asked.
        known = await while_connected(http, readings(here, me, rows, figure, only_kept=asked.only is not None))
        asked = replace(asked, known=tuple(known))
    return await ask(here, me, http, Question(asked, [], [row["capture_id"] for row in rows]), MEDIA[asked.fmt])


def _sides(here: Server, me: Who, a: str, b: str | None) -> Sequence[str]:
    """The captures that are compared, which are ready."""
    return [here.ready(me, capture_id)["capture_id"] for capture_id in (a, b) if capture_id]


def _ready_ones(here: Server, me: Who, ticket: str) -> list[Row]:
    """The imported captures in scope whose tickets begin so."""
    rows = [
        row
        for row in here.catalogue.rows("SELECT * FROM capture WHERE state = 'ready' ORDER BY capture_id")
        if me.sees(row["ticket"]) and row["ticket"].startswith(ticket)
    ]
    if not rows:
        raise ApiError("not_found", "there is no capture", "POST /v1/uploads")
    if len(rows) > _CAPTURES_MAX:
        raise ApiError("too_large", f"{len(rows):,} captures; at most {_CAPTURES_MAX:,}", "say which, with ticket")
    return rows


class Column(BaseModel):
    """A column."""

    name: str
    unit: str | None = Field(examples=["ns"])
    description: str


class TableEntry(BaseModel):
    """A table, or a view."""

    name: str = Field(examples=["thread_time"])
    group: str
    description: str
    columns: list[Column]


class ViewEntry(TableEntry):
    """A view."""

    parameters: list[str] = Field(description="What set takes.")


class ViewInFull(ViewEntry):
    """A view with its SQL."""

    sql: str


class Schema(BaseModel):
    """All that can be asked for."""

    views: list[ViewEntry]
    tables: list[TableEntry]


@comparisons.get("/schema")
def schema(_here: Here, _me: Me) -> Schema:
    """All tables and views with their columns, units and what they mean, and the parameters of views."""
    views = load_views()
    return Schema(
        views=[
            ViewEntry(**_described(view), parameters=sorted(parameters(views, name))) for name, view in views.items()
        ],
        tables=[TableEntry(**_described(table)) for table in load_tables().values()],
    )


@comparisons.get("/schema/{name}")
def schema_of(_here: Here, _me: Me, name: ViewName) -> ViewInFull | TableEntry:
    """One table or view, with the view's SQL."""
    views, tables = load_views(), load_tables()
    if name in views:
        view = views[name]
        return ViewInFull(**_described(view), parameters=sorted(parameters(views, name)), sql=view.sql)
    if name in tables:
        return TableEntry(**_described(tables[name]))
    raise ApiError("not_found", f"there is no view or table {name}", "GET /v1/schema lists them")


def _described(entry: View | Table) -> dict[str, Any]:
    return {
        "name": entry.name,
        "group": entry.group,
        "description": entry.description,
        "columns": [Column(name=c.name, unit=c.unit, description=c.description) for c in entry.columns],
    }
