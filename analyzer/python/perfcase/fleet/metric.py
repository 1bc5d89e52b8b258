"""One figure of a capture: a column of a view, its rows made one."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from perfcase.case import query
from perfcase.case.coverage import why_each_empty
from perfcase.case.kept import have_findings
from perfcase.case.sharing import FINDINGS
from perfcase.case.span import recorded_ns
from perfcase.catalogue.schema import Table, quote
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

Aggregation = Literal["sum", "level", "mean", "max", "min", "median", "count"]
"""How rows become one figure. level: added up over the rows of one time, then averaged over time."""

_AMOUNT_UNITS = ("ns", "bytes", "count", "pages")
_NUMBERS = frozenset(
    {
        "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE",
    }
)  # fmt: skip
_TIMES = {"ts_ns", "interval_ns"}
_OF_COLUMNS = ("level", "mean", "median")
"""Aggregations that depend on which other columns there are."""
NO_FINDINGS = "there are no findings"


@dataclass(frozen=True)
class Metric:
    """What is read of every capture."""

    view: str
    measure: str | None
    """The column; None counts rows."""
    aggregation: str
    where: str | None = None
    by: str | None = None
    """SQL of a row's weight in a mean or median."""

    is_event_count: bool = False
    """Whether the rows that are counted have times: there are more of them in a longer recording."""

    is_usual: bool = True
    """Whether the rows are those that the view itself says, and not of a user's choice."""

    @property
    def is_per_second(self) -> bool:
        """Amounts grow with the length of the recording: they are compared per second of it."""
        return self.aggregation == "sum" or (self.aggregation == "count" and self.is_event_count)

    def describe(self) -> str:
        """Return the metric in words."""
        what = (
            "rows"
            if self.measure is None
            else f"{self.aggregation} of {self.measure}{f' by {self.by}' if self.by else ''}"
        )
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


def metric(view: View | Table, measure: str | None, aggregation: str | None, where: str | None) -> Metric:
    """Return the metric that is asked for, with what the view's own description says where the user says nothing."""
    names = [column.name for column in view.columns]
    if measure is not None and measure not in names:
        raise PerfcaseError("not_found", f"{view.name} has no column {measure}", f"it has {', '.join(names)}")
    if measure is None and aggregation != "count":
        candidates = [column.name for column in view.columns if column.unit]
        hint = f"one of {', '.join(candidates)}" if candidates else "--agg count counts rows"
        raise PerfcaseError("usage", f"--view {view.name} needs a --measure", hint)
    declared = view.diff if isinstance(view, View) else None
    known = next((each for each in declared.measures if each.name == measure), None) if declared else None
    if known and aggregation in (None, known.kind):
        return Metric(view.name, measure, known.kind, where or declared.where, known.by, is_usual=where is None)
    aggregation = aggregation or default_aggregation(view, measure or "")
    return Metric(view.name, measure, aggregation, where, is_event_count="ts_ns" in names, is_usual=where is None)


def default_aggregation(view: View | Table, measure: str) -> str:
    """Choose the aggregation of a column that its view does not declare: add amounts, average levels, take the maximum of maxima."""
    column = next(column for column in view.columns if column.name == measure)
    statistic = re.search(r"_(max|min)(_|$)", measure)
    if statistic:
        return statistic[1]
    is_amount = column.unit in _AMOUNT_UNITS and not any(part in measure for part in ("_avg", "_p50", "_p99", "mean"))
    is_series = any(other.name == "ts_ns" for other in view.columns)
    return "sum" if is_amount and not is_series else "mean"


def read(connection: duckdb.DuckDBPyConnection, wanted: Metric, duration_ns: int | None) -> Reading:
    """Return a metric of one capture. An unknown column or a wrong condition is the user's error and raised."""
    rows = f"SELECT * FROM {quote(wanted.view)}{f' WHERE ({wanted.where}{chr(10)})' if wanted.where else ''}"
    query.gate(connection, rows)
    if wanted.view in FINDINGS:
        have_findings(connection)
    try:
        with query.sql_errors():
            (reading,) = _read(connection, [wanted], rows, duration_ns, {})
            return reading
    except PerfcaseError:
        # BaseRequest afterwards: it takes as long as a question to a small capture.
        if connection.execute("SELECT 1 FROM duckdb_views() WHERE view_name = ?", [wanted.view]).fetchone():
            raise
        return Reading(0, None, None, f"its import has no view {wanted.view}; import it again")


@query.sql_errors()
def read_usual(
    connection: duckdb.DuckDBPyConnection,
    view: View,
    columns: Mapping[str, str],
    duration_ns: int | None,
    known: dict[str, int | None],
) -> dict[Metric, Reading]:
    """Return the ``usual`` figures of a view, which has these columns. ``known``: how long what other views count was recorded, for those that
    are asked next."""
    wanted = usual(view, columns)
    found: dict[Metric, Reading] = {}
    for where in dict.fromkeys(each.where for each in wanted):
        alike = [each for each in wanted if each.where == where]
        rows = f"SELECT * FROM {quote(view.name)}{f' WHERE ({where})' if where else ''}"
        found |= zip(alike, _read(connection, alike, rows, duration_ns, known, columns.keys()), strict=True)
    return found


def usual(view: View, columns: Mapping[str, str]) -> list[Metric]:
    """Return the number of rows of a view, and the figure of each column with a unit that ``metric`` makes without an aggregation. ``columns``:
    their types, by name."""
    numbers = {name for name, kind in columns.items() if kind in _NUMBERS}
    names = [each.name for each in view.columns if each.unit and each.name in numbers - _TIMES]
    return [metric(view, None, "count", None), *(metric(view, name, None, None) for name in names)]


