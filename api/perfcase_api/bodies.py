"""A limit for the body of a request: JSON is read before the token is checked, so it must be short.

The bytes of an upload are read after the check of the token, and have their own limits (perfcase_api.uploads).
"""

from __future__ import annotations

import re

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perfcase_api.errors import body

_STREAMED = re.compile(r"POST (/.*)?/v1/captures|PATCH (/.*)?/v1/uploads/[^/]*")


class BodyLimit:
    """Refuses a body that is longer than ``bytes_max``, at the latest when it has become so."""

    def __init__(self, app: ASGIApp, bytes_max: int) -> None:
        self._app = app
        self._bytes_max = bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _STREAMED.fullmatch(f"{scope['method']} {scope['path']}"):
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        what = f"a request has at most {self._bytes_max:,} bytes"
        if announced.isdecimal() and int(announced) > self._bytes_max:
            await JSONResponse(body("too_large", what), 413, {"Connection": "close"})(scope, receive, send)
            return
        came = 0

        async def bounded() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > self._bytes_max:
                raise HTTPException(413, what)
            return message

        await self._app(scope, bounded, send)
