"""Routes of the recorder in one file and its checksum, for hosts to record. They need no token."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse

from perfcase.catalogue.schema import package_data
from perfcase_api.errors import ApiError

router = APIRouter(include_in_schema=False)

FOLDER = package_data("recorder") / "build" / "dist"


@router.get("/recorder/perfcase-record", response_class=FileResponse)
def one_file() -> Response:
    """Return the recorder: a shell script with its helpers inside."""
    return _offered("perfcase-record")


@router.get("/recorder/perfcase-record.sha256", response_class=FileResponse)
def checksum() -> Response:
    """Return the checksum for sha256sum --check."""
    return _offered("perfcase-record.sha256")


def _offered(name: str) -> Response:
    found = FOLDER / name
    if not found.is_file():
        raise ApiError(
            "not_found",
            "this server has no recorder to offer",
            "make recorder builds it; the wheel and the container image have it; or copy recorder/ to the host",
        )
    # BaseRequest for again each time: the checksum is that of the file of the same server.
    return FileResponse(
        found, media_type="application/octet-stream", filename=name, headers={"Cache-Control": "no-cache"}
    )
