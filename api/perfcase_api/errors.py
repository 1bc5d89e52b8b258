"""All errors as JSON: ``{"error": {"kind", "message", "hint"}}``. The kinds are those of the command line, and some more."""

from __future__ import annotations

import errno
import logging
import sqlite3

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from perfcase.errors import PerfcaseError

STATUS = {
    "usage": 400,
    "sql": 400,
    "unauthorized": 401,
    "not_permitted": 403,
    "not_found": 404,
    "not_allowed": 405,
    "conflict": 409,
    "too_large": 413,
    "input": 422,
    "version": 422,
    "too_many": 429,
    "internal": 500,
    "environment": 503,
    "interrupted": 503,
    "timeout": 504,
}
"""Kind of error to HTTP status."""

FULL = 507
"""Status of an ``environment`` error where the disk of the store is full: someone has to make room."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_BROKEN = (*_FULL, errno.EIO, errno.EROFS)
_ROOM = "delete captures, or make room on the server's disk; then try again"

_KINDS = {401: "unauthorized", 403: "not_permitted", 404: "not_found", 405: "not_allowed", 413: "too_large"}


class ApiError(Exception):
    """Something that the client can act on; ``kind`` is a key of STATUS."""

    def __init__(
        self,
        kind: str,
        message: str,
        hint: str | None = None,
        *,
        headers: dict[str, str] | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind, self.message, self.hint, self.headers = kind, message, hint, headers
        self.status = STATUS[kind] if status is None else status


def of_disk(error: OSError, *, hint: str | None = None, what: str = "the store cannot be written") -> ApiError:
    """Return what to answer where a disk refused a write. Default hint: what helps where it is full, or broken."""
    is_full = error.errno in _FULL
    usual = _ROOM if is_full else "try again when the server's disk is well"
    return ApiError(
        "environment", f"{what}: {error.strerror}", hint or usual, status=FULL if is_full else STATUS["environment"]
    )


class ErrorDetail(BaseModel):
    """What went wrong."""

    kind: str = Field(examples=["not_found"], description="A fixed word: " + ", ".join(STATUS))
    message: str = Field(examples=["there is no capture 3f2a"])
    hint: str | None = Field(None, examples=["GET /v1/captures lists them"], description="What to do about it.")


class ErrorBody(BaseModel):
    """The body of every answer that is an error."""

    error: ErrorDetail


RESPONSES = {
    status: {"model": ErrorBody, "description": kind.replace("_", " ")}
    for kind, status in STATUS.items()
    if kind in ("usage", "unauthorized", "not_permitted", "not_found", "too_many", "input")
}
"""For OpenAPI: what any route may answer."""


def body(kind: str, message: str, hint: str | None = None) -> dict:
    """Return the JSON of an error."""
    return {"error": {"kind": kind, "message": message, "hint": hint}}


def install(app: FastAPI) -> None:
    """Make the application answer all errors in this format."""

    @app.exception_handler(ApiError)
    async def _api(_request: Request, error: ApiError) -> JSONResponse:
        return JSONResponse(body(error.kind, error.message, error.hint), error.status, error.headers)

    @app.exception_handler(PerfcaseError)
    async def _perfcase(_request: Request, error: PerfcaseError) -> JSONResponse:
        return JSONResponse(body(error.kind, error.message, error.hint), STATUS[error.kind])

    @app.exception_handler(RequestValidationError)
    async def _request(_request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return JSONResponse(body("usage", f"{place}: {first['msg']}", "see /openapi.json"), 400)

    @app.exception_handler(HTTPException)
    async def _http(_request: Request, error: HTTPException) -> JSONResponse:
        kind = _KINDS.get(error.status_code, "usage" if error.status_code < 500 else "internal")
        return JSONResponse(body(kind, str(error.detail)), error.status_code, error.headers)

    @app.exception_handler(ClientDisconnect)
    async def _gone(_request: Request, _error: ClientDisconnect) -> JSONResponse:
        # Nobody reads this; what had arrived of an upload is kept.
        return JSONResponse(body("usage", "the request ended before its body"), 400)

    @app.exception_handler(sqlite3.OperationalError)
    async def _catalogue(_request: Request, error: sqlite3.OperationalError) -> JSONResponse:
        is_full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        hint = _ROOM if is_full else "is the disk full?"
        return JSONResponse(
            body("environment", f"the catalogue cannot be used: {error}", hint),
            FULL if is_full else STATUS["environment"],
        )

    @app.exception_handler(OSError)
    async def _disk(request: Request, error: OSError) -> JSONResponse:
        if error.errno not in _BROKEN:
            raise error
        logging.getLogger("perfcase").error("%s %s", request.method, request.url.path, exc_info=error)
        return await _api(request, of_disk(error))

    @app.exception_handler(Exception)
    async def _fault(_request: Request, error: Exception) -> JSONResponse:
        return JSONResponse(body("internal", type(error).__name__, "the server's log says more"), 500)
