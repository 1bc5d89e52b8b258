"""Routes to sign in and out, and for tokens and the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, Field

from perfcase_api.errors import ApiError
from perfcase_api.routes.captures import After, AtMost
from perfcase_api.state import Here, Me, address
from perfcase_api.uploads import clean_ticket
from perfcase_api.who import COOKIE, SESSION_S, Role

router = APIRouter(prefix="/v1", tags=["access"])


class Account(BaseModel):
    """The user of the request."""

    name: str
    role: Role
    ticket_prefix: str


class Provider(BaseModel):
    """An identity provider that people can sign in with."""

    name: str = Field(description="The name on the button of the page.", examples=["Example Inc."])
    url: str = Field(description="The address to go to. It leads back to the page, signed in.", examples=["/v1/oidc"])


class Ways(BaseModel):
    """The ways to sign in."""

    is_open: bool = Field(description="The server needs no token.")
    token: bool = Field(description="With a token: POST /v1/session.")
    oidc: Provider | None = Field(description="With an account of an identity provider; null where none is configured.")


class SignIn(BaseModel):
    """A token. A cookie replaces it afterwards."""

    token: str = Field(min_length=1, max_length=200)


class NewToken(BaseModel):
    """A token to create."""

    name: str = Field(min_length=1, max_length=100, examples=["on call"])
    role: Role
    ticket_prefix: str = Field("", max_length=200, description="Only captures whose tickets begin with this.")
    expires_ns: int | None = Field(None, ge=0, lt=1 << 62, description="ns since 1970")


class Token(BaseModel):
    """A token, without its secret."""

    token_id: int
    name: str
    role: Role
    ticket_prefix: str
    created_ns: int
    expires_ns: int | None
    revoked_ns: int | None
    issuer: str | None = Field(description="The identity provider of the person; null for other tokens.")


class CreatedToken(Token):
    """A token with its secret, which is shown only once."""

    secret: str


class Entry(BaseModel):
    """An entry of the audit log."""

    at_ns: int
    who: str
    address: str
    action: str
    subject: str
    status: int


@router.get("/sign-in")
def sign_in_ways(here: Here) -> Ways:
    """List the ways to sign in. This needs no token."""
    oidc = here.settings.oidc
    provider = (
        Provider(name=oidc.name, url=f"{here.settings.root_path}/v1/oidc")
        if oidc and not here.settings.is_open
        else None
    )
    return Ways(is_open=here.settings.is_open, token=not here.settings.is_open, oidc=provider)


@router.get("/me")
def me_(me: Me) -> Account:
    """Return the user of the request."""
    return Account(name=me.name, role=me.role, ticket_prefix=me.ticket_prefix)


@router.post("/session", status_code=201)
def sign_in(here: Here, request: Request, response: Response, given: SignIn) -> Account:
    """Sign in: exchange the token for a cookie that scripts cannot read."""
    here.rates.take(address(request))
    who = here.tokens.by_secret(given.token)
    if who is None or who.token_id is None:
        raise ApiError("unauthorized", "not a valid token")
    request.state.who = who
    response.set_cookie(
        COOKIE,
        here.tokens.open_session(who.token_id),
        max_age=SESSION_S,
        path=here.settings.top,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return Account(name=who.name, role=who.role, ticket_prefix=who.ticket_prefix)


@router.delete("/session", status_code=204)
def sign_out(here: Here, request: Request, _me: Me) -> Response:
    """End the session."""
    here.tokens.close_session(request.cookies.get(COOKIE, ""))
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path=here.settings.top)
    return response


@router.get("/tokens")
def list_tokens(here: Here, me: Me, limit: AtMost = 1000, offset: After = 0) -> list[Token]:
    """List all tokens, without their secrets. An admin with a scope sees only the tokens within it."""
    me.needs("admin")
    rows = here.catalogue.rows(
        "SELECT * FROM token WHERE substr(ticket_prefix, 1, length(:scope)) = :scope"
        " ORDER BY token_id LIMIT :limit OFFSET :offset",
        {"scope": me.ticket_prefix, "limit": limit, "offset": offset},
    )
    return [_token(row) for row in rows]


@router.post("/tokens", status_code=201)
def create_token(here: Here, me: Me, new: NewToken) -> CreatedToken:
    """Create a token. Only this response has its secret. An admin with a scope can create only tokens within it."""
    me.needs("admin")
    prefix = clean_ticket(new.ticket_prefix)
    if not me.sees(prefix):
        raise ApiError("not_permitted", "the ticket prefix is not in scope", f"yours is {me.ticket_prefix}")
    number, secret = here.tokens.create(new.name, new.role, prefix, new.expires_ns)
    row = here.catalogue.row("SELECT * FROM token WHERE token_id = ?", (number,))
    return CreatedToken(**_token(row).model_dump(), secret=secret)


@router.delete("/tokens/{token_id}", status_code=204)
def revoke_token(
    here: Here, me: Me, token_id: Annotated[int, Path(ge=1, lt=1 << 62, description="As GET /v1/tokens lists it.")]
) -> Response:
    """End a token and its sessions. The token of the last admin stays. An admin with a scope can end only tokens within it."""
    me.needs("admin")
    if not here.tokens.revoke(me, token_id, here.issuer):
        raise ApiError("not_found", f"there is no valid token {token_id}", "GET /v1/tokens lists them")
    return Response(status_code=204)


@router.get("/audit")
def audit(
    here: Here,
    me: Me,
    limit: AtMost = 100,
    offset: After = 0,
) -> list[Entry]:
    """List who did what, the latest first. For an admin of all tickets."""
    me.needs("admin")
    if me.ticket_prefix:
        raise ApiError(
            "not_permitted", f"{me.name} is an admin of {me.ticket_prefix} only", "this is about all tickets"
        )
    rows = here.catalogue.rows("SELECT * FROM audit ORDER BY audit_id DESC LIMIT ? OFFSET ?", (limit, offset))
    return [Entry(**{name: row[name] for name in Entry.model_fields}) for row in rows]


def _token(row) -> Token:  # noqa: ANN001 - a row
    return Token(**{name: row[name] for name in Token.model_fields})
