"""HEAD for each GET: the same answer without its body, which is not computed to its end."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadMiddleware:
    """Asks the routes with GET and ends the answer where its body begins."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        is_over = False

        async def headed(message: Message) -> None:
            nonlocal is_over
            if is_over:
                return
            is_over = message["type"] == "http.response.body"
            await send({"type": "http.response.body", "body": b"", "more_body": False} if is_over else message)

        asked = {**scope, "method": "GET"}
        await self._app(asked, receive, headed)
        scope["route"] = asked.get("route")
