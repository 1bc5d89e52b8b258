"""Sign in with an account of an identity provider: the authorization code flow of OpenID Connect, with PKCE.

Authlib makes the requests and checks the claims; joserfc checks the signatures. This module selects the claims, and connects an
answer to the browser that began: a secret in a cookie, valid once, whose state, nonce and code verifier stay in the server.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from perfcase_api.configuration import is_safe
from perfcase_api.errors import ApiError
from perfcase_api.settings import Oidc, Rule
from perfcase_api.who import SIGN_IN_S

_PENDING_MAX = 10_000
_CACHE_S = 3600.0
_REFETCH_S = 30.0
_TIMEOUT_S = 15.0
_ANSWER_MAX = 1 << 20
_LEEWAY_S = 60
_NAME_MAX = 100
# Signatures that the provider's public key checks. With HS256 or none anybody could have written the token.
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]


@dataclass(frozen=True)
class Person:
    """Who signed in, and what the rules make of them."""

    issuer: str
    subject: str
    name: str
    rule: Rule


@dataclass(frozen=True)
class _PendingSignIn:
    state: str
    nonce: str
    verifier: str
    until: float


class Provider:
    """The identity provider of a server."""

    def __init__(self, oidc: Oidc) -> None:
        self._oidc = oidc
        self._begun: OrderedDict[str, _PendingSignIn] = OrderedDict()
        self._metadata: dict[str, Any] = {}
        self._keys: KeySet | None = None
        self._known_at = 0.0

    @property
    def redirect_uri(self) -> str:
        """Where the provider sends the browser back to.

        It comes from the settings, never from a request: a request says what it likes.
        """
        return f"{self._oidc.url.rstrip('/')}/v1/oidc/callback"

    async def begin(self) -> tuple[str, str]:
        """Return where to send the browser, and the secret for its cookie."""
        await self._know(_CACHE_S)
        secret = secrets.token_urlsafe(32)
        begun = _PendingSignIn(
            *(secrets.token_urlsafe(32) for _ in range(2)), secrets.token_urlsafe(48), time.monotonic() + SIGN_IN_S
        )
        self._begun[secret] = begun
        if len(self._begun) > _PENDING_MAX:
            self._begun.popitem(last=False)
        async with self._client() as client:
            url, _ = client.create_authorization_url(
                self._metadata["authorization_endpoint"],
                state=begun.state,
                nonce=begun.nonce,
                code_verifier=begun.verifier,
            )
        return url, secret

    async def finish(self, secret: str, state: str, code: str, issuer: str | None) -> Person:
        """Return the person who came back with a code."""
        # Taken out at once: a second answer to the same question is refused.
        begun = self._begun.pop(secret, None)
        if (
            begun is None
            or begun.until < time.monotonic()
            or not hmac.compare_digest(begun.state.encode(), state.encode())
        ):
            raise _refused("this browser did not begin to sign in, or too long ago", "begin again: GET /v1/oidc")
        if issuer is not None and issuer != self._oidc.issuer:
            raise _refused("another provider answered")
        await self._know(_CACHE_S)
        try:
            async with self._client() as client:
                answer = await client.fetch_token(
                    self._metadata["token_endpoint"],
                    grant_type="authorization_code",
                    code=code,
                    code_verifier=begun.verifier,
                )
        except (AuthlibBaseError, httpx2.HTTPError, ValueError) as error:
            raise _refused(f"the provider refused the code: {_short(error)}") from error
        return self._person(await self._claims(answer, begun.nonce))

    async def _claims(self, answer: dict[str, Any], nonce: str) -> dict[str, Any]:
        """Return the ID token's claims: of this provider, for us, of now, signed, and an answer to our question."""
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise _refused("the provider sent no ID token")
        try:
            read = self._read(token)
        except JoseError:
            # Signed with a key that the provider has not published to this server yet.
            await self._know(_REFETCH_S)
            try:
                read = self._read(token)
            except JoseError as error:
                raise _refused(f"the ID token is not signed by the provider: {_short(error)}") from error
        wanted = {
            "iss": {"essential": True, "value": self._oidc.issuer},
            "aud": {"essential": True, "value": self._oidc.client_id},
            "sub": {"essential": True},
            "exp": {"essential": True},
            "iat": {"essential": True},
            "nonce": {"essential": True, "value": nonce},
        }
        given = {"nonce": nonce, "client_id": self._oidc.client_id, "access_token": answer.get("access_token")}
        try:
            claims = CodeIDToken(read.claims, read.header, wanted, given)
            claims.validate(leeway=_LEEWAY_S)
        except (JoseError, AuthlibBaseError, ValueError, TypeError, KeyError) as error:
            raise _refused(f"the ID token is not for us: {_short(error)}") from error
        return dict(claims)

    def _read(self, token: str) -> jwt.Token:
        if self._keys is None:
            raise _refused("the provider has no keys")
        try:
            return jwt.decode(
                token, self._keys, registry=JWSRegistry(algorithms=_ALGORITHMS, strict_check_header=False)
            )
        except (ValueError, TypeError, KeyError) as error:
            raise _refused(f"the ID token cannot be read: {_short(error)}") from error

    def _person(self, claims: dict[str, Any]) -> Person:
        subject = claims["sub"]
        if not isinstance(subject, str) or not subject:
            raise _refused("the ID token names nobody")
        value: Any = claims
        for step in self._oidc.claim.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        values = value if isinstance(value, list) else [value]
        rule = next((rule for rule in self._oidc.rules if rule.value == "*" or rule.value in values), None)
        name = next(
            (claims[key] for key in ("preferred_username", "email", "name") if isinstance(claims.get(key), str)),
            subject,
        )
        shown = "".join(char for char in name if char.isprintable())[:_NAME_MAX]
        if rule is None:
            raise ApiError("not_permitted", f"{shown} has none of the accounts that may sign in",
                           f"an admin can add a rule for one of {self._oidc.claim}")  # fmt: skip
        return Person(self._oidc.issuer, subject, shown or "-", rule)

    async def _know(self, age_s: float) -> None:
        """Fetch the addresses and keys of the provider, if those in memory are older than this."""
        if self._keys is not None and time.monotonic() - self._known_at < age_s:
            return
        issuer = self._oidc.issuer
        metadata = await self._fetch(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if metadata.get("issuer") != issuer:
            raise _unreachable("it says that it is another issuer")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            if not isinstance(metadata.get(name), str) or not is_safe(metadata[name]):
                raise _unreachable(f"its {name} is not an https address")
        try:
            keys = KeySet.import_key_set(await self._fetch(metadata["jwks_uri"]))
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise _unreachable("its keys cannot be read") from error
        self._metadata, self._keys, self._known_at = metadata, keys, time.monotonic()

    async def _fetch(self, url: str) -> dict[str, Any]:
        try:
            async with httpx2.AsyncClient(transport=_Bounded(), timeout=_TIMEOUT_S) as client:
                answer = await client.get(url)
                answer.raise_for_status()
                reply = answer.json()
        except (httpx2.HTTPError, ValueError) as error:
            raise _unreachable(_short(error)) from error
        if not isinstance(reply, dict):
            raise _unreachable("not an answer of a provider")
        return reply

    def _client(self) -> AsyncOAuth2Client:
        return AsyncOAuth2Client(
            self._oidc.client_id,
            self._oidc.client_secret or None,
            token_endpoint_auth_method="client_secret_basic" if self._oidc.client_secret else "none",
            scope=self._oidc.scope,
            redirect_uri=self.redirect_uri,
            code_challenge_method="S256",
            transport=_Bounded(),
            timeout=_TIMEOUT_S,
            follow_redirects=False,
        )


class _Bounded(httpx2.AsyncHTTPTransport):
    """Answers no longer than they need to be."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request and return the whole answer."""
        request.headers["Accept-Encoding"] = "identity"
        answer = await super().handle_async_request(request)
        content = b""
        async for chunk in answer.stream:  # type: ignore[union-attr] - of an asynchronous transport
            content += chunk
            if len(content) > _ANSWER_MAX:
                await answer.aclose()
                raise httpx2.RemoteProtocolError("the answer is too long")
        await answer.aclose()
        kind = {"Content-Type": answer.headers.get("content-type", "")}
        return httpx2.Response(answer.status_code, headers=kind, content=content)


def _refused(what: str, hint: str = "begin again: GET /v1/oidc") -> ApiError:
    return ApiError("unauthorized", what, hint)


def _unreachable(what: str) -> ApiError:
    return ApiError("environment", f"the identity provider: {what}", "signing in with a token still works")


def _short(error: Exception) -> str:
    """Return the first line of an error, which may hold text of the provider."""
    text = (str(error) or type(error).__name__).splitlines()[0]
    return "".join(char for char in text if char.isprintable())[:200]
