"""Protection of a server without tokens: only programs on this machine and its own page can send requests.

A web page can reach 127.0.0.1 with a name that points there (DNS rebinding): then ``Host`` has this name. Or it can send the requests that
browsers allow any page: then the browser says the origin.
"""

from __future__ import annotations

import ipaddress
import secrets
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from perfcase_api.errors import STATUS, body


class SameOriginMiddleware:
    """Refuses requests by another name than this machine's own, and those of other sites' pages."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        why = _stranger(scope["method"], Headers(scope=scope)) if scope["type"] == "http" else None
        if why is None:
            await self._app(scope, receive, send)
            return
        error = body("not_permitted", why, "with --open the server answers http://127.0.0.1 and http://localhost only")
        await JSONResponse(error, STATUS["not_permitted"])(scope, receive, send)


def _stranger(method: str, headers: Headers) -> str | None:
    host = headers.get("host", "")
    if not _is_this_machine(host):
        return f"this server is not {host[:200] or 'without a name'}"
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host:
        return f"a page of {origin[:200]} sent this"
    # Somebody may follow a link from elsewhere: that changes nothing, and the other page does not see the answer.
    is_link = (
        method == "GET" and headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    )
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_link:
        return "another site's page sent this"
    return None


def _is_this_machine(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class SecretPathMiddleware:
    """Answers only below a path that is a secret: who does not have the address finds nothing."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app = app
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = scope.get("path", "")[: len(self._path) + 1]
        if scope["type"] != "http" or secrets.compare_digest(given.encode(), f"{self._path}/".encode()):
            await self._app(scope, receive, send)
            return
        error = body("not_found", "there is nothing here", "open the address that perfcase open has printed")
        await JSONResponse(error, STATUS["not_found"])(scope, receive, send)