def _read(
    connection: duckdb.DuckDBPyConnection,
    wanted: Sequence[Metric],
    rows: str,
    duration_ns: int | None,
    known: dict[str, int | None],
    columns: Set[str] = frozenset(),
) -> list[Reading]:
    """Return metrics of the same rows. ``columns``: those of the view, where they are known."""
    if not columns and any(each.aggregation in _OF_COLUMNS for each in wanted):
        columns = _columns(connection, wanted[0].view)
    figures = ", ".join(f"({figure_sql(each, columns)})::DOUBLE" for each in wanted)
    # Rows that are read once are not put aside: what no figure reads of them is not made then, and it is planned in three quarters of the time.
    aside = " MATERIALIZED" if "FROM chosen" in figures else ""
    count, *found = connection.execute(
        f"WITH chosen AS{aside} ({rows}) SELECT count(*), {figures} FROM chosen"
    ).fetchone()
    if not count:
        why = _why_none(connection, wanted[0])
        return [none(each, why) for each in wanted]
    if any(each.is_per_second for each in wanted):
        duration_ns = recorded_ns(connection, wanted[0].view, known) or duration_ns
    return [reading_of(each, count, figure, duration_ns) for each, figure in zip(wanted, found, strict=True)]


def _columns(connection: duckdb.DuckDBPyConnection, view: str) -> Set[str]:
    # DuckDB knows those of an event without a table of its own; of a view it takes as long to say them as to plan the question.
    if view in load_views():
        return {column.name for column in load_views()[view].columns}
    return {name for name, *_ in connection.execute(f"DESCRIBE {quote(view)}").fetchall()}


def none(wanted: Metric, why: str | None) -> Reading:
    """Return a metric of no rows. ``why`` there are none; None where the view has rows, and its condition left none."""
    # Nothing of a kind that was recorded is 0 of it.
    if (why is None and wanted.aggregation in ("sum", "count")) or (
        why == NO_FINDINGS and wanted.aggregation == "count"
    ):
        return Reading(0, 0.0, 0.0 if wanted.is_per_second else None, None)
    return Reading(0, None, None, why or "no rows match")


def reading_of(wanted: Metric, count: int, found: float | None, duration_ns: int | None) -> Reading:
    """Return the figure of some rows. ``duration_ns``: how long what it counts was recorded."""
    value = found if found is not None and math.isfinite(found) else None
    if value is None:
        return Reading(count, None, None, f"{wanted.measure} is unknown in all of its {count:,} rows")
    if not wanted.is_per_second:
        return Reading(count, value, None, None)
    if not duration_ns or duration_ns <= 0:
        return Reading(count, None, None, "its duration is not known, so neither is the amount per second")
    return Reading(count, value, value / (duration_ns / 1e9), None)


def figure_sql(wanted: Metric, columns: Set[str], rows: str = "chosen") -> str:
    """Return the aggregate that makes the rows of ``chosen`` one figure. ``columns``: those of its view. ``rows``: SQL of those that are
    meant, where it is asked for several groups of them."""
    if wanted.aggregation == "count":
        return "count(*)"
    column = quote(wanted.measure or "")
    if wanted.aggregation not in _OF_COLUMNS:
        return f"{wanted.aggregation}({column})"
    if wanted.aggregation == "level":
        time = next((name for name in ("snapshot", "ts_ns") if name in columns), "()")
        return f"SELECT avg(total) FROM (SELECT sum({column}) AS total FROM {rows} GROUP BY {time})"
    # What is averaged over intervals counts by their lengths.
    by = wanted.by or ("interval_ns" if wanted.aggregation == "mean" and "interval_ns" in columns else None)
    if by is None or wanted.aggregation not in ("mean", "median"):
        return f"{'avg' if wanted.aggregation == 'mean' else wanted.aggregation}({column})"
    if wanted.aggregation == "mean":
        known = f"sum({by}) FILTER ({column} IS NOT NULL)"
        return f"coalesce(sum({column}::DOUBLE * ({by})) / nullif({known}, 0), avg({column}))"
    ranked = f"SELECT {column} AS value, sum({by}) OVER (ORDER BY {column}) AS reached, sum({by}) OVER () AS whole FROM {rows}"
    return f"SELECT min(value) FROM ({ranked}) WHERE reached * 2 >= whole"


def _why_none(connection: duckdb.DuckDBPyConnection, wanted: Metric) -> str | None:
    """Return why no rows are left; None where the view has rows and the condition left none, so that it simply did not happen."""
    if wanted.where and connection.execute(f"SELECT 1 FROM {quote(wanted.view)} LIMIT 1").fetchone():
        return None
    if wanted.view == "finding":
        # Rules that had what they judge and found nothing.
        fed = connection.execute("SELECT is_fed FROM view_coverage WHERE view_name = 'finding'").fetchone()
        if fed and fed[0]:
            return NO_FINDINGS
    return no_rows(connection, [wanted.view])[wanted.view]


def no_rows(connection: duckdb.DuckDBPyConnection, views: Collection[str]) -> dict[str, str]:
    """Return why each of these views has no rows."""
    reasons = why_each_empty(connection, views)
    return {view: f"{view} has no rows{f': {why}' if why else ''}" for view, why in reasons.items()}
