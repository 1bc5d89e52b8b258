"""One figure of many captures in one job: what ``perfcase.fleet.metric`` asks each capture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfcase.case.span import recorded_sql
from perfcase.catalogue.schema import quote
from perfcase.catalogue.views import load_views
from perfcase.fleet.captures import Capture
from perfcase.fleet.metric import Metric, Reading, figure_sql, reading_of

if TYPE_CHECKING:
    from perfcase.cluster.relations import Relations


def readings(relations: Relations, wanted: Metric, captures: Mapping[str, Capture]) -> dict[str, Reading]:
    """Return the figure of each capture that has rows of it, by the captures' names."""
    rows = f"SELECT * FROM {quote(wanted.view)}{f' WHERE ({wanted.where}{chr(10)})' if wanted.where else ''}"
    columns = (
        {column.name for column in load_views()[wanted.view].columns} if wanted.view in load_views() else frozenset()
    )
    sql = f"WITH chosen AS ({rows}) SELECT count(*) AS row_count, ({figure_sql(wanted, columns)})::DOUBLE AS figure FROM chosen"
    answers = relations.ask(sql).to_pylist()
    durations: dict[str, int | None] = {}
    if wanted.is_per_second and (asked := recorded_sql(wanted.view)):
        durations = {
            each["capture"]: each["recorded_ns"]
            for each in relations.ask(f"SELECT recorded_ns FROM ({asked}) AS span (recorded_ns)").to_pylist()
        }
    return {
        each["capture"]: reading_of(
            wanted,
            each["row_count"],
            each["figure"],
            durations.get(each["capture"]) or captures[each["capture"]].duration_ns,
        )
        for each in answers
        if each["row_count"]
    }
