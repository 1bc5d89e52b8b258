"""The route of the metrics of the server, for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from perfcase_api.errors import ApiError
from perfcase_api.state import Me

router = APIRouter(include_in_schema=False)


@router.get("/metrics")
def metrics(request: Request, me: Me) -> Response:
    """Return the metrics of the server in the text format of Prometheus. This needs a token for all tickets, of any role."""
    if me.ticket_prefix:
        raise ApiError("not_permitted", f"{me.name} sees {me.ticket_prefix} only", "this is about all tickets")
    return Response(request.app.state.figures.text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)
