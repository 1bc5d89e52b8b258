"""perfcase serve: captures for a team, over HTTP."""

from __future__ import annotations

import ipaddress
import re
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from perfcase.errors import PerfcaseError


def command(
    store: Annotated[
        Path, typer.Option("--store", metavar="DIR", help="Where the server keeps everything; made if it is not there.")
    ],
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N")] = 8640,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=256, metavar="N", help="Analyses at once; as many as there are CPUs if none is given."),
    ] = None,
    job_seconds: Annotated[
        float, typer.Option(min=0.1, metavar="S", help="An analysis that takes more CPU time is stopped.")
    ] = 120.0,
    requests_per_minute: Annotated[
        int, typer.Option(min=1, metavar="N", help="Limit for one token; without a token, for one address.")
    ] = 600,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="FILE", help="Settings in TOML: [oidc], signing in with an identity provider."
        ),
    ] = None,
    root_path: Annotated[
        str, typer.Option("--root-path", metavar="/PATH", help="Below which path of a proxy's address the server is.")
    ] = "",
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            "--trusted-proxy",
            metavar="ADDRESS",
            help="Believe X-Forwarded-For and X-Forwarded-Proto of this address or network. May be given several times.",
        ),
    ] = None,
    access_log: Annotated[
        Path | None,
        typer.Option("--access-log", metavar="FILE", help="A line of JSON for each request; - is standard error."),
    ] = None,
    audit_days: Annotated[
        int, typer.Option(min=1, max=36500, metavar="N", help="After N days entries of the audit log go to files.")
    ] = 400,
    is_open: Annotated[
        bool, typer.Option("--open", help="Ask nobody for a token. On loopback only.", show_default=False)
    ] = False,
) -> None:
    """Serve captures by ticket over HTTP: upload, views, SQL, findings, differences, flame graphs.

    The first start prints an admin's token, once. Ctrl-C ends the server; nothing that was uploaded is lost by that or by a
    kill. GET /openapi.json describes every route.

    \b
    Example: perfcase serve --store /srv/perfcase
             curl -H "Authorization: Bearer $TOKEN" --data-binary @incident.perfcase \\
                 'http://127.0.0.1:8640/v1/captures?name=incident.perfcase'
    """
    # The server is a package of its own, which depends on this one: it is found by its entry point.
    servers = entry_points(group="perfcase.server")
    if not servers:
        raise PerfcaseError("environment", "the server is not installed", "pip install perfcase-api")
    try:
        start = servers["perfcase"].load()
    except ImportError as error:
        raise PerfcaseError(
            "environment", f"the server is not installed: {error}", "pip install perfcase-api"
        ) from error
    start(
        store=store.absolute(),
        host=host,
        port=port,
        workers=workers,
        job_seconds=job_seconds,
        requests_per_minute=requests_per_minute,
        config=config,
        root_path=_path(root_path),
        trusted_proxies=tuple(map(_network, trusted_proxy or ())),
        access_log=access_log,
        audit_days=audit_days,
        is_open=is_open,
    )


def _path(given: str) -> str:
    path = given.rstrip("/")
    if path and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", path):
        raise PerfcaseError("usage", f"--root-path {given}: not a path", "as /perfcase")
    return path


def _network(given: str) -> str:
    try:
        return str(ipaddress.ip_network(given))
    except ValueError as error:
        raise PerfcaseError("usage", f"--trusted-proxy: {error}", "as 10.0.0.1 or 10.0.0.0/8") from None
