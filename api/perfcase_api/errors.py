"""All errors as JSON: ``{"error": {"kind", "message", "hint"}}``. The kinds are those of the command line, and some more."""

from __future__ import annotations

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

_KINDS = {401: "unauthorized", 403: "not_permitted", 404: "not_found", 405: "not_allowed", 413: "too_large"}


class ApiError(Exception):
    """Something that the client can act on; ``kind`` is a key of STATUS."""

    def __init__(
        self, kind: str, message: str, hint: str | None = None, *, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.kind, self.message, self.hint, self.headers = kind, message, hint, headers
        self.status = STATUS[kind]


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
        return JSONResponse(body("environment", f"the catalogue cannot be used: {error}", "is the disk full?"), 503)

    @app.exception_handler(Exception)
    async def _fault(_request: Request, error: Exception) -> JSONResponse:
        return JSONResponse(body("internal", type(error).__name__, "the server's log says more"), 500)
