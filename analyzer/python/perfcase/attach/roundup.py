"""Roundup, by its REST API: a file, a message, and both linked to the issue in one step."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Iterable
from typing import Any

from perfcase.attach import CREDENTIALS, Attachment, form
from perfcase.errors import PerfcaseError
from perfcase.server_client import web

_EXAMPLE = "--tracker https://HOST/TRACKER/"
_TIMEOUT_S = 600.0
_TRIES = 3
_HINTS = {
    401: f"set {CREDENTIALS} to USER:PASSWORD, or give --credentials FILE",
    403: "the user may not do this: see the tracker's roles (Rest Access, Create file and msg, Edit issue)",
    404: "is it the address of the tracker, and does it allow REST (enable_rest in its config.ini)?",
    413: "the tracker takes no file of this size: --summary sends the findings alone",
}


class Adapter:
    """A Roundup tracker."""

    def __init__(self, url: str, authorization: str | None) -> None:
        self._url = web.checked(url, _EXAMPLE)
        self._author = _author(authorization)
        parts = urllib.parse.urlsplit(self._url)
        # Roundup takes a changing request only from where it believes its own pages to be.
        self._headers = {
            "Accept": "application/json",
            "X-Requested-With": "rest",
            "Origin": f"{parts.scheme}://{parts.netloc}",
            "Referer": f"{self._url}/",
            **({"Authorization": authorization} if authorization else {}),
        }

    def plan(self, issue: str, text: str, attachment: Attachment) -> list[str]:
        """Return the requests, one line each."""
        rest = f"{self._url}/rest/data"
        return [
            f"GET {rest}/issue/{issue}",
            f"POST {rest}/file ({attachment.name}, {attachment.size_bytes:,} bytes)",
            f"POST {rest}/msg ({len(text):,} characters)",
            f"PATCH {rest}/issue/{issue} (adds both)",
        ]

    def attach(self, issue: str, text: str, attachment: Attachment) -> str:
        """Create a file and a message. The issue gets both or none."""
        place = f"issue/{urllib.parse.quote(issue, safe='')}"
        # BaseRequest first: a large file is not to be sent for an issue that is not there.
        self._ask("GET", place)
        body, headers = form({"name": attachment.name, "type": attachment.media}, "content", attachment)
        file_id = self._ask("POST", "file", body, headers)["id"]
        message_id = self._json("POST", "msg", {"content": text, "author": self._author, "date": "."})["id"]
        change = {"@op": "add", "files": str(file_id), "messages": str(message_id)}
        for left in reversed(range(_TRIES)):
            etag = self._ask("GET", place).get("@etag", "")
            try:
                self._json("PATCH", place, change, {"If-Match": etag})
                break
            except _Changed:
                # Somebody else wrote into the issue in between.
                if not left:
                    raise
        return f"{self._url}/issue{issue}"

    def _json(self, method: str, place: str, what: dict, headers: dict[str, str] | None = None) -> dict[str, Any]:
        return self._ask(
            method, place, json.dumps(what).encode(), {"Content-Type": "application/json", **(headers or {})}
        )

    def _ask(
        self,
        method: str,
        place: str,
        body: bytes | Iterable[bytes] | None = None,
        headers: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        url = f"{self._url}/rest/data/{place}"
        try:
            with web.send(method, url, body, {**self._headers, **(headers or {})}, _TIMEOUT_S, self._refused) as answer:
                reply = json.loads(answer.read())["data"]
        except (ValueError, KeyError, TypeError, *web.CUT) as error:
            raise PerfcaseError("input", f"{url}: not an answer of Roundup's REST API", _HINTS[404]) from error
        return reply if isinstance(reply, dict) else {}

    def _refused(self, status: int, reason: str, body: bytes) -> PerfcaseError:
        try:
            reply = str(json.loads(body)["error"]["msg"])
        except (ValueError, KeyError, TypeError):
            reply = reason
        if status == 412:
            return _Changed("environment", f"{self._url}: the issue changes all the time", "try again")
        kind = {401: "not_permitted", 403: "not_permitted", 404: "not_found", 413: "usage"}.get(status, "environment")
        return PerfcaseError(kind, f"{self._url}: HTTP {status}: {reply}", _HINTS.get(status))


def _author(authorization: str | None) -> str:
    """Return the user: Roundup gives messages by REST no author, and rejects issues with such messages."""
    scheme, _, value = (authorization or "").partition(" ")
    try:
        if scheme == "Basic":
            return base64.b64decode(value).decode().partition(":")[0]
        # A token of Roundup's is a JWT, whose subject is the user's number.
        payload = value.split(".")[1]
        return str(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["sub"])
    except (ValueError, IndexError, KeyError, TypeError):
        raise PerfcaseError(
            "usage", "Roundup wants to know who attaches", f"set {CREDENTIALS} to USER:PASSWORD or a JWT"
        ) from None


class _Changed(PerfcaseError):
    """The issue is not what it was when its ETag was read."""
