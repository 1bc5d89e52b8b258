"""One figure of a capture: a column of a view, its rows made one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfcase import query
from perfcase.coverage import why_empty
from perfcase.errors import PerfcaseError
from perfcase.schema import Table, quote
from perfcase.views import View

if TYPE_CHECKING:
    import duckdb
else:
    from perfcase.lazy import duckdb

WAYS = ("sum", "mean", "max", "min", "median", "count")
"""How rows become one figure."""

_AMOUNT_UNITS = ("ns", "bytes", "count", "pages")


@dataclass(frozen=True)
class Metric:
    """What is read of every capture."""

    view: str
    measure: str | None
    """The column; None counts rows."""
    way: str
    where: str | None = None

    @property
    def is_per_second(self) -> bool:
        """Amounts grow with the length of the recording: they are compared per second of it."""
        return self.way in ("sum", "count")

    def told(self) -> str:
        """The metric in words."""
        what = "rows" if self.measure is None else f"{self.way} of {self.measure}"
        per = " per second of recording" if self.is_per_second else ""
        return f"{what} in {self.view}{f' where {self.where}' if self.where else ''}{per}"


@dataclass(frozen=True)
class Reading:
    """A metric's figure of one capture."""

    row_count: int
    value: float | None
    per_s: float | None
    """The value per second of recording, of amounts."""
    problem: str | None

    @property
    def compared(self) -> float | None:
        """What captures are compared by."""
        return self.value if self.per_s is None else self.per_s


def metric(view: View | Table, measure: str | None, way: str | None, where: str | None) -> Metric:
    """The metric that is asked for, with what the view's own description says where the user says nothing."""
    names = [column.name for column in view.columns]
    if measure is not None and measure not in names:
        raise PerfcaseError("not_found", f"{view.name} has no column {measure}", f"it has {', '.join(names)}")
    if measure is None and way != "count":
        candidates = [column.name for column in view.columns if column.unit]
        hint = f"one of {', '.join(candidates)}" if candidates else "--agg count counts rows"
        raise PerfcaseError("usage", f"--view {view.name} needs a --measure", hint)
    return Metric(view.name, measure, way or usual_way(view, measure or ""), where)


def usual_way(view: View | Table, measure: str) -> str:
    """How the rows of a view become one figure: amounts are added, levels averaged, and of largest the largest counts."""
    column = next(column for column in view.columns if column.name == measure)
    if measure.startswith("max_") or measure.endswith("_max") or "_max_" in measure:
        return "max"
    if measure.startswith("min_") or measure.endswith("_min") or "_min_" in measure:
        return "min"
    is_amount = column.unit in _AMOUNT_UNITS and not any(part in measure for part in ("_avg", "_p50", "_p99", "mean"))
    is_series = any(other.name == "ts_ns" for other in view.columns)
    return "sum" if is_amount and not is_series else "mean"


def read(connection: duckdb.DuckDBPyConnection, wanted: Metric, duration_ns: int | None) -> Reading:
    """A metric of one capture. An unknown column or a wrong condition is the user's error and raised."""
    known = connection.execute("SELECT 1 FROM duckdb_views() WHERE view_name = ?", [wanted.view]).fetchone()
    if not known:
        return Reading(0, None, None, f"its import has no view {wanted.view}; import it again")
    rows = f"SELECT * FROM {quote(wanted.view)}{f' WHERE ({wanted.where}{chr(10)})' if wanted.where else ''}"
    query.gate(connection, rows)
    figure = _figure(connection, wanted)
    try:
        count, found = connection.execute(f"SELECT count(*), ({figure})::DOUBLE FROM ({rows})").fetchone()
    except duckdb.Error as error:
        raise query.sql_error(error) from error
    value = found if found is not None and math.isfinite(found) else None
    if not count:
        why = _why_none(connection, wanted)
        # Nothing of a kind that was recorded is 0 of it.
        return Reading(0, None, None, why) if why or not wanted.is_per_second else Reading(0, 0.0, 0.0, None)
    if value is None:
        return Reading(count, None, None, f"{wanted.measure} is unknown in all of its {count:,} rows")
    if not wanted.is_per_second:
        return Reading(count, value, None, None)
    if not duration_ns or duration_ns <= 0:
        return Reading(count, None, None, "its duration is not known, so neither is the amount per second")
    return Reading(count, value, value / (duration_ns / 1e9), None)


def _figure(connection: duckdb.DuckDBPyConnection, wanted: Metric) -> str:
    """The aggregate that makes rows one figure. Levels of intervals count by the intervals' lengths."""
    if wanted.way == "count":
        return "count(*)"
    column = quote(wanted.measure or "")
    if wanted.way != "mean":
        return f"{wanted.way}({column})"
    columns = [row[0] for row in connection.execute(f"DESCRIBE {quote(wanted.view)}").fetchall()]
    if "interval_ns" not in columns:
        return f"avg({column})"
    known = f"FILTER ({column} IS NOT NULL)"
    return f"coalesce(sum({column}::DOUBLE * interval_ns) / nullif(sum(interval_ns) {known}, 0), avg({column}))"


def _why_none(connection: duckdb.DuckDBPyConnection, wanted: Metric) -> str | None:
    """Why no rows are left; None where the view has rows and the condition left none, so that it simply did not happen."""
    if wanted.where and connection.execute(f"SELECT 1 FROM {quote(wanted.view)} LIMIT 1").fetchone():
        return None if wanted.is_per_second else "no rows are like that"
    why = why_empty(connection, wanted.view)
    return f"{wanted.view} has no rows{f': {why}' if why else ''}"
