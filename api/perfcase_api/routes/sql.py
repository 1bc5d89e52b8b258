"""SQL over a capture, or over all captures of a ticket."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field, create_model

from perfcase.operations import sql
from perfcase.operations.fields import Part
from perfcase_api import responses
from perfcase_api.asking import MEDIA, Question, ask, rows_max
from perfcase_api.errors import ApiError
from perfcase_api.parameters import body_of, request_of
from perfcase_api.state import Here, Me

router = APIRouter(prefix="/v1", tags=["analysis"])

_CAPTURES_MAX = 100
_ROWS = 10_000
"""The default number of rows."""

Body = create_model(
    "Question",
    __doc__="One SELECT, and the captures to run it on.",
    **body_of(sql.Request, limit=_ROWS),
    capture_id=(Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None, None),
    ticket=(str | None, Field(None, max_length=200, description="All captures of this ticket.")),
    **body_of(Part),
)


@router.post("/sql", response_class=Response, responses=responses.counted(responses.rows_of("capture_id")))
async def sql_(here: Here, me: Me, http: Request, body: Body) -> Response:
    """Run one SELECT in a process that can read these captures and nothing else. The first column is capture_id."""
    if (body.capture_id is None) == (body.ticket is None):
        raise ApiError("usage", "give either capture_id or ticket", "see /openapi.json")
    if body.capture_id:
        rows = [here.ready(me, body.capture_id)]
    else:
        rows = [
            row
            for row in here.catalogue.rows(
                "SELECT * FROM capture WHERE ticket = ? AND state = 'ready' ORDER BY started_ns, capture_id",
                (body.ticket,),
            )
            if me.sees(row["ticket"])
        ]
        if not rows:
            raise ApiError(
                "not_found", f"there is no imported capture of ticket {body.ticket}", "GET /v1/captures lists them"
            )
        if len(rows) > _CAPTURES_MAX:
            raise ApiError("too_large", f"the ticket has {len(rows)} captures; at most {_CAPTURES_MAX}", "ask each")
    rows_max(here, body.limit)
    request = request_of(sql.Request, body, with_capture_id=True)
    only = request_of(Part, body).conditions()
    question = Question(request, [row["capture_id"] for row in rows], only=only)
    return await ask(here, me, http, question, MEDIA[request.fmt])
