"""SQL over a capture, or over all captures of a ticket."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field, create_model

from perfcase.operations import sql
from perfcase.operations.fields import Part
from perfcase_api import described
from perfcase_api.asked import body_of, request_of
from perfcase_api.asking import MEDIA, Question, ask, rows_max
from perfcase_api.errors import ApiError
from perfcase_api.state import Here, Me

router = APIRouter(prefix="/v1", tags=["analysis"])

_CAPTURES_MAX = 100
_ROWS = 10_000
"""How many rows are answered by default."""

Asked = create_model(
    "Question",
    __doc__="One SELECT, and what of.",
    **body_of(sql.Request, limit=_ROWS),
    capture_id=(Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None, None),
    ticket=(str | None, Field(None, max_length=200, description="All captures of this ticket.")),
    **body_of(Part),
)


@router.post("/sql", response_class=Response, responses=described.table(described.rows_of("capture_id")))
async def sql_(here: Here, me: Me, http: Request, asked: Asked) -> Response:
    """Rows of one SELECT, run in a process that can read these captures and nothing else; the first column is capture_id."""
    if (asked.capture_id is None) == (asked.ticket is None):
        raise ApiError("usage", "either capture_id or ticket", "see /openapi.json")
    if asked.capture_id:
        rows = [here.ready(me, asked.capture_id)]
    else:
        rows = [
            row
            for row in here.catalogue.rows(
                "SELECT * FROM capture WHERE ticket = ? AND state = 'ready' ORDER BY started_ns, capture_id",
                (asked.ticket,),
            )
            if me.sees(row["ticket"])
        ]
        if not rows:
            raise ApiError(
                "not_found", f"there is no imported capture of ticket {asked.ticket}", "GET /v1/captures lists them"
            )
        if len(rows) > _CAPTURES_MAX:
            raise ApiError("too_large", f"the ticket has {len(rows)} captures; at most {_CAPTURES_MAX}", "ask each")
    rows_max(here, asked.limit)
    request = request_of(sql.Request, asked, with_capture_id=True)
    only = request_of(Part, asked).conditions()
    question = Question(request, [row["capture_id"] for row in rows], only=only)
    return await ask(here, me, http, question, MEDIA[request.fmt])
