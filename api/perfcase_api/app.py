"""Build the application of a server."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perfcase import __version__
from perfcase.errors import PerfcaseError
from perfcase_api import auditing, errors, observing, openapi
from perfcase_api.answers import AnswerCache
from perfcase_api.asking import PACKED
from perfcase_api.bodies import BodyLimit
from perfcase_api.catalogue import Catalogue
from perfcase_api.etags import ETagMiddleware
from perfcase_api.heads import HeadMiddleware
from perfcase_api.imports import Imports
from perfcase_api.jobs import Jobs
from perfcase_api.nursery import Nursery
from perfcase_api.origins import SameOriginMiddleware
from perfcase_api.routes import (
    access,
    analysis,
    captures,
    imports,
    metrics,
    notes,
    oidc,
    page,
    recorder,
    saved,
    sql,
    uploads,
)
from perfcase_api.settings import Oidc, Settings
from perfcase_api.state import Server
from perfcase_api.uploads import Uploads
from perfcase_api.who import RateLimit, Tokens

if TYPE_CHECKING:
    from perfcase_api.oidc import Provider

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " worker-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""The headers of every answer."""

_COMPRESSED_MIN = 1024
"""Bytes of an answer that is worth compressing.

The length of a compressed answer tells what is in it to who can have it asked often, with text of his own in it (BREACH). No answer has a
secret to find in this way: sessions are in cookies, which other sites' pages cannot have sent; and a new token's secret is told once.
"""
_LEVEL = 4
"""With gzip's level 4 tables and flame graphs become a tenth; level 9 takes several times the time for little."""
_EXPIRE_POLL_S = 3600.0
_AUDITED = ("POST", "PUT", "PATCH", "DELETE")
_SIGNING_IN = "/v1/oidc/callback"


def create_app(settings: Settings) -> FastAPI:
    """Return the application on a store; everything that runs begins and ends with it."""
    if not settings.is_loopback and settings.is_open:
        raise PerfcaseError("usage", f"--open on {settings.host}: anybody could read every capture",
                            "leave --open away, or listen on 127.0.0.1")  # fmt: skip

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        here = build(settings)
        app.state.server = here
        for line in here.uploads.recover():
            logging.getLogger("perfcase").warning("%s", line)
            auditing.write_down(here.catalogue, "the server", "-", "recover", line, 0)
        here.jobs.start()
        here.imports.start()
        app.state.figures.watch(here)
        tending = [
            asyncio.create_task(auditing.keep_short(here.catalogue, settings.store / "audit", settings.audit_days)),
            asyncio.create_task(_expire_uploads(here)),
        ]
        try:
            yield
        finally:
            for task in tending:
                task.cancel()
            await asyncio.wait(tending)
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
    # Not an argument: FastAPI warns of it, as its own server can do that. Ours must not put the path before those of requests.
    app.root_path = settings.root_path
    errors.install(app)
    for router in (uploads.whole, captures.router, imports.router, notes.router, uploads.router, sql.router, analysis.router, analysis.comparisons,
                   saved.router, access.router, oidc.router, metrics.router, page.router, recorder.router):  # fmt: skip
        app.include_router(router)

    @app.get("/v1/health", tags=["service"])
    def health() -> dict[str, str]:
        """Say that the server runs. This needs no token."""
        return {"status": "ok"}

    openapi.install(app)
    app.add_middleware(ETagMiddleware)
    app.add_middleware(
        GZipMiddleware,
        minimum_size=_COMPRESSED_MIN,
        compresslevel=_LEVEL,
        exclude_content_types=(*DEFAULT_EXCLUDED_CONTENT_TYPES, *PACKED),
    )
    app.add_middleware(BodyLimit, bytes_max=settings.limits.body_bytes)
    app.add_middleware(HeadMiddleware)
    if settings.is_open:
        app.add_middleware(SameOriginMiddleware)
    app.add_middleware(_Guard)
    log = observing.access_log(settings.access_log) if settings.access_log else None
    app.state.figures = observing.Metrics()
    app.add_middleware(observing.MetricsMiddleware, figures=app.state.figures, log=log)
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
            if scope["method"] in _AUDITED or scope["path"].endswith(_SIGNING_IN):
                auditing.write_down_request(Request(scope), status)


async def _expire_uploads(here: Server) -> None:
    """Forget the uploads that nobody goes on with, each hour."""
    while True:
        await asyncio.sleep(min(_EXPIRE_POLL_S, here.settings.limits.unfinished_seconds / 2))
        try:
            for line in here.uploads.expire():
                auditing.write_down(here.catalogue, "the server", "-", "expire", line, 0)
        except (OSError, sqlite3.Error) as error:
            logging.getLogger("perfcase").error("uploads that nobody goes on with cannot be removed: %s", error)


def build(settings: Settings) -> Server:
    """Return the parts of a server on a store."""
    settings.store.mkdir(parents=True, exist_ok=True, mode=0o700)
    catalogue = Catalogue(settings.store / "catalogue.sqlite3")
    nursery = Nursery(settings.store / "captures")
    jobs = Jobs(settings.workers, settings.limits, nursery, settings.store / "scratch")
    kept = Uploads(settings, catalogue, jobs.check)
    answers = AnswerCache(settings.store / "answers", settings.limits.cache_bytes)
    return Server(
        settings=settings,
        catalogue=catalogue,
        tokens=Tokens(catalogue),
        rates=RateLimit(settings.limits.requests_per_minute),
        uploads=kept,
        imports=Imports(settings, catalogue, kept, nursery, answers),
        jobs=jobs,
        answers=answers,
        provider=_provider(settings.oidc),
    )


def _provider(oidc: Oidc | None) -> Provider | None:
    if oidc is None:
        return None
    # Loaded where it is configured: who does without needs none of its libraries.
    from perfcase_api.oidc import Provider

    return Provider(oidc)


def first_token(settings: Settings) -> str | None:
    """Return the secret of a token for an admin, if no admin of all tickets can sign in."""
    settings.store.mkdir(parents=True, exist_ok=True, mode=0o700)
    catalogue = Catalogue(settings.store / "catalogue.sqlite3")
    try:
        return Tokens(catalogue).first(settings.oidc.issuer if settings.oidc else None)
    finally:
        catalogue.close()
