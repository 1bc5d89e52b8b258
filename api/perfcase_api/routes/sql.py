"""SQL over a capture, or over all captures of a ticket."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from perfcase.case.scope import KEYS
from perfcase_api.asking import MEDIA, TableFormat, ask, only_options, option, rows_max
from perfcase_api.errors import ApiError
from perfcase_api.routes.analysis import TABLE
from perfcase_api.state import Here, Me

router = APIRouter(prefix="/v1", tags=["analysis"])

_CAPTURES_MAX = 100

Names = Annotated[list[str] | None, Field(max_length=20)]


class Question(BaseModel):
    """One SELECT, and what of."""

    sql: str = Field(
        min_length=1, max_length=100_000, examples=["SELECT comm, on_cpu_ns FROM thread_time ORDER BY 2 DESC LIMIT 5"]
    )
    capture_id: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    ticket: str | None = Field(None, max_length=200, description="All captures of this ticket.")
    format: TableFormat = "json"
    limit: int = Field(10_000, ge=1)
    window: str | None = Field(
        None, max_length=50, description="Only this time of each capture.", examples=["10s..20s"]
    )
    process: Names = Field(None, description="Only processes of these names or pids.")
    thread: Names = Field(None, description="Only threads of these names or tids.")
    cpu: Names = Field(None, description="Only what happened there.")
    cgroup: Names = Field(None, description="Only what is in these control groups.")


@router.post("/sql", responses=TABLE)
async def sql(here: Here, me: Me, request: Request, question: Question) -> Response:
    """Rows of one SELECT, run in a process that can read these captures and nothing else; the first column is capture_id."""
    if (question.capture_id is None) == (question.ticket is None):
        raise ApiError("usage", "either capture_id or ticket", "see /openapi.json")
    if question.capture_id:
        rows = [here.ready(me, question.capture_id)]
    else:
        rows = [
            row
            for row in here.catalogue.rows(
                "SELECT * FROM capture WHERE ticket = ? AND state = 'ready' ORDER BY started_ns, capture_id",
                (question.ticket,),
            )
            if me.sees(row["ticket"])
        ]
        if not rows:
            raise ApiError(
                "not_found", f"there is no imported capture of ticket {question.ticket}", "GET /v1/captures lists them"
            )
        if len(rows) > _CAPTURES_MAX:
            raise ApiError("too_large", f"the ticket has {len(rows)} captures; at most {_CAPTURES_MAX}", "ask each")
    also = [argument for number in range(1, len(rows)) for argument in ("--also", f"{{{number}}}")]
    arguments = ["{0}", *also, "--capture-id", *option("limit", rows_max(here, question.limit))]
    arguments += only_options(**{key: getattr(question, key) for key in KEYS})
    arguments += [*option("format", question.format), "--", question.sql]
    return await ask(here, me, request, rows, "sql", arguments, MEDIA[question.format])
