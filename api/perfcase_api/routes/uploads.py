"""Routes of uploads: in one request, or in parts that can be resumed."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import BaseModel, Field

from perfcase_api.catalogue import Row
from perfcase_api.errors import ApiError
from perfcase_api.routes.captures import Capture, described
from perfcase_api.state import Here, Me
from perfcase_api.uploads import clean_ticket
from perfcase_api.who import Who

router = APIRouter(prefix="/v1/uploads", tags=["uploads"])

UploadId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="The id from POST /v1/uploads.")]


class NewUpload(BaseModel):
    """The file to upload."""

    name: str = Field(min_length=1, max_length=1000, examples=["incident.perfcase"])
    size_bytes: int = Field(ge=1, lt=1 << 62)
    ticket: str = Field("", max_length=200, description="The ticket. Default: that of the manifest.")
    accept_damaged: bool = Field(False, description="Take the file although its checksums do not agree.")


class Upload(BaseModel):
    """The state of an upload."""

    upload_id: str
    name: str
    size_bytes: int
    offset_bytes: int = Field(description="The number of bytes that arrived: continue from here.")
    capture_id: str | None = Field(description="The id of the capture, when the file is complete.")


@router.post("", status_code=201)
def begin_upload(here: Here, me: Me, new: NewUpload) -> Upload:
    """Begin an upload. PATCH then adds the bytes."""
    row = here.uploads.begin(me, new.name, new.size_bytes, clean_ticket(new.ticket), accept_damaged=new.accept_damaged)
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
    capture_id = await here.uploads.append(row, upload_offset, request.stream())
    if capture_id is None:
        return _upload(here, row)
    here.imports.add(capture_id)
    return _upload(here, row, capture_id)


@router.delete("/{upload_id}", status_code=204)
def abort_upload(here: Here, me: Me, upload_id: UploadId) -> Response:
    """Cancel an upload."""
    here.uploads.find(me, upload_id)
    here.uploads.abort(upload_id)
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
    accept_damaged: Annotated[bool, Query(description="Take the file although its checksums do not agree.")] = False,
) -> Capture:
    """Upload a capture in one request: ``curl --data-binary @incident.perfcase '…/v1/captures?name=incident.perfcase'``."""
    row = here.uploads.begin(me, name, content_length, clean_ticket(ticket), accept_damaged=accept_damaged)
    try:
        capture_id = await here.uploads.append(row, 0, request.stream())
    except BaseException:
        here.uploads.abort(row["upload_id"])
        raise
    if capture_id is None:
        here.uploads.abort(row["upload_id"])
        raise ApiError("usage", "the body is shorter than its Content-Length")
    here.imports.add(capture_id)
    return _seen(here, me, capture_id)


def _upload(here: Here, row: Row, capture_id: str | None = None) -> Upload:
    offset = row["size_bytes"] if capture_id else here.uploads.offset(row["upload_id"])
    return Upload(
        upload_id=row["upload_id"],
        name=row["name"],
        size_bytes=row["size_bytes"],
        offset_bytes=offset,
        capture_id=capture_id,
    )


def _seen(here: Here, me: Who, capture_id: str) -> Capture:
    return described(here, here.capture(me, capture_id))
