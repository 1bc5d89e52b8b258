"""Routes of uploads: in one request, or in parts that can be resumed."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import BaseModel, Field

from perfcase_api.catalogue import Row
from perfcase_api.errors import ApiError
from perfcase_api.routes.captures import Capture, Label, described
from perfcase_api.routes.imports import cancel
from perfcase_api.state import Here, Me
from perfcase_api.uploads import LABELS_MAX, Made, clean_ticket
from perfcase_api.who import Who

router = APIRouter(prefix="/v1/uploads", tags=["uploads"])

UploadId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="The id from POST /v1/uploads.")]


class NewUpload(BaseModel):
    """The file to upload."""

    name: str = Field(min_length=1, max_length=1000, examples=["incident.perfcase"])
    size_bytes: int = Field(ge=1, lt=1 << 62)
    ticket: str = Field("", max_length=200, description="The ticket. Default: that of the manifest.")
    labels: list[Label] = Field(
        [], max_length=LABELS_MAX, description="Labels, besides those of the manifest.", examples=[["build=41"]]
    )
    accept_damaged: bool = Field(False, description="Take the file although its checksums do not agree.")
    is_redacted: bool | None = Field(
        None,
        description="Whether the manifest has `redacted`, if the client has read it. With false, a server that takes only redacted captures "
        "refuses the upload before it begins.",
    )


class Upload(BaseModel):
    """The state of an upload."""

    upload_id: str
    name: str
    size_bytes: int
    offset_bytes: int = Field(description="The number of bytes that arrived: continue from here.")
    capture_id: str | None = Field(description="The id of the capture, when the file is complete.")
    is_new: bool | None = Field(
        description="False: the same file was here before; its ticket and labels stay as they are. null: it is not complete."
    )


@router.post("", status_code=201)
def begin_upload(here: Here, me: Me, new: NewUpload) -> Upload:
    """Begin an upload. PATCH then adds the bytes."""
    ticket = clean_ticket(new.ticket)
    row = here.uploads.begin(
        me,
        new.name,
        new.size_bytes,
        ticket,
        labels=new.labels,
        accept_damaged=new.accept_damaged,
        is_redacted=new.is_redacted,
    )
    return _upload(here, row)


@router.get("/{upload_id}")
def show_upload(here: Here, me: Me, upload_id: UploadId) -> Upload:
    """Return the state of an upload."""
    return _upload(here, here.uploads.find(me, upload_id))


@router.patch(
    "/{upload_id}", openapi_extra={"requestBody": {"content": {"application/octet-stream": {}}, "required": True}}
)
async def send_bytes(
    here: Here,
    me: Me,
    request: Request,
    upload_id: UploadId,
    upload_offset: Annotated[int, Header(ge=0, lt=1 << 62, description="The offset of these bytes.")],
) -> Upload:
    """Add bytes at the end. Each member of an archive is compared with its checksum in the manifest when it is complete."""
    row = here.uploads.find(me, upload_id)
    made = await here.uploads.append(row, upload_offset, request.stream())
    if made is not None:
        here.imports.add(made.capture_id)
    return _upload(here, row, made)


@router.delete("/{upload_id}", status_code=204)
async def abort_upload(here: Here, me: Me, upload_id: UploadId) -> Response:
    """Cancel an upload: nothing of it is left. If its last part has just made a capture, that is gone, too, unless it is imported already."""
    made = await here.uploads.cancel(me, upload_id)
    if made is not None and made.is_new:
        await cancel(here, made.capture_id)
    return Response(status_code=204)


whole = APIRouter(prefix="/v1/captures", tags=["captures"])


@whole.post(
    "", status_code=201, openapi_extra={"requestBody": {"content": {"application/octet-stream": {}}, "required": True}}
)
async def upload_whole(
    here: Here,
    me: Me,
    request: Request,
    name: Annotated[
        str, Query(min_length=1, max_length=1000, description="The name of the file.", examples=["incident.perfcase"])
    ],
    content_length: Annotated[int, Header(ge=1, lt=1 << 62, include_in_schema=False)],
    ticket: Annotated[str, Query(max_length=200, description="The ticket. Default: that of the manifest.")] = "",
    label: Annotated[
        list[Label] | None, Query(max_length=LABELS_MAX, description="Labels, besides those of the manifest.")
    ] = None,
    accept_damaged: Annotated[bool, Query(description="Take the file although its checksums do not agree.")] = False,
) -> Capture:
    """Upload a capture in one request: ``curl --data-binary @incident.perfcase '…/v1/captures?name=incident.perfcase'``."""
    row = here.uploads.begin(
        me,
        name,
        content_length,
        clean_ticket(ticket),
        labels=label or [],
        accept_damaged=accept_damaged,
        is_one_request=True,
    )
    try:
        made = await here.uploads.append(row, 0, request.stream())
    except BaseException:
        here.uploads.abort(row["upload_id"])
        raise
    if made is None:
        here.uploads.abort(row["upload_id"])
        raise ApiError("usage", "the body is shorter than its Content-Length")
    here.imports.add(made.capture_id)
    return _seen(here, me, made.capture_id)


def _upload(here: Here, row: Row, made: Made | None = None) -> Upload:
    offset = row["size_bytes"] if made else here.uploads.offset(row["upload_id"])
    return Upload(
        upload_id=row["upload_id"],
        name=row["name"],
        size_bytes=row["size_bytes"],
        offset_bytes=offset,
        capture_id=made.capture_id if made else None,
        is_new=made.is_new if made else None,
    )


def _seen(here: Here, me: Who, capture_id: str) -> Capture:
    return described(here, here.capture(me, capture_id))
