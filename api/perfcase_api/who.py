"""Permissions: tokens with a role and a ticket prefix, sessions of the page, and the limit of requests."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal

from perfcase_api.catalogue import Catalogue, Row, now_ns
from perfcase_api.errors import ApiError

Role = Literal["viewer", "uploader", "admin"]
_RANK = {"viewer": 0, "uploader": 1, "admin": 2}

COOKIE = "perfcase_session"
SESSION_S = 12 * 3600
SIGN_IN_S = 600
"""How long one may take to sign in at an identity provider."""
_BUCKETS_MAX = 10_000


@dataclass(frozen=True)
class Who:
    """The user of a request."""

    name: str
    role: Role
    ticket_prefix: str = ""
    token_id: int | None = None

    def needs(self, role: Role) -> None:
        """Refuse a caller who has less than this role."""
        if _RANK[self.role] < _RANK[role]:
            raise ApiError("not_permitted", f"{self.name} is a {self.role}", f"this needs a token of role {role}")

    def sees(self, ticket: str) -> bool:
        """Return whether captures of a ticket are in scope."""
        return ticket.startswith(self.ticket_prefix)


ANONYMOUS_ADMIN = Who("open", "admin")
"""The user of a server without tokens (--open)."""


class Tokens:
    """The tokens and sessions of a catalogue. Only hashes are kept: a reader of the file cannot sign in."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def first(self, issuer: str | None = None) -> str | None:
        """Create a token for an admin of all tickets if none is valid: at the first start, or when the last one expired."""
        if self._catalogue.row(f"{_ADMINS} LIMIT 1", {"now": now_ns(), "issuer": issuer}):
            return None
        return self.create("first admin", "admin", "", None)[1]

    def create(self, name: str, role: Role, ticket_prefix: str, expires_ns: int | None) -> tuple[int, str]:
        """Create a token. Return its number and its secret, which is shown only once."""
        secret = f"pc_{secrets.token_urlsafe(32)}"
        number = self._catalogue.write(
            "INSERT INTO token (name, hash, role, ticket_prefix, created_ns, expires_ns) VALUES (?, ?, ?, ?, ?, ?)",
            (name, _hash(secret), role, ticket_prefix, now_ns(), expires_ns),
        )
        return number, secret

    def person(self, issuer: str, subject: str, name: str, role: str, ticket_prefix: str) -> int | None:
        """Return the token that stands for a person of an identity provider, as the provider describes them now; None if it was revoked."""
        with self._catalogue.writing() as db:
            row = db.execute(
                "INSERT INTO token (name, hash, role, ticket_prefix, created_ns, issuer, subject) VALUES (?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (issuer, subject) DO UPDATE SET name = excluded.name, role = excluded.role,"
                " ticket_prefix = excluded.ticket_prefix RETURNING token_id, revoked_ns",
                # The hash of a secret that nobody has.
                (name, _hash(secrets.token_urlsafe(32)), role, ticket_prefix, now_ns(), issuer, subject),
            ).fetchone()
        return None if row["revoked_ns"] is not None else row["token_id"]

    def revoke(self, me: Who, token_id: int, issuer: str | None = None) -> bool:
        """End a token in scope and its sessions. Return whether there was one to end. Not that of the last admin of all tickets.

        ``issuer``: the identity provider whose people can sign in.
        """
        with self._catalogue.writing() as db:
            row = db.execute(
                "SELECT ticket_prefix FROM token WHERE token_id = ? AND revoked_ns IS NULL", (token_id,)
            ).fetchone()
            if row is None or not me.sees(row["ticket_prefix"]):
                return False
            admins = [each["token_id"] for each in db.execute(_ADMINS, {"now": now_ns(), "issuer": issuer})]
            if admins == [token_id]:
                raise ApiError(
                    "conflict", "this is the last admin of all tickets", "make another first: POST /v1/tokens"
                )
            db.execute("DELETE FROM session WHERE token_id = ?", (token_id,))
            db.execute("UPDATE token SET revoked_ns = ? WHERE token_id = ?", (now_ns(), token_id))
            return True

    def by_secret(self, secret: str) -> Who | None:
        """Return the owner of this token, if it is valid now."""
        return _who(self._catalogue.row(f"{_VALID} WHERE t.hash = :hash AND {_NOW}", _values(secret)))

    def by_session(self, secret: str) -> Who | None:
        """Return the owner of this session, if it is valid now."""
        return _who(
            self._catalogue.row(
                f"{_VALID} JOIN session AS s USING (token_id) WHERE s.hash = :hash AND s.expires_ns > :now AND {_NOW}",
                _values(secret),
            )
        )

    def open_session(self, token_id: int) -> str:
        """Return a session of a token; its secret goes into a cookie."""
        secret = secrets.token_urlsafe(32)
        with self._catalogue.writing() as db:
            db.execute("DELETE FROM session WHERE expires_ns <= ?", (now_ns(),))
            expires = now_ns() + SESSION_S * 1_000_000_000
            db.execute("INSERT INTO session VALUES (?, ?, ?)", (_hash(secret), token_id, expires))
        return secret

    def close_session(self, secret: str) -> None:
        """End a session."""
        self._catalogue.write("DELETE FROM session WHERE hash = ?", (_hash(secret),))


class RateLimit:
    """How often one may ask: a bucket of a minute's requests for each client, filled evenly."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> None:
        """Count one request, or reject it and say when to try again."""
        now = time.monotonic()
        left, at = self._buckets.pop(client, (float(self._per_minute), now))
        left = min(self._per_minute, left + (now - at) * self._per_minute / 60)
        self._buckets[client] = (max(0.0, left - 1), now)
        if len(self._buckets) > _BUCKETS_MAX:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = max(1, round((1 - left) * 60 / self._per_minute))
            raise ApiError(
                "too_many",
                f"more than {self._per_minute} requests a minute",
                f"come again in {wait} s",
                headers={"Retry-After": str(wait)},
            )


_VALID = "SELECT t.token_id, t.name, t.role, t.ticket_prefix FROM token AS t"
_NOW = "t.revoked_ns IS NULL AND (t.expires_ns IS NULL OR t.expires_ns > :now)"

_ADMINS = (
    f"SELECT t.token_id FROM token AS t WHERE t.role = 'admin' AND t.ticket_prefix = '' AND {_NOW}"
    " AND (t.issuer IS NULL OR t.issuer = :issuer)"
)
"""Who may do everything now; of the people of an identity provider those of the one that is configured."""


def _values(secret: str) -> dict[str, str | int]:
    return {"hash": _hash(secret), "now": now_ns()}


def _who(row: Row | None) -> Who | None:
    return Who(row["name"], row["role"], row["ticket_prefix"], row["token_id"]) if row else None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
