"""The shared parts of the routes of a server, and how a route identifies the user."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request
from fastapi.security import APIKeyCookie, HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials

from perfcase_api.answers import AnswerCache
from perfcase_api.catalogue import Catalogue, Row
from perfcase_api.errors import ApiError
from perfcase_api.imports import Imports
from perfcase_api.jobs import Jobs
from perfcase_api.settings import Settings
from perfcase_api.uploads import Uploads
from perfcase_api.who import ANONYMOUS_ADMIN, COOKIE, RateLimit, Tokens, Who

if TYPE_CHECKING:
    from perfcase_api.oidc import Provider


@dataclass(frozen=True)
class Server:
    """The parts of a server."""

    settings: Settings
    catalogue: Catalogue
    tokens: Tokens
    rates: RateLimit
    uploads: Uploads
    imports: Imports
    jobs: Jobs
    answers: AnswerCache
    provider: Provider | None = None
    """The identity provider, if one is configured."""

    @property
    def issuer(self) -> str | None:
        """The identity provider's name of itself, where one is configured."""
        return self.settings.oidc.issuer if self.settings.oidc else None

    def capture(self, who: Who, capture_id: str) -> Row:
        """Return a capture in scope. A capture out of scope looks like one that does not exist."""
        row = self.catalogue.row("SELECT * FROM capture WHERE capture_id = ?", (capture_id,))
        if row is None or not who.sees(row["ticket"]):
            raise ApiError("not_found", f"there is no capture {capture_id[:80]}", "GET /v1/captures lists them")
        return row

    def ready(self, who: Who, capture_id: str) -> Row:
        """Return a capture that can be asked."""
        row = self.capture(who, capture_id)
        if row["state"] == "failed":
            raise ApiError("input", f"{row['name']}: not imported: {row['reason']}", "the original can be downloaded")
        if row["state"] != "ready":
            raise ApiError("conflict", f"{row['name']}: is being imported", f"GET /v1/captures/{capture_id}/progress")
        return row


_BEARER = HTTPBearer(auto_error=False, description="A token: perfcase serve prints the first one.")
_SESSION = APIKeyCookie(name=COOKIE, auto_error=False, description="The page's session.")
_SAFE = ("GET", "HEAD", "OPTIONS")


def server(request: Request) -> Server:
    """Return the server that the application belongs to."""
    return request.app.state.server


def address(request: Request) -> str:
    """Return the address that a request comes from."""
    return request.client.host if request.client else "-"


def identify(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)],
    session: Annotated[str | None, Depends(_SESSION)],
) -> Who:
    """Return the user of a request, by token or by session. Count the request before the secret is checked."""
    here = server(request)
    if here.settings.is_open:
        here.rates.take(address(request))
        who: Who | None = ANONYMOUS_ADMIN
    elif bearer:
        who = here.tokens.by_secret(bearer.credentials)
        here.rates.take(f"token {who.token_id}" if who else address(request))
    else:
        who = here.tokens.by_session(session) if session else None
        here.rates.take(f"token {who.token_id}" if who else address(request))
        if (
            who
            and request.method not in _SAFE
            and request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        ):
            raise ApiError("not_permitted", "another site's page sent this")
    if who is None:
        raise ApiError("unauthorized", "a valid token is needed", "Authorization: Bearer TOKEN",
                       headers={"WWW-Authenticate": "Bearer"})  # fmt: skip
    request.state.who = who
    return who


Here = Annotated[Server, Depends(server)]
Me = Annotated[Who, Depends(identify)]


def sse(event: str, data: object) -> bytes:
    """Return one server-sent event."""
    return f"event: {event}\ndata: {json.dumps(data)}\n\n".encode()
