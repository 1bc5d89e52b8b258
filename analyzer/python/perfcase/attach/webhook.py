"""A webhook: one POST of a form with issue, text and the file, for whatever takes it from there."""

from __future__ import annotations

from perfcase.attach import CREDENTIALS, Attachment, form
from perfcase.errors import PerfcaseError
from perfcase.server_client import web

_TIMEOUT_S = 600.0


class Adapter:
    """An address that takes multipart/form-data: fields ``issue`` and ``text``, file ``file``."""

    def __init__(self, url: str, authorization: str | None) -> None:
        web.checked(url, "--tracker https://HOST/PATH")
        self._url = url
        self._headers = {"Authorization": authorization} if authorization else {}

    def plan(self, issue: str, text: str, attachment: Attachment) -> list[str]:
        """Return the request."""
        size = f"{attachment.name}, {attachment.size_bytes:,} bytes"
        return [f"POST {self._url} (issue {issue}; text, {len(text):,} characters; file {size})"]

    def attach(self, issue: str, text: str, attachment: Attachment) -> str:
        """Send all of it at once."""
        body, headers = form({"issue": issue, "text": text}, "file", attachment)
        web.send("POST", self._url, body, {**self._headers, **headers}, _TIMEOUT_S, self._refused).close()
        return self._url

    def _refused(self, status: int, reason: str, _body: bytes) -> PerfcaseError:
        is_forbidden = status in (401, 403)
        hint = f"set {CREDENTIALS}, or give --credentials FILE" if is_forbidden else "the receiver's log says more"
        return PerfcaseError(
            "not_permitted" if is_forbidden else "environment", f"{self._url}: HTTP {status} {reason}", hint
        )
