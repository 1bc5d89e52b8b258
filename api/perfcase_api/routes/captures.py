"""Routes of captures: list, search, describe, label, download, delete."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field

from perfcase.catalogue.rules import SEVERITIES
from perfcase_api.catalogue import Row
from perfcase_api.errors import ApiError
from perfcase_api.responses import answers
from perfcase_api.state import Here, Me, Server
from perfcase_api.uploads import LABEL_MAX, LABELS_MAX, clean_ticket
from perfcase_api.who import Who

router = APIRouter(prefix="/v1/captures", tags=["captures"])

Severity = Literal[SEVERITIES]

CaptureId = Annotated[
    str,
    Path(pattern="^[0-9a-f]{64}$", description="The id of a capture: a hash of the file and its scope."),
]

AtMost = Annotated[int, Query(ge=1, le=1000, description="Return at most this many.")]
After = Annotated[int, Query(ge=0, lt=1 << 62, description="Skip this many first.")]


class Capture(BaseModel):
    """A capture in the catalogue."""

    capture_id: str
    name: str = Field(examples=["incident.perfcase"])
    size_bytes: int
    ticket: str = Field(examples=["OPS-123"])
    state: Literal["uploaded", "importing", "ready", "failed"]
    reason: str | None = Field(description="why the import failed")
    damage: str | None = Field(description="what the check of the file found")
    uploaded_ns: int = Field(description="ns since 1970")
    host: str | None
    kernel: str | None
    started_ns: int | None = Field(description="when the recording began, ns since 1970")
    duration_ns: int | None
    remark: str | None = Field(description="the note of the recorder's user")
    labels: list[str]
    findings: dict[Severity, int] = Field(
        description="the number of findings for each severity", examples=[{"critical": 1}]
    )


class Page(BaseModel):
    """Some of the captures, the latest recording first."""

    captures: list[Capture]
    total: int


Label = Annotated[str, Field(min_length=1, max_length=LABEL_MAX)]


class Change(BaseModel):
    """The changes to a capture."""

    ticket: str | None = Field(None, max_length=200)
    labels: list[Label] | None = Field(None, max_length=LABELS_MAX)


_SORTS = {
    "started": "coalesce(c.started_ns, c.uploaded_ns)", "name": "lower(c.name)", "ticket": "c.ticket", "host": "c.host",
    "duration": "c.duration_ns", "size": "c.size_bytes",
    "findings": "(SELECT sum(CASE f.severity WHEN 'critical' THEN 1000000 WHEN 'warning' THEN 1000 ELSE 1 END)"
    " FROM finding AS f WHERE f.capture_id = c.capture_id)",
}  # fmt: skip


@router.get("")
def list_captures(
    here: Here,
    me: Me,
    ticket: Annotated[str | None, Query(description="Only tickets that begin with this.")] = None,
    host: Annotated[str | None, Query(description="Only these hosts; * matches anything.", examples=["web-*"])] = None,
    after_ns: Annotated[
        int | None, Query(ge=-(1 << 63), lt=1 << 63, description="Recorded at this time or later, ns since 1970.")
    ] = None,
    before_ns: Annotated[
        int | None, Query(ge=-(1 << 63), lt=1 << 63, description="Recorded before this time, ns since 1970.")
    ] = None,
    label: Annotated[str | None, Query(description="Only captures with this label.", examples=["canary"])] = None,
    finding: Annotated[
        str | None, Query(description="Only captures in which this rule fired.", examples=["lock_convoy"])
    ] = None,
    text: Annotated[
        str | None, Query(description="Search for this text in name, host, ticket, remark and notes.")
    ] = None,
    limit: AtMost = 100,
    offset: After = 0,
    sort: Annotated[
        str, Query(pattern=f"^-?({'|'.join(_SORTS)})$", description="Sort by this; with - the largest or latest first.")
    ] = "-started",
) -> Page:
    """List the captures in scope. Default order: the latest recording first."""
    direction = "DESC" if sort.startswith("-") else "ASC"
    conditions = {
        "substr(c.ticket, 1, length(:scope)) = :scope": me.ticket_prefix,
        "substr(c.ticket, 1, length(:ticket)) = :ticket": ticket,
        "c.host GLOB :host": host,
        "c.started_ns >= :after": after_ns,
        "c.started_ns < :before": before_ns,
        "EXISTS (SELECT 1 FROM label AS l WHERE l.capture_id = c.capture_id AND l.label = :label)": label,
        "EXISTS (SELECT 1 FROM finding AS f WHERE f.capture_id = c.capture_id AND f.finding = :finding)": finding,
        "(instr(lower(c.name || char(10) || coalesce(c.host, '') || char(10) || c.ticket || char(10) || coalesce(c.remark, '')),"
        " lower(:text)) > 0 OR EXISTS (SELECT 1 FROM note"
        " AS n WHERE n.capture_id = c.capture_id AND instr(lower(n.text), lower(:text)) > 0))": text,
    }
    names = ("scope", "ticket", "host", "after", "before", "label", "finding", "text")
    where = " AND ".join(condition for condition, value in conditions.items() if value is not None)
    values: dict[str, Any] = dict(zip(names, conditions.values(), strict=True))
    total = here.catalogue.row(f"SELECT count(*) FROM capture AS c WHERE {where}", values)
    rows = here.catalogue.rows(
        f"SELECT c.* FROM capture AS c WHERE {where} ORDER BY {_SORTS[sort.lstrip('-')]} {direction} NULLS LAST, c.capture_id"
        " LIMIT :limit OFFSET :offset",
        {**values, "limit": limit, "offset": offset},
    )
    return Page(captures=[described(here, row) for row in rows], total=total[0] if total else 0)


@router.get("/{capture_id}")
def show_capture(here: Here, me: Me, capture_id: CaptureId) -> Capture:
    """Describe one capture."""
    return described(here, here.capture(me, capture_id))


@router.patch("/{capture_id}")
def change_capture(here: Here, me: Me, capture_id: CaptureId, change: Change) -> Capture:
    """Change the ticket or the labels of a capture."""
    me.needs("uploader")
    here.capture(me, capture_id)
    ticket = None if change.ticket is None else clean_ticket(change.ticket)
    if ticket is not None and not me.sees(ticket):
        raise ApiError("not_permitted", f"ticket {ticket} is not in scope", f"yours begin with {me.ticket_prefix}")
    with here.catalogue.writing() as db:
        if ticket is not None:
            db.execute("UPDATE capture SET ticket = ? WHERE capture_id = ?", (ticket, capture_id))
        if change.labels is not None:
            db.execute("DELETE FROM label WHERE capture_id = ?", (capture_id,))
            db.executemany(
                "INSERT OR IGNORE INTO label VALUES (?, ?)", [(capture_id, label) for label in change.labels]
            )
    return described(here, here.capture(me, capture_id))


@router.delete("/{capture_id}", status_code=204)
async def delete_capture(here: Here, me: Me, capture_id: CaptureId) -> Response:
    """Delete a capture: the original, its import, its notes. An uploader can delete what was uploaded with the same token."""
    deletable(here, me, capture_id)
    await asyncio.to_thread(here.uploads.forget, capture_id)
    await here.imports.stop(capture_id)
    await asyncio.to_thread(here.uploads.remove, capture_id)
    await asyncio.to_thread(here.answers.forget, capture_id)
    return Response(status_code=204)


@router.get(
    "/{capture_id}/original",
    response_class=FileResponse,
    responses=answers("binary", description="The file."),
)
def download(here: Here, me: Me, capture_id: CaptureId) -> FileResponse:
    """Return the file as it was uploaded. Ranges are supported."""
    row = here.capture(me, capture_id)
    return FileResponse(
        here.uploads.file(capture_id),
        media_type="application/octet-stream",
        filename=row["name"],
        headers={"ETag": f'"{capture_id}"'},
    )


def deletable(here: Server, me: Who, capture_id: str) -> None:
    """Refuse a user who may not delete a capture: an uploader can delete what was uploaded with the same token."""
    me.needs("uploader")
    row = here.capture(me, capture_id)
    if me.role != "admin" and row["token_id"] != me.token_id:
        raise ApiError("not_permitted", "uploaded by somebody else", "an admin may delete it")


def labels_of(here: Here, capture_id: str) -> list[str]:
    """Return the labels of a capture, in alphabetical order."""
    rows = here.catalogue.rows("SELECT label FROM label WHERE capture_id = ? ORDER BY label", (capture_id,))
    return [label for (label,) in rows]


def labels_by_capture(here: Here) -> defaultdict[str, list[str]]:
    """Return the labels of each capture that has some, in alphabetical order."""
    found = defaultdict(list)
    for capture_id, label in here.catalogue.rows("SELECT capture_id, label FROM label ORDER BY label"):
        found[capture_id].append(label)
    return found


def described(here: Here, row: Row) -> Capture:
    findings = here.catalogue.rows(
        "SELECT severity, count(*) FROM finding WHERE capture_id = ? GROUP BY 1", (row["capture_id"],)
    )
    fields = {name: row[name] for name in row.keys() if name in Capture.model_fields}  # noqa: SIM118 - a Row has no "in"
    return Capture(**fields, labels=labels_of(here, row["capture_id"]), findings=dict(map(tuple, findings)))
