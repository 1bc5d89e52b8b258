"""From a route to an analysis and back: the question for the process, the headers of the answer, the cache."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect

from perfcase.operations.request import BaseRequest, encode, operation_of
from perfcase_api.errors import ApiError
from perfcase_api.state import Server
from perfcase_api.who import Who

_T = TypeVar("_T")

MEDIA = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
    "text": "text/plain; charset=utf-8",
    "svg": "image/svg+xml",
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "binary": "application/octet-stream",
    "tar": "application/x-tar",
    "events": "text/event-stream",
}
PACKED = (MEDIA["parquet"], MEDIA["binary"], MEDIA["tar"])
"""What is compressed as it is."""
_KEPT_MAX = 32 << 20
_PART = 64 << 10
_POLL_S = 0.25
"""How often it is looked whether somebody still waits."""


@dataclass(frozen=True)
class Question:
    """A request of an operation, for some captures."""

    request: BaseRequest
    captures: Sequence[str]
    """Their ids."""
    stores: Sequence[str] = ()
    """The ids of captures for a history or a baseline."""
    only: Sequence[str] = ()
    """The part of the captures (perfcase.case.scope)."""

    def order(self) -> dict[str, Any]:
        """Return it for perfcase_api.analysing, with folders relative to the one in which processes work."""
        return {
            "operation": operation_of(self.request),
            "request": encode(self.request),
            "captures": [f"{capture_id}/case" for capture_id in self.captures],
            "stores": [f"{capture_id}/case" for capture_id in self.stores],
            "only": list(self.only),
        }

    @property
    def of(self) -> list[str]:
        """Return the ids of all captures in it."""
        return [*self.captures, *self.stores]

    @property
    def key(self) -> str:
        """Return a text that identifies the question."""
        return json.dumps(self.order(), sort_keys=True)


async def ask(here: Server, who: Who, http: Request, question: Question, media: str) -> Response:
    """Answer a question, from the cache or now.

    The answer streams. An error that comes after its first byte can only cut it, which a client sees: the last chunk is missing.
    """
    ids = question.of
    etag = here.answers.etag(ids, [question.key])
    # Weak: compressed or not, it says the same.
    headers = {"ETag": f'W/"{etag}"', "Cache-Control": "private, no-cache"}
    if f'"{etag}"' in http.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    folders = [here.uploads.case(capture_id) for capture_id in ids]
    kept = await asyncio.to_thread(here.answers.find, etag, ids)
    end = here.answers.begin(etag) if kept is None else None
    if kept is None and end is None:
        # Somebody asks the same just now: it is worked out once.
        kept = await while_connected(http, here.answers.awaited(etag, ids, here.settings.limits.job_seconds))
        end = here.answers.begin(etag, again=True) if kept is None else None
    if kept is not None:
        size = os.fstat(kept.fileno()).st_size
        return StreamingResponse(_read(kept), media_type=media, headers={**headers, "Content-Length": str(size)})
    stack = AsyncExitStack()

    async def begin() -> tuple[bytes, AsyncIterator[bytes]]:
        job = await stack.enter_async_context(here.jobs.run(str(who.token_id), question.order(), folders))
        output = job.output()
        # The first bytes decide between an answer and an error.
        return await anext(output, b""), output

    try:
        first, output = await while_connected(http, begin())
    except BaseException:
        end()
        await stack.aclose()
        raise
    rest = _rest(here, stack, (etag, ids), first, output, end)
    return StreamingResponse(rest, media_type=media, headers=headers)


async def _read(kept: BinaryIO) -> AsyncIterator[bytes]:
    """Yield a kept answer in parts: a slow reader holds only one part in memory."""
    with kept:
        while part := kept.read(_PART):
            yield part


async def while_connected(request: Request, work: Coroutine[Any, Any, _T]) -> _T:
    """Return the result of the work. If the client disconnects, cancel the work, even if it has not begun."""
    task = asyncio.create_task(work)
    try:
        while not (await asyncio.wait({task}, timeout=_POLL_S))[0]:
            if await request.is_disconnected():
                raise ClientDisconnect
        return task.result()
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _rest(
    here: Server,
    stack: AsyncExitStack,
    key: tuple[str, list[str]],
    first: bytes,
    output: AsyncIterator[bytes],
    end: Callable[[], None],
) -> AsyncIterator[bytes]:
    """Yield the whole output, kept on the way if it is not large."""
    try:
        async with stack:
            kept: bytearray | None = bytearray(first)
            yield first
            async for chunk in output:
                if kept is not None:
                    kept += chunk
                    if len(kept) > _KEPT_MAX:
                        kept = None
                        end()
                yield chunk
        if kept is not None:
            await asyncio.to_thread(here.answers.keep, *key, bytes(kept))
    finally:
        end()


def rows_max(here: Server, limit: int | None) -> None:
    """Refuse a table with too many rows."""
    if limit and limit > here.settings.limits.job_rows:
        raise ApiError("usage", f"limit: at most {here.settings.limits.job_rows:,} rows", "page with offset")
