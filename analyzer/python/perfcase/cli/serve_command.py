"""perfcase serve: serve captures to a team over HTTP."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from perfcase.errors import PerfcaseError


def command(
    store: Annotated[
        Path,
        typer.Option(
            "--store", metavar="DIR", help="The folder for all data of the server. It is created if it does not exist."
        ),
    ],
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="The port to listen on; 0 chooses a free one.")
    ] = 8640,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=256,
            metavar="N",
            help="The number of analyses that run at the same time. Default: the number of CPUs.",
        ),
    ] = None,
    job_seconds: Annotated[
        float, typer.Option(min=0.1, metavar="S", help="Stop an analysis that uses more CPU time than this.")
    ] = 120.0,
    requests_per_minute: Annotated[
        int, typer.Option(min=1, metavar="N", help="The limit for one token, or for one address without a token.")
    ] = 600,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="FILE", help="Settings in TOML: [oidc] for sign-in with an identity provider."
        ),
    ] = None,
    root_path: Annotated[
        str, typer.Option("--root-path", metavar="/PATH", help="The path of the server at its proxy.")
    ] = "",
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            "--trusted-proxy",
            metavar="ADDRESS",
            help="Trust X-Forwarded-For and X-Forwarded-Proto from this address or network. Can be given several times.",
        ),
    ] = None,
    access_log: Annotated[
        Path | None,
        typer.Option("--access-log", metavar="FILE", help="Write one line of JSON per request; - is standard error."),
    ] = None,
    audit_days: Annotated[
        int, typer.Option(min=1, max=36500, metavar="N", help="Move entries of the audit log to files after N days.")
    ] = 400,
    only_redacted: Annotated[
        bool,
        typer.Option(
            "--only-redacted",
            help="Take only captures whose manifest says that perfcase redact wrote them. Others are refused before they are sent, or, "
            "with curl, after the first MiB.",
            show_default=False,
        ),
    ] = False,
    is_open: Annotated[
        bool, typer.Option("--open", help="Require no token. Only allowed on loopback.", show_default=False)
    ] = False,
) -> None:
    """Serve captures by ticket over HTTP: uploads, views, SQL, findings, diffs, flame graphs.

    The first start prints the token of an admin, once. Ctrl-C stops the server. Uploads survive that, and a kill too.
    GET /openapi.json describes every route.

    \b
    Example: perfcase serve --store /srv/perfcase
             curl -H "Authorization: Bearer $TOKEN" --data-binary @incident.perfcase \\
                 'http://127.0.0.1:8640/v1/captures?name=incident.perfcase'
    """
    server_part("perfcase")(
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
        only_redacted=only_redacted,
        is_open=is_open,
    )


def server_part(name: str) -> Callable[..., None]:
    """Return a part of the server: it is a separate package that depends on this one, and its entry points say where its parts are.

    Raises:
        PerfcaseError: it is not installed.
    """
    servers = entry_points(group="perfcase.server")
    try:
        return servers[name].load()
    except (ImportError, KeyError) as error:
        why = f": {error}" if isinstance(error, ImportError) else ""
        raise PerfcaseError("environment", f"the server is not installed{why}", "pip install perfcase-api") from error


def _path(given: str) -> str:
    path = given.rstrip("/")
    if path and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", path):
        raise PerfcaseError("usage", f"--root-path {given}: not a path", "such as /perfcase")
    return path


def _network(given: str) -> str:
    try:
        return str(ipaddress.ip_network(given))
    except ValueError as error:
        raise PerfcaseError("usage", f"--trusted-proxy: {error}", "such as 10.0.0.1 or 10.0.0.0/8") from None
