"""The figures of one view on one side: by key, each with how much it varies between the intervals of the capture."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from perfcase.case.kept import kept_of, recall_views
from perfcase.case.parsed import parsed
from perfcase.case.query import sql_errors
from perfcase.case.sharing import made, share
from perfcase.case.span import recorded_in, recorded_ns, spans
from perfcase.catalogue.declared import Measure
from perfcase.catalogue.schema import quote
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views, with_dependencies
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

Key = tuple[str | None, ...]

INTERVALS_MIN = 2
"""Fewer intervals do not show how much a figure varies."""

_AVERAGED = frozenset({"mean", "level"})
"""Kinds of measures of which each row has a weight."""
_ONCE = {
    "sum": "sum(m{n})",
    "max": "max(m{n})",
    "mean": "sum(m{n} * w{n}) / nullif(sum(w{n}) FILTER (m{n} IS NOT NULL), 0)",
    "level": "sum(m{n} * w{n}) / nullif(max(w{n}) FILTER (m{n} IS NOT NULL), 0)",
}
"""A measure of one interval, by its kind."""

_NAMES = re.compile(r"(.*_)?(comm|process)")
_PLACES = re.compile(r"(.*_)?(peer|target|local|path|mapped)")


@dataclass(frozen=True)
class Figure:
    """A measure of a key: its value in the whole capture, and the standard error of that; None: unknown."""

    value: float
    error: float | None


@dataclass(frozen=True)
class Collected:
    """A view on one side."""

    rows: dict[Key, dict[str, Figure]]
    """By key, then by measure; a measure that is NULL is not in it."""
    has_intervals: bool
    recorded_ns: int | None = None
    """How long what the view counts was recorded; None where that is the whole capture."""

    def values(self, column: int) -> set[str | None]:
        """Return what one of the key columns holds."""
        return {key[column] for key in self.rows}


def collect(connection: duckdb.DuckDBPyConnection, view: View) -> Collected:
    """Return what ``figures`` reads of a view, and how long what it counts was recorded. Those of a whole capture are kept."""
    return collect_all(connection, [view])[view.name]


@sql_errors()
def collect_all(
    connection: duckdb.DuckDBPyConnection, views: Sequence[View], too_large: dict[str, str] | None = None
) -> dict[str, Collected]:
    """Return the same of several views, by their names. What several of them are made from is worked out once. A view that takes more
    memory or disk than there is goes into ``too_large``, with the reason, if that is given.

    Raises:
        PerfcaseError: a view cannot be worked out.
    """
    kept = kept_of(connection, [view.name for view in views])
    known = {view.name: read_kept(kept.recall(view.name)) for view in views} if kept else {}
    new = [view for view in views if not known.get(view.name)]
    if len(new) > 1:
        there = made(connection)
        closure = with_dependencies(load_views(), [view.name for view in new])
        recall_views(connection, [name for name in closure if name not in there])
        share(connection, asked(new))
    empty = {name for name, rows in made(connection).items() if not rows}
    spans: dict[str, int | None] = {}
    found = {}
    for view in new:
        try:
            # To plan what a view without rows is asked takes as long as for any other.
            read = Collected({}, _has_intervals(view)) if view.name in empty else figures(connection, view)
            found[view.name] = replace(read, recorded_ns=recorded_ns(connection, view.name, spans))
        except PerfcaseError as error:
            if too_large is None or error.kind != "environment":
                raise
            too_large[view.name] = str(error)
    if kept:
        kept.remember_all({name: to_keep(collected) for name, collected in found.items()})
    return {**{name: collected for name, collected in known.items() if collected}, **found}


def asked(views: Iterable[View]) -> list[str]:
    """Return the tables and views that ``collect_all`` reads, each as often."""
    return [name for view in views for name in (*reads(view), *recorded_in(view.name))]


def to_keep(collected: Collected) -> dict[str, Any]:
    """Return the figures of a view as JSON has them."""
    rows = [
        [key, {name: [figure.value, figure.error] for name, figure in row.items()}]
        for key, row in collected.rows.items()
    ]
    return {"rows": rows, "has_intervals": collected.has_intervals, "recorded_ns": collected.recorded_ns}


def read_kept(value: Any) -> Collected | None:  # noqa: ANN401 - as JSON has it
    """Return the figures of a view that ``to_keep`` made; None of anything else."""
    try:
        rows = {
            tuple(key): {
                name: Figure(float(found), None if error is None else float(error))
                for name, (found, error) in row.items()
            }
            for key, row in value["rows"]
        }
        recorded_ns = value["recorded_ns"]
        return Collected(rows, bool(value["has_intervals"]), None if recorded_ns is None else int(recorded_ns))
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


def reads(view: View) -> list[str]:
    """Return the view, as often as ``figures`` reads it."""
    return [view.name] * (1 + sum(measure.kind == "median" for measure in view.diff.measures))


@sql_errors()
def figures(connection: duckdb.DuckDBPyConnection, view: View) -> Collected:
    """Read a view once (twice with a median)."""
    measures = _at_a_time(view)
    width = len(view.diff.keys)
    rows: dict[Key, dict[str, Figure]] = {}
    for row in connection.execute(parsed(connection, _figures_sql(view))).fetchall():
        key, (slots, seen, seen_full), found = row[:width], row[width : width + 3], row[width + 3 :]
        if not seen:
            continue
        rows[key] = {}
        for n, measure in enumerate(measures):
            figure = _figure(measure, found[3 * n : 3 * n + 3], slots, seen_full)
            if figure:
                rows[key][measure.name] = figure
    for measure in view.diff.measures:
        if measure.kind == "median":
            for *key, value in connection.execute(parsed(connection, _median(view, measure))).fetchall():
                rows.setdefault(tuple(key), {})[measure.name] = Figure(float(value), None)
    return Collected(rows, _has_intervals(view))


def statements(views: Iterable[View]) -> Iterator[str]:
    """Yield those that ``figures`` asks."""
    for view in views:
        if view.diff:
            yield _figures_sql(view)
            yield from (_median(view, measure) for measure in view.diff.measures if measure.kind == "median")


def _at_a_time(view: View) -> list[Measure]:
    """Return the measures that are read at once."""
    measures = [measure for measure in view.diff.measures if measure.kind != "median"]
    return [*measures, Measure(view.diff.whole, "max")] if view.diff.whole else measures


def _figures_sql(view: View) -> str:
    measures, columns = _at_a_time(view), {column.name for column in view.columns}
    return _of_series(view, measures, columns) if _has_intervals(view) else _at_once(view, measures, columns)


def _time(columns: Set[str]) -> str | None:
    return next((name for name in ("snapshot", "ts_ns") if name in columns), None)


def _has_intervals(view: View) -> bool:
    columns = {column.name for column in view.columns}
    time = _time(columns)
    return time is not None and ("interval_ns" in columns or time == "snapshot" or not view.diff.keys)


def _at_once(view: View, measures: Sequence[Measure], columns: Set[str]) -> str:
    """Return SQL of a view that has no intervals: as if all were one."""
    keys = _keys(view)
    shown = "".join(f", {_ONCE[measure.kind].format(n=n)}, NULL, NULL" for n, measure in enumerate(measures))
    return f"""
      SELECT {"".join(f"{key}, " for key in keys)}0, count(*), 0{shown}
      FROM ({_read(view, measures, columns)}) GROUP BY {", ".join(keys) or "()"}"""


def _of_series(view: View, measures: Sequence[Measure], columns: Set[str]) -> str:
    """Return SQL of a view that has intervals."""
    time = _time(columns)
    keys = _keys(view)
    listed = "".join(f"{key}, " for key in keys)
    interval = "interval_ns::DOUBLE" if "interval_ns" in columns else "NULL::DOUBLE"
    # Intervals of events have the same time in all rows. Readings of /proc have times of their own: those of one round end within
    # half an interval of each other. They do not begin together: a process that began since the round before has a short one.
    slot, moment = "t", f"{time}::DOUBLE"
    if not spans(view.name):
        slot = "coalesce(round((t - first) / nullif(usual, 0)), t)"
        moment += " + coalesce(interval_ns, 0)" if time == "ts_ns" and "interval_ns" in columns else ""
    per_time = f"""
      WITH read AS MATERIALIZED ({_read(view, measures, columns, f"{moment} AS t", f"{interval} AS i")}),
      pace AS (SELECT min(t) AS first, median(i) AS usual FROM read)
      SELECT {listed}{slot} AS slot, coalesce(max(i) * 2 >= any_value(usual), true) AS is_full
        {"".join(_of_time(n, measure) for n, measure in enumerate(measures))}
      FROM read, pace GROUP BY ALL"""
    return f"""
      WITH slotted AS MATERIALIZED ({per_time}), times AS (
        SELECT count(DISTINCT slot) AS slots, count(DISTINCT slot) FILTER (is_full) AS full_slots FROM slotted)
      SELECT {listed}any_value(full_slots), count(*), count(*) FILTER (is_full){"".join(_whole(n, m) for n, m in enumerate(measures))}
      FROM slotted, times GROUP BY {", ".join(keys) or "()"}"""


def _keys(view: View) -> list[str]:
    return [f"k{n}" for n in range(len(view.diff.keys))]


def _read(view: View, measures: Sequence[Measure], columns: Set[str], *more: str) -> str:
    """Return SQL of the rows of a view: its keys, its measures, and the weights of those that are averaged."""
    shown = [f"{key_sql(name)} AS {key}" for key, name in zip(_keys(view), view.diff.keys, strict=True)]
    for n, measure in enumerate(measures):
        value = f"{quote(measure.name)}::DOUBLE"
        shown.append(f"CASE WHEN isfinite({value}) THEN {value} END AS m{n}")
        if measure.kind in _AVERAGED:
            weight = measure.by or ("interval_ns" if "interval_ns" in columns else "1")
            shown.append(f"({weight})::DOUBLE AS w{n}")
    return f"SELECT {', '.join([*shown, *more])} FROM {_rows(view)}"


def _rows(view: View) -> str:
    return quote(view.name) + (f" WHERE {view.diff.where}" if view.diff.where else "")


def key_sql(name: str) -> str:
    """Return SQL of a key column without what differs between two runs of the same thing: numbers of pool members, ephemeral
    ports, inodes of sockets and pipes, process ids in paths, the rate of sampling."""
    text = f"{quote(name)}::VARCHAR"
    if _NAMES.fullmatch(name):
        return f"regexp_replace({text}, '([-/:#_])[0-9]+', '\\1*', 'g')"
    if name == "event":
        return f"regexp_replace({text}, '/freq=[0-9]+/', '')"
    if _PLACES.fullmatch(name):
        ports = "(3276[89]|327[7-9][0-9]|32[89][0-9][0-9]|3[3-9][0-9]{3}|[4-6][0-9]{4})"
        text = f"regexp_replace({text}, ':{ports}$', ':*')"
        text = f"regexp_replace({text}, '^(socket|pipe):\\[[0-9]+\\]', '\\1:[*]')"
        return f"regexp_replace({text}, '^/proc/[0-9]+/', '/proc/*/')"
    return text


def _of_time(n: int, measure: Measure) -> str:
    """Return the sums of one interval: of the values, and of the weights behind them."""
    if measure.kind not in _AVERAGED:
        return f", {measure.kind}(m{n}) AS m{n}"
    return f", sum(m{n} * w{n}) AS m{n}, {'sum' if measure.kind == 'mean' else 'max'}(w{n}) FILTER (m{n} IS NOT NULL) AS w{n}"


def _whole(n: int, measure: Measure) -> str:
    """Return three figures of the whole: the value, and the sum and the sum of squares of what is averaged."""
    if measure.kind not in _AVERAGED:
        return f", {measure.kind}(m{n})" + _moments(f"m{n}")
    rate = f"m{n} / nullif(w{n}, 0)"
    if measure.kind == "mean":
        return f", sum(m{n}) / nullif(sum(w{n}), 0)" + _moments(rate)
    return f", sum({rate}) / any_value(slots)" + _moments(rate)


def _moments(figure: str) -> str:
    """Return SQL of two sums over the full intervals: the last one may be short, and says little by being small."""
    return f", sum({figure}) FILTER (is_full), sum(({figure}) ** 2) FILTER (is_full)"


def _figure(measure: Measure, figures: tuple[float | None, ...], slots: int, seen: int) -> Figure | None:
    value, total, squares = figures
    if value is None or not math.isfinite(value):
        return None
    # For amounts, an interval without a row counted nothing; for averages and maxima it says nothing.
    count = slots if measure.kind in ("sum", "level") else seen if slots else 0
    if count < INTERVALS_MIN or total is None or squares is None:
        return Figure(float(value), None)
    spread = math.sqrt(max(squares - total * total / count, 0.0) / (count - 1))
    # The error of a total of n is that of their mean, n times.
    error = {"sum": spread * math.sqrt(count), "max": spread}.get(measure.kind, spread / math.sqrt(count))
    return Figure(float(value), error)


def _median(view: View, measure: Measure) -> str:
    """Return SQL of the value at which half of the weight is reached, for each key."""
    keys = _keys(view)
    listed = "".join(f"{key}, " for key in keys)
    shown = "".join(f"{key_sql(name)} AS {key}, " for key, name in zip(keys, view.diff.keys, strict=True))
    partition = f"PARTITION BY {', '.join(keys)}" if keys else ""
    return f"""
      WITH bucket AS (SELECT {shown}{quote(measure.name)} AS value, sum({measure.by}) AS weight FROM {_rows(view)}
                      GROUP BY ALL),
      ranked AS (SELECT *, sum(weight) OVER ({partition} ORDER BY value) AS reached, sum(weight) OVER ({partition}) AS all_of
                 FROM bucket)
      SELECT {listed}min(value) FROM ranked WHERE reached * 2 >= all_of AND value IS NOT NULL GROUP BY ALL"""
