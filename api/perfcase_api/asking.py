"""From a route to an analysis and back: the command line's arguments, the answer's headers, what is kept."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any, BinaryIO, Literal, TypeVar

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect

from perfcase_api.catalogue import Row
from perfcase_api.errors import ApiError
from perfcase_api.state import Server
from perfcase_api.who import Who

_T = TypeVar("_T")

TableFormat = Literal["json", "csv", "arrow", "parquet"]

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
}
PACKED = (MEDIA["parquet"], MEDIA["binary"], MEDIA["tar"])
"""What is compressed as it is."""
_KEPT_MAX = 32 << 20
_PART = 64 << 10
_POLL_S = 0.25
"""How often it is looked whether somebody still waits."""


def option(name: str, value: object) -> list[str]:
    """Return ``--name=value`` if there is a value: one argument, so that no value is taken for an option."""
    if value is None or value is False:
        return []
    return [f"--{name}"] if value is True else [f"--{name}={value}"]


def only_options(**conditions: str | Sequence[str] | None) -> list[str]:
    """Return the --only options for keys of perfcase.case.scope, with one value or several per key."""
    return [
        f"--only={key}={value}"
        for key, given in conditions.items()
        for value in ([given] if isinstance(given, str) else given or ())
    ]


async def ask(
    here: Server,
    who: Who,
    request: Request,
    captures: Sequence[Row],
    command: str,
    arguments: Sequence[str],
    media: str,
) -> Response:
    """Run ``perfcase COMMAND ARGUMENTS`` on captures; in the arguments ``{0}``, ``{1}`` … stand for their folders.

    The answer streams. An error that comes after its first byte can only cut it, which a client sees: the last chunk is missing.
    """
    ids = [row["capture_id"] for row in captures]
    etag = here.answers.etag(ids, [command, *arguments])
    # Weak: compressed or not, it says the same.
    headers = {"ETag": f'W/"{etag}"', "Cache-Control": "private, no-cache"}
    if f'"{etag}"' in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    folders = [here.uploads.case(capture_id) for capture_id in ids]
    names = {f"{{{number}}}": f"{capture_id}/case" for number, capture_id in enumerate(ids)}
    line = [command, *(names.get(argument, argument) for argument in arguments)]
    kept = await asyncio.to_thread(here.answers.find, etag, ids)
    end = here.answers.begin(etag) if kept is None else None
    if kept is None and end is None:
        # Somebody asks the same just now: it is worked out once.
        kept = await while_connected(request, here.answers.awaited(etag, ids, here.settings.limits.job_seconds))
        end = here.answers.begin(etag, again=True) if kept is None else None
    if kept is not None:
        size = os.fstat(kept.fileno()).st_size
        return StreamingResponse(_read(kept), media_type=media, headers={**headers, "Content-Length": str(size)})
    stack = AsyncExitStack()

    async def begin() -> tuple[bytes, AsyncIterator[bytes]]:
        job = await stack.enter_async_context(here.jobs.run(str(who.token_id), line, folders))
        output = job.output()
        # The first bytes decide between an answer and an error.
        return await anext(output, b""), output

    try:
        first, output = await while_connected(request, begin())
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


def rows_max(here: Server, limit: int) -> int:
    """Return how many rows a table may have."""
    if limit > here.settings.limits.job_rows:
        raise ApiError("usage", f"limit: at most {here.settings.limits.job_rows:,} rows", "page with offset")
    return limit
