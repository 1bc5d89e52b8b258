"""Routes of imports: follow one or all of them, try one again, cancel one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse

from perfcase_api.errors import ApiError
from perfcase_api.responses import answers
from perfcase_api.routes.captures import Capture, CaptureId, deletable, described
from perfcase_api.state import Here, Me, Server, sse

router = APIRouter(prefix="/v1", tags=["imports"])


@router.get(
    "/captures/{capture_id}/progress",
    response_class=StreamingResponse,
    responses=answers("events", description="Events, as server-sent events are written."),
)
async def follow_import(here: Here, me: Me, capture_id: CaptureId) -> StreamingResponse:
    """Follow the import. Server-sent events ``import`` say ``{"state", "phase", "step", "steps", "records", "reason"}`` until it is done.

    While it waits they say its ``place`` in the queue, ``of`` how many imports. Where the importer knows them, ``done`` and ``total`` say how
    far the step is, in the ``unit`` ns (of the recording's time) or questions.
    """
    here.capture(me, capture_id)

    async def events() -> AsyncIterator[bytes]:
        async for state in here.imports.follow(capture_id):
            yield sse("import", state)

    return StreamingResponse(events(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@router.get(
    "/imports",
    response_class=StreamingResponse,
    responses=answers("events", description="Events, as server-sent events are written."),
)
async def follow_imports(here: Here, me: Me) -> StreamingResponse:
    """Follow all imports in scope. Server-sent events ``imports`` list those that wait or work, until there is none.

    Each has its ``capture_id``, what the events of its own progress say, and ``is_new``: whether cancelling it leaves
    nothing. What has ended is listed once more, as ready, failed with its reason, or gone.
    """

    async def events() -> AsyncIterator[bytes]:
        async for states in here.imports.follow_all(me.sees):
            yield sse("imports", states)

    return StreamingResponse(events(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@router.post("/captures/{capture_id}/import", status_code=202)
def import_again(here: Here, me: Me, capture_id: CaptureId) -> Capture:
    """Try a failed import again."""
    me.needs("uploader")
    row = here.capture(me, capture_id)
    if row["state"] != "failed":
        raise ApiError("conflict", f"the capture is {row['state']}", "only a failed import can be tried again")
    here.catalogue.write(
        "UPDATE capture SET state = 'uploaded', reason = NULL WHERE capture_id = ? AND state = 'failed'", (capture_id,)
    )
    here.imports.add(capture_id)
    return described(here, here.capture(me, capture_id))


@router.delete("/captures/{capture_id}/import", status_code=204)
async def cancel_import(here: Here, me: Me, capture_id: CaptureId) -> Response:
    """Cancel the first import of a capture, waiting or at work. Nothing is left: neither the file nor what was imported of it.

    Who may delete the capture may cancel its import.
    """
    deletable(here, me, capture_id)
    await cancel(here, capture_id)
    return Response(status_code=204)


async def cancel(here: Server, capture_id: str) -> None:
    """End the first import of a capture and remove all of it."""
    if not await asyncio.to_thread(here.uploads.forget_new, capture_id):
        raise ApiError("conflict", "the capture was imported before", "delete it, if it is not wanted")
    await here.imports.stop(capture_id)
    await asyncio.to_thread(here.uploads.remove, capture_id)
