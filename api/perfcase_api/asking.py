"""From a route to an analysis and back: the question for the process, the headers of the answer, the cache."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack
from typing import Any, BinaryIO, TypeVar

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from perfcase.operations.request import operation_of
from perfcase_api.analysing import COUNTED
from perfcase_api.answers import keep_answer
from perfcase_api.errors import ApiError
from perfcase_api.line import urgency
from perfcase_api.question import Question
from perfcase_api.state import Server
from perfcase_api.who import Who

_T = TypeVar("_T")

MEDIA = {
    "json": "application/json",
    "columns": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
    "text": "text/plain; charset=utf-8",
    "svg": "image/svg+xml",
    "functions": "application/json",
    "neighbours": "application/json",
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "binary": "application/octet-stream",
    "tar": "application/x-tar",
    "events": "text/event-stream",
}
READS = "Perfcase-Bytes-Read"
"""The header that says how many bytes of the tables' files a query read for this answer: 0 for one that was kept. A long answer begins before that is
known, and does not have it."""
PACKED = (MEDIA["parquet"], MEDIA["binary"], MEDIA["tar"])
"""What is compressed as it is."""
_PART = 64 << 10
_POLL_S = 0.25
"""How often it is looked whether somebody still waits."""


class Held(StreamingResponse):
    """An answer in parts, and what they come from: that is let go in every case, also if the client goes away before the first part."""

    def __init__(self, stack: AsyncExitStack, parts: AsyncIterator[bytes], media: str, headers: dict[str, str]) -> None:
        super().__init__(parts, media_type=media, headers=headers)
        self._stack = stack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._stack:
            await super().__call__(scope, receive, send)


async def ask(here: Server, who: Who, http: Request, question: Question, media: str) -> Response:
    """Answer a question, from the cache or now. Those who ask the same at the same time get the answer of one process.

    The answer streams. An error that comes after its first byte can only cut it, which a client sees: the last chunk is missing.
    """
    ids = question.of
    etag = here.answers.etag(ids, [question.key])
    # Weak: compressed or not, it says the same.
    headers = {"ETag": f'W/"{etag}"', "Cache-Control": "private, no-cache"}
    is_counted = operation_of(question.request) in COUNTED
    if is_counted:
        headers[READS] = "0"
    if f'"{etag}"' in http.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    stack = AsyncExitStack()

    async def found() -> BinaryIO | None:
        return await asyncio.to_thread(here.answers.find, etag, ids)

    async def keep(answer: bytes) -> None:
        await asyncio.to_thread(keep_answer, here.answers, here.catalogue, etag, ids, answer)

    async def begin() -> BinaryIO | AsyncIterator[bytes]:
        await stack.enter_async_context(
            here.jobs.turn(str(who.token_id), etag, urgency(http.headers.get("priority", "")))
        )
        # Somebody else may have asked it while this one waited.
        if kept := await found():
            return kept
        folders = [here.uploads.case(capture_id) for capture_id in ids]
        source = here.settings.source if operation_of(question.request) == "annotate" else ()
        order = {**question.order(), "source": [*map(str, source)]}
        job = await stack.enter_async_context(here.jobs.answer(etag, order, [*folders, *source], keep))
        output = job.output()
        # The first bytes decide between an answer and an error.
        first = await anext(output, b"")
        if is_counted:
            read = await job.bytes_read()
            headers.pop(READS)
            if read is not None:
                headers[READS] = str(read)
        return _after(first, output)

    try:
        answer = await found() or await while_connected(http, begin())
    except BaseException:
        await stack.aclose()
        raise
    if isinstance(answer, AsyncIterator):
        return Held(stack, answer, media, headers)
    stack.enter_context(answer)
    return Held(stack, _read(answer), media, {**headers, "Content-Length": str(os.fstat(answer.fileno()).st_size)})


async def _read(kept: BinaryIO) -> AsyncIterator[bytes]:
    """Yield a kept answer in parts: a slow reader holds only one part in memory."""
    while part := kept.read(_PART):
        yield part


async def _after(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for part in rest:
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


def rows_max(here: Server, limit: int | None) -> None:
    """Refuse a table with too many rows."""
    if limit and limit > here.settings.limits.job_rows:
        raise ApiError("usage", f"limit: at most {here.settings.limits.job_rows:,} rows", "page with offset")
