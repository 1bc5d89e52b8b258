"""Puts a server together."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perfcase import __version__
from perfcase.errors import PerfcaseError
from perfcase_api import errors, openapi
from perfcase_api.answers import Answers
from perfcase_api.bodies import Bodies
from perfcase_api.catalogue import Catalogue, now_ns
from perfcase_api.etags import Tags
from perfcase_api.imports import Imports
from perfcase_api.jobs import Jobs
from perfcase_api.origins import OwnPages
from perfcase_api.routes import access, analysis, captures, oidc, page, sql, uploads
from perfcase_api.settings import Oidc, Settings
from perfcase_api.state import Server, address
from perfcase_api.uploads import Uploads
from perfcase_api.who import Rates, Tokens

if TYPE_CHECKING:
    from perfcase_api.oidc import Provider

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every answer."""

_AUDITED = ("POST", "PUT", "PATCH", "DELETE")
_SIGNING_IN = ("/v1/oidc/callback",)


def create_app(settings: Settings) -> FastAPI:
    """The application on a store; everything that runs begins and ends with it."""
    if not settings.is_loopback and settings.is_open:
        raise PerfcaseError("usage", f"--open on {settings.host}: anybody could read every capture",
                            "leave --open away, or listen on 127.0.0.1")  # fmt: skip

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        here = build(settings)
        app.state.server = here
        for line in here.uploads.recover():
            logging.getLogger("perfcase").warning("%s", line)
            _write_down(here, "the server", "-", "recover", line, 0)
        here.jobs.start()
        here.imports.start()
        try:
            yield
        finally:
            await here.imports.close()
            await here.jobs.close()
            here.catalogue.close()

    app = FastAPI(
        title="perfcase",
        version=__version__,
        description="Captures by ticket, SQL for a team. Every answer is what the command line answers.",
        lifespan=lifespan,
        responses=errors.RESPONSES,
        redoc_url=None,
        docs_url=None,
    )
    errors.install(app)
    for router in (uploads.whole, captures.router, uploads.router, sql.router, analysis.router, analysis.comparisons,
                   access.router, oidc.router, page.router):  # fmt: skip
        app.include_router(router)

    @app.get("/v1/health", tags=["service"])
    def health() -> dict[str, str]:
        """Whether the server answers; needs no token and says nothing else."""
        return {"status": "ok"}

    openapi.install(app)
    app.add_middleware(Tags)
    app.add_middleware(Bodies, bytes_max=settings.limits.body_bytes)
    if settings.is_open:
        app.add_middleware(OwnPages)
    app.add_middleware(_Guard)
    return app


class _Guard:
    """Security headers on everything, a line in the audit log for everything that changes something."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500

        async def guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            await self._app(scope, receive, guarded)
        finally:
            if scope["method"] in _AUDITED or scope["path"] in _SIGNING_IN:
                _audit(Request(scope), status)


def build(settings: Settings) -> Server:
    """The parts of a server on a store."""
    settings.store.mkdir(parents=True, exist_ok=True, mode=0o700)
    catalogue = Catalogue(settings.store / "catalogue.sqlite3")
    jobs = Jobs(settings.workers, settings.limits, settings.store / "captures", settings.store / "scratch")
    kept = Uploads(settings, catalogue, jobs.check)
    return Server(
        settings=settings,
        catalogue=catalogue,
        tokens=Tokens(catalogue),
        rates=Rates(settings.limits.requests_per_minute),
        uploads=kept,
        imports=Imports(settings, catalogue, kept),
        jobs=jobs,
        answers=Answers(settings.store / "answers", settings.limits.cache_bytes),
        provider=_provider(settings.oidc),
    )


def _provider(oidc: Oidc | None) -> Provider | None:
    if oidc is None:
        return None
    # Loaded where it is configured: who does without needs none of its libraries.
    from perfcase_api.oidc import Provider

    return Provider(oidc)


def _audit(request: Request, status: int) -> None:
    who, status = getattr(request.state, "who", None), getattr(request.state, "status", status)
    route = request.scope.get("route")
    action = f"{request.method} {getattr(route, 'path', '-')}"
    subject = "/".join(str(value)[:100] for value in request.path_params.values())
    _write_down(request.app.state.server, who.name if who else "-", address(request), action, subject, status)


def _write_down(here: Server, who: str, where: str, action: str, subject: str, status: int) -> None:
    """A line of the audit log. Where it cannot be written the answer is given all the same, and the log says so."""
    log = logging.getLogger("perfcase")
    log.info("%s %s %s %d", who, action, subject, status)
    try:
        here.catalogue.write(
            "INSERT INTO audit (at_ns, who, address, action, subject, status) VALUES (?, ?, ?, ?, ?, ?)",
            (now_ns(), who, where, action, subject, status),
        )
    except sqlite3.Error as error:
        log.error("the audit log cannot be written (%s): %s %s %s %s %d", error, who, where, action, subject, status)


def first_token(settings: Settings) -> str | None:
    """The secret of a token for an admin, if no admin of all tickets can sign in."""
    settings.store.mkdir(parents=True, exist_ok=True, mode=0o700)
    catalogue = Catalogue(settings.store / "catalogue.sqlite3")
    try:
        return Tokens(catalogue).first(settings.oidc.issuer if settings.oidc else None)
    finally:
        catalogue.close()
