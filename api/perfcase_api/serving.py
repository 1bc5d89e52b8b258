"""Run a server until a signal ends it."""

from __future__ import annotations

import errno
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from perfcase.case import sandbox
from perfcase.errors import PerfcaseError
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
    only_redacted: bool,
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
        only_redacted=only_redacted,
        limits=Limits(job_seconds=job_seconds, requests_per_minute=requests_per_minute),
        **given,
    )
    serve(settings, lambda line: print(line, file=sys.stderr, flush=True))


def serve(settings: Settings, say: Callable[[str], None]) -> None:
    """Serve a store until SIGTERM or SIGINT. ``say`` prints a line for the user who started it.

    Raises:
        PerfcaseError: the store cannot be used, or the address not be listened on.
    """
    app = create_app(settings)
    with locked(settings.store), listen(settings.host, settings.port) as listening:
        secret = None if settings.is_open else first_token(settings)
        if secret:
            say(f"The first admin's token, shown this once: {secret}")
        for wall in sandbox.missing():
            say(f"warning: {wall}")
        say(f"perfcase serves {settings.store} at {url(listening)}")
        server(app, settings).run([listening])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address; port 0 is a free one.

    Raises:
        PerfcaseError: it belongs to another program, or is none of this machine's.
    """
    try:
        ((family, _, _, _, place), *_) = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        return socket.create_server(place[:2], family=family)
    except OSError as error:
        remedy = "--port 0 chooses a free one" if error.errno == errno.EADDRINUSE else "--host and --port say where"
        raise PerfcaseError("environment", f"{host}:{port}: cannot be listened on: {error.strerror}", remedy) from error


def url(listening: socket.socket) -> str:
    """Return the address of what listens on a socket, as a browser takes it."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def server(app: ASGIApp, settings: Settings) -> uvicorn.Server:
    """Return what runs an application: on given sockets, until SIGTERM or SIGINT."""
    return uvicorn.Server(
        uvicorn.Config(
            app,  # type: ignore[arg-type] - an application of Starlette's kind is one of uvicorn's
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
    )
