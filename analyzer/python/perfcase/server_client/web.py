"""Requests over HTTP(S) with the standard library, and their failures as ours."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable
from http.client import HTTPException, HTTPResponse

from perfcase.errors import PerfcaseError

CUT = (OSError, HTTPException)
"""What an answer that breaks off raises while it is read."""
_ERROR_MAX = 1 << 20


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Credentials are for the server that they were given for, not for where that one points."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def checked(url: str, example: str) -> str:
    """Return an address without its last slash; anything but http and https is refused."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise PerfcaseError("usage", f"{url}: not the address of a server", example)
    if parts.password or parts.username:
        raise PerfcaseError(
            "usage", "the address holds credentials, which other users of this machine can see", example
        )
    return url.rstrip("/")


def send(
    method: str,
    url: str,
    data: bytes | Iterable[bytes] | None,
    headers: dict[str, str],
    timeout_s: float,
    refused: Callable[[int, str, bytes], PerfcaseError],
) -> HTTPResponse:
    """Send one request. ``refused`` converts an error answer into an exception, from its status, reason and body."""
    request = urllib.request.Request(url, data, headers, method=method)  # type: ignore[arg-type] - any iterable will do
    try:
        return _OPENER.open(request, timeout=timeout_s)
    except urllib.error.HTTPError as error:
        with error:
            try:
                body = error.read(_ERROR_MAX)
            except CUT:
                body = b""
            raise refused(error.code, error.reason, body) from None
    except CUT as error:
        host = urllib.parse.urlsplit(url).netloc
        raise PerfcaseError(
            "environment", f"{host}: {getattr(error, 'reason', error)}", "does a server answer there?"
        ) from error
