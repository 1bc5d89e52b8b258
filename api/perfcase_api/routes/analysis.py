"""Routes of the operations: views, findings, reports, flame graphs, exports, diffs and histories, with the fields of their requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, Field

from perfcase.case.window import changed_by
from perfcase.catalogue.charts import Chart, charts
from perfcase.catalogue.plot import Histogram, Intervals, plan
from perfcase.catalogue.schema import Table, load_tables
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views, parameters
from perfcase.export.formats import formats
from perfcase.operations import (
    annotate,
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
from perfcase_api import responses
from perfcase_api.asking import MEDIA, Question, ask, rows_max, while_connected
from perfcase_api.catalogue import Row
from perfcase_api.errors import ApiError
from perfcase_api.parameters import query_of
from perfcase_api.readings import readings
from perfcase_api.routes.captures import CaptureId, labels_by_capture
from perfcase_api.state import Here, Me, Server
from perfcase_api.who import Who

router = APIRouter(prefix="/v1/captures/{capture_id}", tags=["analysis"])
comparisons = APIRouter(prefix="/v1", tags=["analysis"])

CaptureA = Annotated[str, Query(pattern="^[0-9a-f]{64}$", description="A capture.")]
CaptureB = Annotated[
    str | None, Query(pattern="^[0-9a-f]{64}$", description="The other capture. Not needed with two windows.")
]
ViewName = Annotated[str, Path(max_length=200, description="A view or table; GET /v1/schema lists them.")]
Ticket = Annotated[str, Query(max_length=200, description="Use captures whose tickets begin with this.")]
Only = Annotated[Part, Depends(query_of(Part))]
OnlyOfBoth = Annotated[Threads, Depends(query_of(Threads))]


_CAPTURES_MAX = 1000


@router.get("/views/{name}", response_class=Response, responses=responses.counted(responses.by_column()))
async def show_view(
    here: Here,
    me: Me,
    http: Request,
    capture_id: CaptureId,
    request: Annotated[view.Request, Depends(query_of(view.Request, path=["name"]))],
    only: Only,
) -> Response:
    """Return the rows of a view or table. GET /v1/schema lists them."""
    if not request.name.isidentifier():
        raise ApiError("not_found", "there is no such view", "GET /v1/schema lists them")
    rows_max(here, request.limit)
    here.ready(me, capture_id)
    return await ask(here, me, http, Question(request, [capture_id], only=only.conditions()), MEDIA[request.fmt])


@router.get(
    "/findings",
    response_class=Response,
    responses=responses.table(responses.rows_of_view("finding", "finding_coverage")),
)
async def show_findings(
    here: Here,
    me: Me,
    http: Request,
    capture_id: CaptureId,
    request: Annotated[findings.Request, Depends(query_of(findings.Request))],
    only: Only,
) -> Response:
    """Say what is wrong: every rule that fired, the most severe first."""
    rows_max(here, request.limit)
    here.ready(me, capture_id)
    return await ask(here, me, http, Question(request, [capture_id], only=only.conditions()), MEDIA[request.fmt])


@router.get("/info", response_class=Response, responses=responses.answers("json", json=responses.info()))
async def show_info(here: Here, me: Me, http: Request, capture_id: CaptureId) -> Response:
    """Describe the capture: host, kernel, command, sources, what each lost, what is missing and how to record it."""
    here.ready(me, capture_id)
    return await ask(here, me, http, Question(info.Request(), [capture_id]), MEDIA["json"])


@router.get("/report", response_class=Response, responses=responses.answers("text", "json", json=responses.report()))
async def show_report(
    here: Here,
    me: Me,
    http: Request,
    capture_id: CaptureId,
    request: Annotated[report.Request, Depends(query_of(report.Request))],
    only: Only,
) -> Response:
    """Write the first five minutes of an investigation, as text, or as JSON with sections, tables and links."""
    here.ready(me, capture_id)
    return await ask(here, me, http, Question(request, [capture_id], only=only.conditions()), MEDIA[request.fmt])


@router.get(
    "/flamegraph", response_class=Response, responses=responses.answers("svg", "json", json=responses.flame_graph())
)
async def show_flame_graph(
    here: Here,
    me: Me,
    http: Request,
    capture_id: CaptureId,
    request: Annotated[flamegraph.Request, Depends(query_of(flamegraph.Request))],
    only: Only,
) -> Response:
    """Draw a flame graph as SVG, or return its tree as JSON, functions of it, or the callers and callees of one."""
    here.ready(me, capture_id)
    return await ask(here, me, http, Question(request, [capture_id], only=only.conditions()), MEDIA[request.fmt])


@router.get("/annotate", response_class=Response, responses=responses.table(responses.annotated()))
async def annotate_(
    here: Here,
    me: Me,
    http: Request,
    capture_id: CaptureId,
    request: Annotated[annotate.Request, Depends(query_of(annotate.Request))],
    only: Only,
) -> Response:
    """Count the samples of a function by instruction, with source lines, in the order of addresses; or list the objects that have it."""
    rows_max(here, request.limit)
    here.ready(me, capture_id)
    return await ask(here, me, http, Question(request, [capture_id], only=only.conditions()), MEDIA[request.fmt])


@router.get("/summary", response_class=Response, responses=responses.answers("md", "html"))
async def show_summary(
    here: Here,
    me: Me,
    http: Request,
    capture_id: CaptureId,
    request: Annotated[summary.Request, Depends(query_of(summary.Request, to=summary.USUAL))],
    only: Only,
) -> Response:
    """Write one page for the ticket, as a file: notes, findings, the tables of the report, flame graphs, how far to trust it."""
    here.ready(me, capture_id)
    written = here.catalogue.rows(
        "SELECT author, written_ns, text, start_ns, end_ns, finding FROM note WHERE capture_id = ? ORDER BY note_id",
        (capture_id,),
    )
    request = replace(request, notes=tuple(map(tuple, written)))
    form = request.to or summary.USUAL
    answer = await ask(here, me, http, Question(request, [capture_id], only=only.conditions()), MEDIA[form])
    answer.headers["Content-Disposition"] = f'attachment; filename="summary.{form}"'
    return answer


@router.get("/export", response_class=Response, responses=responses.answers("text", "json", "binary", "tar"))
async def export_(
    here: Here,
    me: Me,
    http: Request,
    capture_id: CaptureId,
    request: Annotated[export.Request, Depends(query_of(export.Request))],
    only: Only,
) -> Response:
    """Write the capture for another tool, or its tables and views as files: ``curl … | tar x``."""
    here.ready(me, capture_id)
    return await ask(
        here, me, http, Question(request, [capture_id], only=only.conditions()), MEDIA[export.media(request.to)]
    )


@comparisons.get("/diff", response_class=Response, responses=responses.table(responses.diff()))
async def diff_(
    here: Here,
    me: Me,
    http: Request,
    a: CaptureA,
    request: Annotated[diff.Request, Depends(query_of(diff.Request, without=["baseline"]))],
    only: OnlyOfBoth,
    b: CaptureB = None,
    baseline: Annotated[
        str | None,
        Query(
            max_length=1000,
            description="Compare with the median of these captures instead of another one. The selector is that of history; empty: all in scope.",
            examples=["host=web-*,before=2026-01-05"],
        ),
    ] = None,
    ticket: Ticket = "",
) -> Response:
    """Compare two captures, two parts of one, or one with a baseline. The largest change comes first. FILE is a, OTHER is b."""
    sides = _sides(here, me, a, b)
    stores: list[str] = []
    if baseline is not None:
        # As on the command line: the selector applies to all the captures of the request.
        request = replace(request, baseline=f":{baseline}")
        stores = [row["capture_id"] for row in _ready_ones(here, me, ticket)]
    request.check(has_other=b is not None, is_part=bool(only.conditions()), has_stores=bool(stores))
    return await ask(here, me, http, Question(request, sides, stores, only.conditions()), MEDIA[request.fmt])


@comparisons.get(
    "/diff/flamegraph",
    response_class=Response,
    responses=responses.answers("svg", "json", json=responses.flame_graph(of_both=True)),
)
async def diff_flame_graph(
    here: Here,
    me: Me,
    http: Request,
    a: CaptureA,
    request: Annotated[diff_flamegraph.Request, Depends(query_of(diff_flamegraph.Request, without=["per"]))],
    only: OnlyOfBoth,
    b: CaptureB = None,
) -> Response:
    """Draw the flame graph of b, coloured by the difference from a: SVG, or the tree of both as JSON."""
    question = Question(request, _sides(here, me, a, b), only=only.conditions())
    return await ask(here, me, http, question, MEDIA[request.fmt])


@comparisons.get("/history", response_class=Response, responses=responses.table(responses.history()))
async def history_(
    here: Here,
    me: Me,
    http: Request,
    request: Annotated[history.Request, Depends(query_of(history.Request))],
    ticket: Ticket = "",
) -> Response:
    """Follow one figure over all captures in scope, ordered by time. Without a view, list the captures."""
    rows = _ready_ones(here, me, ticket)
    rows_max(here, request.limit)
    # Ticket and labels may have changed since they were recorded.
    labels = labels_by_capture(here)
    request = replace(request, filed=tuple((row["ticket"], tuple(labels[row["capture_id"]])) for row in rows))
    if request.view and (request.measure or request.agg) and request.where is None:
        figure = reading.Request(view=request.view, measure=request.measure, agg=request.agg)
        # Figures of captures outside the selection are not computed.
        known = await while_connected(http, readings(here, me, rows, figure, only_kept=request.only is not None))
        request = replace(request, known=tuple(known))
    return await ask(here, me, http, Question(request, [], [row["capture_id"] for row in rows]), MEDIA[request.fmt])


def _sides(here: Server, me: Who, a: str, b: str | None) -> Sequence[str]:
    """Return the captures to compare, which must be ready."""
    return [here.ready(me, capture_id)["capture_id"] for capture_id in (a, b) if capture_id]


def _ready_ones(here: Server, me: Who, ticket: str) -> list[Row]:
    """Return the imported captures in scope whose tickets begin with this."""
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

    parameters: list[str] = Field(description="The names for set.")
    changed_by: list[str] = Field(
        description="Which of process, thread, cpu and cgroup change its rows: what is counted of the whole host stays the same."
    )
    plot: Histogram | Intervals | None = Field(
        description="How it is drawn: as a histogram, or over time. Rows are moments if length is null. null: as numbers."
    )
    charts: list[Chart] = Field(description="The charts of the page that show it.")


class ViewInFull(ViewEntry):
    """A view with its SQL."""

    sql: str


class ExportEntry(BaseModel):
    """A format of samples for other tools."""

    name: str = Field(examples=["folded"])
    readers: str = Field(description="The tools that read it.", examples=["flamegraph.pl, inferno"])
    suffix: str = Field(description="The suffix of a file's name.", examples=["folded"])


class Schema(BaseModel):
    """All views and tables, and the formats of GET /v1/captures/{capture_id}/export for samples."""

    views: list[ViewEntry]
    tables: list[TableEntry]
    exports: list[ExportEntry]


@comparisons.get("/schema")
def schema(_here: Here, _me: Me) -> Schema:
    """List all tables and views with their columns, units and descriptions; of views also the parameters and how they are drawn."""
    return Schema(
        views=[ViewEntry(**_described_view(view)) for view in load_views().values()],
        tables=[TableEntry(**_described(table)) for table in load_tables().values()],
        exports=[ExportEntry(name=each.name, readers=each.readers, suffix=each.suffix) for each in formats().values()],
    )


@comparisons.get("/schema/{name}")
def schema_of(_here: Here, _me: Me, name: ViewName) -> ViewInFull | TableEntry:
    """Describe one table or view, with the SQL of the view."""
    views, tables = load_views(), load_tables()
    if name in views:
        return ViewInFull(**_described_view(views[name]), sql=views[name].sql)
    if name in tables:
        return TableEntry(**_described(tables[name]))
    raise ApiError("not_found", f"there is no view or table {name}", "GET /v1/schema lists them")


def _described_view(entry: View) -> dict[str, Any]:
    return {
        **_described(entry),
        "parameters": sorted(parameters(load_views(), entry.name)),
        "changed_by": changed_by(entry.name),
        "plot": plan(entry),
        "charts": charts(entry),
    }


def _described(entry: View | Table) -> dict[str, Any]:
    return {
        "name": entry.name,
        "group": entry.group,
        "description": entry.description,
        "columns": [Column(name=c.name, unit=c.unit, description=c.description) for c in entry.columns],
    }
