"""Routes to sign in with an account of an identity provider, if one is configured."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Cookie, Query, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute

from perfcase_api.errors import ApiError, body
from perfcase_api.state import Here, Server, address
from perfcase_api.who import COOKIE, SESSION_S, SIGN_IN_S, Who

if TYPE_CHECKING:
    from perfcase_api.oidc import Provider

_BEGUN = "perfcase_oidc"
_PATH = "/v1/oidc"
_REFUSED = "perfcase_refused"
_REFUSED_S = 60
_MESSAGE_MAX = 500


class _BrowserRoute(APIRoute):
    """A route that people open in a browser: an error redirects to the page, which shows it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await answer(request)
            except ApiError as error:
                if "text/html" not in request.headers.get("accept", ""):
                    raise
                # The audit log has the result, not the words.
                request.state.status = error.status
                top = request.app.state.server.settings.top
                redirect = RedirectResponse(top, 303, headers={"Cache-Control": "no-store"})
                reason = json.dumps(body(error.kind, error.message[:_MESSAGE_MAX], error.hint))
                redirect.set_cookie(_REFUSED, quote(reason, safe=""), max_age=_REFUSED_S, path=top, samesite="strict")
                return redirect

        return handle


router = APIRouter(prefix="/v1/oidc", tags=["access"], route_class=_BrowserRoute)


@router.get("", status_code=303, response_class=RedirectResponse)
async def begin_oidc(here: Here, request: Request) -> RedirectResponse:
    """Redirect the browser to the identity provider."""
    here.rates.take(address(request))
    url, secret = await _provider(here).begin()
    answer = RedirectResponse(url, 303, headers={"Cache-Control": "no-store"})
    # Lax: the provider's page leads back here, from another site.
    answer.set_cookie(
        _BEGUN,
        secret,
        max_age=SIGN_IN_S,
        path=f"{here.settings.root_path}{_PATH}",
        httponly=True,
        samesite="lax",
        secure=_is_https(here),
    )
    return answer


@router.get("/callback", status_code=303, response_class=RedirectResponse)
async def finish_oidc(
    here: Here,
    request: Request,
    state: Annotated[str, Query(max_length=1000, description="The state from GET /v1/oidc.")] = "",
    code: Annotated[str, Query(max_length=10_000, description="The code for an ID token.")] = "",
    error: Annotated[str, Query(max_length=1000, description="The error of the provider.")] = "",
    iss: Annotated[str | None, Query(max_length=1000, description="The issuer (RFC 9207).")] = None,
    begun: Annotated[str, Cookie(alias=_BEGUN, max_length=200, description="The cookie of GET /v1/oidc.")] = "",
) -> RedirectResponse:
    """Sign the browser in that comes back from the provider, and redirect it to the page."""
    here.rates.take(address(request))
    provider = _provider(here)
    if error or not code:
        shown = "".join(char for char in error if char.isprintable())[:200]
        raise ApiError(
            "unauthorized", f"the provider signed nobody in: {shown or 'no code'}", "begin again: GET /v1/oidc"
        )
    person = await provider.finish(begun, state, code, iss)
    rule = person.rule
    token_id = here.tokens.person(person.issuer, person.subject, person.name, rule.role, rule.ticket_prefix)
    if token_id is None:
        raise ApiError("not_permitted", f"{person.name} may no longer sign in", "an admin revoked it")
    request.state.who = Who(person.name, rule.role, rule.ticket_prefix, token_id)
    answer = RedirectResponse(here.settings.top, 303, headers={"Cache-Control": "no-store"})
    answer.delete_cookie(_BEGUN, path=f"{here.settings.root_path}{_PATH}")
    answer.set_cookie(
        COOKIE,
        here.tokens.open_session(token_id),
        max_age=SESSION_S,
        path=here.settings.top,
        httponly=True,
        samesite="strict",
        secure=_is_https(here),
    )
    return answer


def _provider(here: Server) -> Provider:
    if here.provider is None:
        raise ApiError("not_found", "no identity provider is configured", "GET /v1/sign-in says how to sign in")
    return here.provider


def _is_https(here: Server) -> bool:
    return here.settings.oidc is not None and here.settings.oidc.url.startswith("https:")
