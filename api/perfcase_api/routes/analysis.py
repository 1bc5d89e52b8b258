"""Every view, finding, report, flame graph, export, difference and history: the command line's answers, by the same names."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from perfcase.catalogue.schema import Table, load_tables
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views, parameters
from perfcase_api.asking import MEDIA, TableFormat, ask, only_options, option, rows_max, while_connected
from perfcase_api.catalogue import Row
from perfcase_api.errors import ApiError
from perfcase_api.readings import readings
from perfcase_api.routes.captures import CaptureId, labels_of
from perfcase_api.state import Here, Me, Server
from perfcase_api.who import Who

router = APIRouter(prefix="/v1/captures/{capture_id}", tags=["analysis"])
comparisons = APIRouter(prefix="/v1", tags=["analysis"])

Format = Annotated[TableFormat, Query(alias="format", description="json, csv, arrow (IPC stream) or parquet")]
Where = Annotated[
    str | None, Query(max_length=10_000, description="A condition in SQL on its columns.", examples=["comm = 'java'"])
]
Limit = Annotated[int, Query(ge=1, description="At most this many rows.")]
Event = Annotated[str | None, Query(max_length=200, description="The event whose samples count. Default: a clock.")]
Text = Annotated[str | None, Query(max_length=200)]
FlameFormat = Annotated[Literal["svg", "json"], Query(alias="format", description="A picture, or its tree as lists.")]
OffCpu = Annotated[bool, Query(description="Where threads left their CPUs, by the time that they stayed away.")]
Wakers = Annotated[
    bool, Query(description="With off_cpu: only sleeps; on each callchain stands the waker's, upside down.")
]
CaptureA = Annotated[str, Query(pattern="^[0-9a-f]{64}$", description="A capture.")]
CaptureB = Annotated[str | None, Query(pattern="^[0-9a-f]{64}$", description="Another; not needed with two windows.")]
Part = Annotated[str | None, Query(max_length=50, description="Only this time of it.", examples=["0s..10s"])]

ViewName = Annotated[str, Path(max_length=200, description="A view or table; GET /v1/schema lists them.")]


def _as(*kinds: str) -> dict:
    """For OpenAPI: as what an answer comes, the usual one first."""
    return {200: {"description": "What the command line prints.", "content": {MEDIA[kind]: {} for kind in kinds}}}


TABLE = _as("json", "csv", "arrow", "parquet")

Names = Annotated[list[str] | None, Query(max_length=20)]


def of_both(
    process: Annotated[Names, Query(description="Only processes of this name or pid.", examples=["java"])] = None,
    thread: Annotated[Names, Query(description="Only threads of this name or tid.", examples=["worker-*"])] = None,
    cpu: Annotated[Names, Query(description="Only what happened there.", examples=["0-3"])] = None,
    cgroup: Annotated[Names, Query(description="Only what is in this control group.", examples=["/web"])] = None,
) -> list[str]:
    """The part of each capture that is compared, as arguments; windows are each side's own."""
    return only_options(process=process, thread=thread, cpu=cpu, cgroup=cgroup)


OfBoth = Annotated[list[str], Depends(of_both)]


def part(
    others: OfBoth,
    window: Annotated[
        str | None, Query(max_length=50, description="Only this time of it.", examples=["10s..20s"])
    ] = None,
) -> list[str]:
    """The part of the capture that is asked about, as arguments."""
    return [*only_options(window=window), *others]


Only = Annotated[list[str], Depends(part)]

EXPORTS = {
    "folded": "text", "speedscope": "json", "firefox": "json", "pprof": "binary", "perfetto": "binary",
    "csv": "tar", "parquet": "tar",
}  # fmt: skip
Target = Literal["folded", "speedscope", "firefox", "pprof", "perfetto", "csv", "parquet"]
_CAPTURES_MAX = 1000
Ticket = Annotated[str, Query(max_length=200, description="Captures whose tickets begin with this.")]


@router.get("/views/{name}", responses=TABLE)
async def show_view(
    here: Here,
    me: Me,
    request: Request,
    capture_id: CaptureId,
    name: ViewName,
    only: Only,
    fmt: Format = "json",
    where: Where = None,
    order: Annotated[
        str | None, Query(max_length=1000, description="What to sort by, in SQL.", examples=["on_cpu_ns DESC"])
    ] = None,
    settings: Annotated[
        list[str] | None, Query(alias="set", max_length=20, description="A parameter: interval_ns=100000000.")
    ] = None,
    limit: Limit = 1000,
    offset: Annotated[int, Query(ge=0, le=1 << 40, description="Leave out the first of them.")] = 0,
) -> Response:
    """A view or table; GET /v1/schema lists them."""
    if not name.isidentifier():
        raise ApiError("not_found", "there is no such view", "GET /v1/schema lists them")
    arguments = [name, "{0}", *only, *option("where", where), *option("order", order)]
    arguments += [*option("offset", offset or None), *option("limit", rows_max(here, limit))]
    for setting in settings or ():
        arguments += option("set", setting)
    row = here.ready(me, capture_id)
    return await ask(here, me, request, [row], "view", [*arguments, *option("format", fmt)], MEDIA[fmt])


