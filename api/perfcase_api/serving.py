"""Run a server until a signal ends it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from perfcase_api import sandbox
from perfcase_api.app import create_app, first_token
from perfcase_api.configuration import read
from perfcase_api.connections import HEAD_BYTES, Connection
from perfcase_api.settings import Limits, Settings
from perfcase_api.storage import locked


def start(
    *,
    store: Path,
    host: str,
    port: int,
    workers: int | None,
    job_seconds: float,
    requests_per_minute: int,
    config: Path | None,
    root_path: str,
    trusted_proxies: tuple[str, ...],
    access_log: Path | None,
    audit_days: int,
    is_open: bool,
) -> None:
    """Run the server with the options of ``perfcase serve``. Return when the server ends.

    Raises:
        PerfcaseError: the store or the configuration cannot be used.
    """
    given = {} if workers is None else {"workers": workers}
    settings = Settings(
        store=store,
        host=host,
        port=port,
        is_open=is_open,
        oidc=read(config) if config else None,
        root_path=root_path,
        trusted_proxies=trusted_proxies,
        access_log=access_log,
        audit_days=audit_days,
        limits=Limits(job_seconds=job_seconds, requests_per_minute=requests_per_minute),
        **given,
    )
    serve(settings, lambda line: print(line, file=sys.stderr, flush=True))


def serve(settings: Settings, say: Callable[[str], None]) -> None:
    """Serve a store until SIGTERM or SIGINT. ``say`` prints a line for the user who started it."""
    app = create_app(settings)
    with locked(settings.store):
        _run(app, settings, say)


def _run(app: FastAPI, settings: Settings, say: Callable[[str], None]) -> None:
    secret = None if settings.is_open else first_token(settings)
    if secret:
        say(f"The first admin's token, shown this once: {secret}")
    for wall in sandbox.missing():
        say(f"warning: {wall}")
    say(f"perfcase serves {settings.store} at http://{settings.host}:{settings.port}")
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        # Not what happens to be installed: other protocols have other bounds.
        http=Connection.of(settings.connections, settings.trusted_proxies),
        ws="none",
        h11_max_incomplete_event_size=HEAD_BYTES,
        # By default uvicorn trusts every program on this machine.
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=5,
    )
