"""Routes of what a team keeps under names: queries with their parameters and chart, and boards of a history's figures."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field

from perfcase_api.catalogue import Row
from perfcase_api.saved import NAME_MAX, Shelf
from perfcase_api.state import Here, Me

router = APIRouter(prefix="/v1", tags=["saved"])

SQL_MAX, SETTING_MAX, SETTINGS_MAX, CHART_MAX = 20_000, 1000, 50, 1000
FIGURES_MAX, ADDRESS_MAX = 30, 2000

Number = Annotated[int, Path(ge=1, lt=1 << 62, description="As the list has it.")]
Name = Annotated[str, Field(min_length=1, max_length=NAME_MAX, examples=["busiest threads"])]


class NewQuery(BaseModel):
    """A query to save."""

    name: Name
    sql: str = Field(
        min_length=1, max_length=SQL_MAX, examples=["SELECT comm, on_cpu_ns FROM thread_time WHERE comm = $comm"]
    )
    set: list[Annotated[str, Field(max_length=SETTING_MAX)]] = Field(
        [],
        max_length=SETTINGS_MAX,
        description="Values of its parameters, as POST /v1/sql takes them.",
        examples=[["comm=java"]],
    )
    chart: str = Field(
        "",
        max_length=CHART_MAX,
        description="The page's words for the chart of the rows.",
        examples=["bars,comm,on_cpu_ns"],
    )


class Query(BaseModel):
    """A saved query."""

    query_id: int
    name: str
    sql: str
    set: list[str] = Field(description="Values of its parameters, as POST /v1/sql takes them.")
    chart: str = Field(description="The page's words for the chart of the rows.")
    author: str = Field(description="who saved it last")
    written_ns: int = Field(description="ns since 1970")


class NewBoard(BaseModel):
    """A board to save: figures of histories, in the order in which they are shown."""

    name: Name
    figures: list[Annotated[str, Field(min_length=1, max_length=ADDRESS_MAX)]] = Field(
        max_length=FIGURES_MAX,
        description="Each is the query of GET /v1/history, as the address of the page has it.",
        examples=[["view=cpu_utilization&measure=busy_ratio"]],
    )


class Board(NewBoard):
    """A saved board."""

    board_id: int
    author: str = Field(description="who saved it last")
    written_ns: int = Field(description="ns since 1970")


@router.get("/queries")
def list_queries(here: Here, me: Me) -> list[Query]:
    """List the saved queries in scope, by name: those of users who see no other tickets than you do."""
    return [_query(row) for row in Shelf(here.catalogue, "query").all(me)]


@router.post("/queries", status_code=201)
def save_query(here: Here, me: Me, new: NewQuery) -> Query:
    """Save a query under a new name."""
    return _query(Shelf(here.catalogue, "query").add(me, new.name, _told(new)))


@router.put("/queries/{query_id}")
def replace_query(here: Here, me: Me, query_id: Number, new: NewQuery) -> Query:
    """Save a query in place of another. Its author is then who did."""
    return _query(Shelf(here.catalogue, "query").replace(me, query_id, new.name, _told(new)))


@router.delete("/queries/{query_id}", status_code=204)
def delete_query(here: Here, me: Me, query_id: Number) -> Response:
    """Delete a saved query. An uploader can delete what was saved last with the same token."""
    Shelf(here.catalogue, "query").remove(me, query_id)
    return Response(status_code=204)


@router.get("/boards")
def list_boards(here: Here, me: Me) -> list[Board]:
    """List the boards in scope, by name: those of users who see no other tickets than you do."""
    return [_board(row) for row in Shelf(here.catalogue, "board").all(me)]


@router.get("/boards/{board_id}")
def show_board(here: Here, me: Me, board_id: Number) -> Board:
    """Return one board."""
    return _board(Shelf(here.catalogue, "board").find(me, board_id))


@router.post("/boards", status_code=201)
def save_board(here: Here, me: Me, new: NewBoard) -> Board:
    """Save a board under a new name."""
    return _board(Shelf(here.catalogue, "board").add(me, new.name, _told(new)))


@router.put("/boards/{board_id}")
def replace_board(here: Here, me: Me, board_id: Number, new: NewBoard) -> Board:
    """Save a board in place of another. Its author is then who did."""
    return _board(Shelf(here.catalogue, "board").replace(me, board_id, new.name, _told(new)))


@router.delete("/boards/{board_id}", status_code=204)
def delete_board(here: Here, me: Me, board_id: Number) -> Response:
    """Delete a board. An uploader can delete what was saved last with the same token."""
    Shelf(here.catalogue, "board").remove(me, board_id)
    return Response(status_code=204)


def _told(new: NewQuery | NewBoard) -> str:
    return new.model_dump_json(exclude={"name"})


def _query(row: Row) -> Query:
    kept = NewQuery.model_validate_json(_with_name(row))
    return Query(**kept.model_dump(), query_id=row["saved_id"], author=row["author"], written_ns=row["written_ns"])


def _board(row: Row) -> Board:
    kept = NewBoard.model_validate_json(_with_name(row))
    return Board(**kept.model_dump(), board_id=row["saved_id"], author=row["author"], written_ns=row["written_ns"])


def _with_name(row: Row) -> str:
    return json.dumps({**json.loads(row["told"]), "name": row["name"]})