@router.get("/findings", responses=TABLE)
async def show_findings(
    here: Here,
    me: Me,
    request: Request,
    capture_id: CaptureId,
    only: Only,
    rules: Annotated[bool, Query(description="Every rule instead: whether it could be judged, else why not.")] = False,
    limit: Limit = 1000,
    fmt: Format = "json",
) -> Response:
    """What is wrong: every rule that fired, most severe first."""
    arguments = ["{0}", *only, *option("rules", rules), *option("limit", rows_max(here, limit)), *option("format", fmt)]
    return await ask(here, me, request, [here.ready(me, capture_id)], "findings", arguments, MEDIA[fmt])


@router.get("/info", responses=_as("json"))
async def show_info(here: Here, me: Me, request: Request, capture_id: CaptureId) -> Response:
    """What the capture is: host, kernel, command; its sources, what each lost, what is missing and how to record it."""
    return await ask(here, me, request, [here.ready(me, capture_id)], "info", ["{0}", "--json"], MEDIA["json"])


@router.get("/report", responses=_as("text"))
async def show_report(here: Here, me: Me, request: Request, capture_id: CaptureId, only: Only) -> Response:
    """The first five minutes of an investigation, as text."""
    return await ask(here, me, request, [here.ready(me, capture_id)], "report", ["{0}", *only], MEDIA["text"])


@router.get("/flamegraph", responses=_as("svg", "json"))
async def show_flame_graph(
    here: Here,
    me: Me,
    request: Request,
    capture_id: CaptureId,
    only: Only,
    event: Event = None,
    off_cpu: OffCpu = False,
    wakers: Wakers = False,
    where: Where = None,
    fmt: FlameFormat = "svg",
) -> Response:
    """A flame graph as SVG, or as a tree in JSON."""
    given = {"event": event, "off-cpu": off_cpu, "wakers": wakers, "where": where, "format": fmt}
    arguments = ["{0}", *only, "--output=-", *(word for name, value in given.items() for word in option(name, value))]
    return await ask(here, me, request, [here.ready(me, capture_id)], "flamegraph", arguments, MEDIA[fmt])


@router.get("/summary", responses=_as("md", "html"))
async def show_summary(
    here: Here,
    me: Me,
    request: Request,
    capture_id: CaptureId,
    only: Only,
    to: Annotated[
        Literal["html", "md"], Query(description="An HTML page that needs nothing else, or Markdown.")
    ] = "md",
) -> Response:
    """One page for the ticket: findings, the report's tables, flame graphs, how far to trust it; to be kept as a file."""
    arguments = ["{0}", *only, "--output=-", *option("to", to)]
    answer = await ask(here, me, request, [here.ready(me, capture_id)], "summary", arguments, MEDIA[to])
    answer.headers["Content-Disposition"] = f'attachment; filename="summary.{to}"'
    return answer


@router.get("/export", responses=_as("json", "text", "binary", "tar"))
async def export(
    here: Here,
    me: Me,
    request: Request,
    capture_id: CaptureId,
    to: Annotated[
        Target,
        Query(description="folded, speedscope, firefox, pprof, perfetto; csv and parquet: a tar of tables and views."),
    ],
    only: Only,
    event: Event = None,
    where: Where = None,
    view: Annotated[
        list[str] | None,
        Query(max_length=1000, description="csv and parquet: only this view or table.", examples=["thread"]),
    ] = None,
) -> Response:
    """The capture for another tool, or its tables and views as files: ``curl … | tar x``."""
    arguments = ["{0}", *only, *option("to", to), *option("event", event), *option("where", where)]
    for name in view or ():
        arguments += option("view", name)
    if to in ("csv", "parquet"):
        arguments.append("--output=-")
    return await ask(here, me, request, [here.ready(me, capture_id)], "export", arguments, MEDIA[EXPORTS[to]])


@comparisons.get("/diff", responses=TABLE)
async def diff(
    here: Here,
    me: Me,
    request: Request,
    a: CaptureA,
    only: OfBoth,
    b: CaptureB = None,
    a_window: Part = None,
    b_window: Part = None,
    view: Annotated[Text, Query(description="Only this view.", examples=["thread_time"])] = None,
    per: Annotated[
        Text, Query(description="Divide by how often this event came: counts of both sides become those of one.")
    ] = None,
    callers: Annotated[Text, Query(description="Who calls this function, on either side.")] = None,
    event: Event = None,
    off_cpu: Annotated[bool, Query(description="For callers: time off the CPU, not samples.")] = False,
    baseline: Annotated[
        str | None,
        Query(
            max_length=1000,
            description="Instead of another capture the median of these, chosen as history does; empty: all in scope.",
            examples=["host=web-*,before=2026-01-05"],
        ),
    ] = None,
    ticket: Ticket = "",
    limit: Limit = 20,
    fmt: Format = "json",
) -> Response:
    """What differs between two captures, two parts of one, or one and what is usual: what changed most comes first."""
    rows = [here.ready(me, capture_id) for capture_id in (a, b) if capture_id]
    arguments = [f"{{{number}}}" for number in range(len(rows))]
    if baseline is not None:
        first = len(rows)
        rows += _ready_ones(here, me, ticket)
        arguments.append(f"--baseline=:{baseline}")
        arguments += [word for number in range(first, len(rows)) for word in ("--also", f"{{{number}}}")]
    given = {"a": a_window, "b": b_window, "view": view, "per": per, "callers": callers, "event": event, "limit": limit}
    given["off-cpu"] = off_cpu
    arguments += only
    for name, value in given.items():
        arguments += option(name, value)
    return await ask(here, me, request, rows, "diff", [*arguments, *option("format", fmt)], MEDIA[fmt])


