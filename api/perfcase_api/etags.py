"""An ETag for each JSON answer without one, from its content. A client that has the answer gets 304 and no body.

Answers of analyses have an ETag from the question (perfcase_api.asking), and are not computed again. The others come from the catalogue:
they are cheap, and stay the same until somebody changes something.
"""

from __future__ import annotations

import hashlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_READS = ("GET", "HEAD")


class ETagMiddleware:
    """Waits for the one body of such an answer; all others pass as they come."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in _READS:
            await self._app(scope, receive, send)
            return
        held: Message | None = None

        async def tagged(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and _is_ours(message):
                held = message
                return
            if held is None:
                await send(message)
                return
            start, held = held, None
            # A body of several parts is a stream, of which nobody knows the whole yet.
            if not message.get("more_body"):
                headers = MutableHeaders(scope=start)
                etag = f'"{hashlib.sha256(message.get("body", b"")).hexdigest()[:40]}"'
                # Weak: compressed or not, it says the same.
                headers["ETag"] = f"W/{etag}"
                headers.setdefault("Cache-Control", "private, no-cache")
                if etag in Headers(scope=scope).get("if-none-match", ""):
                    start["status"] = 304
                    del headers["content-length"]
                    del headers["content-type"]
                    message = {**message, "body": b""}
            await send(start)
            await send(message)

        await self._app(scope, receive, tagged)


def _is_ours(message: Message) -> bool:
    headers = Headers(scope=message)
    return (
        message["status"] == 200
        and "etag" not in headers
        and headers.get("content-type", "").startswith("application/json")
        and headers.get("cache-control") != "no-store"
    )