@comparisons.get("/diff/flamegraph", responses=_as("svg", "json"))
async def diff_flame_graph(
    here: Here,
    me: Me,
    request: Request,
    a: CaptureA,
    only: OfBoth,
    b: CaptureB = None,
    a_window: Part = None,
    b_window: Part = None,
    event: Event = None,
    off_cpu: OffCpu = False,
    wakers: Wakers = False,
    fmt: FlameFormat = "svg",
) -> Response:
    """The flame graph of the second, coloured by the difference from the first: SVG, or the tree of both in JSON."""
    rows = [here.ready(me, capture_id) for capture_id in (a, b) if capture_id]
    arguments = [f"{{{number}}}" for number in range(len(rows))]
    for name, value in {"a": a_window, "b": b_window, "event": event, "off-cpu": off_cpu, "wakers": wakers}.items():
        arguments += option(name, value)
    arguments += [*only, "--flamegraph=-", *option("format", "json" if fmt == "json" else None)]
    return await ask(here, me, request, rows, "diff", arguments, MEDIA[fmt])


@comparisons.get("/history", responses=TABLE)
async def history(
    here: Here,
    me: Me,
    request: Request,
    view: Annotated[Text, Query(description="The view that has the figure; none: the captures.")] = None,
    measure: Annotated[Text, Query(description="The figure: a column of the view.", examples=["on_cpu_ns"])] = None,
    where: Where = None,
    agg: Annotated[
        Literal["sum", "level", "mean", "max", "min", "median", "count"] | None,
        Query(description="How a capture's rows become one figure. Default: as the view's header says."),
    ] = None,
    by: Annotated[
        Literal["time", "host", "ticket", "label"], Query(description="In which order, and by what grouped.")
    ] = "time",
    only: Annotated[Text, Query(description="Only these captures.", examples=["host=web-*,after=2026-01-05"])] = None,
    baseline: Annotated[
        Text,
        Query(description="What the others are held against: captures, chosen as with only.", examples=["label=good"]),
    ] = None,
    bands: Annotated[bool, Query(description="Whether the figure lies in two bands, and who is in which.")] = False,
    ticket: Ticket = "",
    limit: Limit = 1000,
    fmt: Format = "json",
) -> Response:
    """One figure over all captures in scope, in the order of time; without a view, the captures."""
    rows = _ready_ones(here, me, ticket)
    arguments = [f"{{{number}}}" for number in range(len(rows))]
    # Ticket and labels may have changed since they were recorded.
    for row in rows:
        arguments += option("filed", json.dumps([row["ticket"], labels_of(here, row["capture_id"])]))
    question = [*option("view", view), *option("measure", measure), *option("agg", agg)]
    if view and (measure or agg) and where is None:
        # Those that are left out need not be asked.
        known = await while_connected(request, readings(here, me, rows, question, only_kept=only is not None))
        arguments += option("known", json.dumps(known))
    given = {
        "where": where, "by": by, "only": only, "baseline": baseline, "bands": bands, "limit": rows_max(here, limit),
    }  # fmt: skip
    arguments += question
    for name, value in given.items():
        arguments += option(name, value)
    return await ask(here, me, request, rows, "history", [*arguments, *option("format", fmt)], MEDIA[fmt])


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


@comparisons.get("/schema")
def schema(_here: Here, _me: Me) -> dict[str, list[dict]]:
    """All tables and views with their columns, units and what they mean, and the parameters of views."""
    views = load_views()
    return {
        "views": [{**_described(view), "parameters": sorted(parameters(views, name))} for name, view in views.items()],
        "tables": list(map(_described, load_tables().values())),
    }


@comparisons.get("/schema/{name}")
def schema_of(_here: Here, _me: Me, name: ViewName) -> dict:
    """One table or view, with the view's SQL."""
    views, tables = load_views(), load_tables()
    if name in views:
        view = views[name]
        return {**_described(view), "parameters": sorted(parameters(views, name)), "sql": view.sql}
    if name in tables:
        return _described(tables[name])
    raise ApiError("not_found", f"there is no view or table {name}", "GET /v1/schema lists them")


def _described(entry: View | Table) -> dict:
    return {
        "name": entry.name,
        "group": entry.group,
        "description": entry.description,
        "columns": [{"name": c.name, "unit": c.unit, "description": c.description} for c in entry.columns],
    }
