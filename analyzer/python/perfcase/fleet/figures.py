"""What an imported folder keeps for histories: the figures of its views, a line of JSON for each view.

The import works out half of the views for the findings and the report, and keeps all their figures in passing. A server's import also works out
the others, and keeps the rows of small views (``perfcase.fleet.rows``): to ask a thousand captures later takes a minute. Those of another view are
kept when one of them is asked for. A line is found without reading the others: a history looks at one line of each of a thousand captures.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import astuple
from typing import Any

from perfcase.case import sharing
from perfcase.case.kept import SIZE_MAX, Kept, keep_few, kept_of
from perfcase.case.sharing import FINDINGS
from perfcase.case.span import recorded_ns
from perfcase.catalogue.views import load_views
from perfcase.errors import PerfcaseError
from perfcase.fleet import compared, metric
from perfcase.fleet.metric import Metric, Reading
from perfcase.lazy import duckdb

Told = str | dict[str, list[Any]]
"""The figures of a view as JSON has them: by ``key_of``, the fields of a ``Reading``; or why the view has no rows, and so no figures."""
DURATION = "SELECT max(try_cast(duration_ns AS BIGINT)) FROM capture"
_NAME = "figures.jsonl"
_RECORDED = "recorded"
_OTHERS_S = 10.0
"""An import begins no other view after so many seconds of them: of most captures all take one, of one with millions of events more than the import."""
_OF_VIEW_MAX = 256
"""Figures that are kept of a view: the latest."""


def work_out(connection: duckdb.DuckDBPyConnection, *, is_thorough: bool = False) -> dict[str, Told]:
    """Return the usual figures of all views that the connection has worked out, and of those that have nothing to show. ``is_thorough``: also
    of other views, as far as there is time.

    Raises:
        PerfcaseError: a view that was worked out cannot be read.
        duckdb.Error: the capture cannot be read.
    """
    made = sharing.made(connection)
    rows = connection.execute("SELECT view_name FROM view_coverage WHERE kind = 'view' AND NOT is_fed").fetchall()
    unfed = {name for (name,) in rows}
    ((duration_ns,),) = connection.execute(DURATION).fetchall()
    views = load_views()
    empty = [name for name in views if name in unfed or (made.get(name) == 0 and name not in FINDINGS)]
    why = metric.no_rows(connection, empty)
    columns = sharing.types(connection)
    found: dict[str, Told] = {name: why[name] for name in empty if name in unfed}
    known: dict[str, int | None] = {}
    for name in [name for name in views if name in made and name not in unfed]:
        if name in why:
            wanted = metric.usual(views[name], columns[name])
            found[name] = to_keep({each: metric.none(each, why[name]) for each in wanted})
        else:
            found[name] = to_keep(metric.read_usual(connection, views[name], columns[name], duration_ns, known))
    begun = time.monotonic()
    for name in [name for name in views if is_thorough and name not in found]:
        if time.monotonic() - begun > _OTHERS_S:
            break
        # Its rows are kept, too, if they are few; and to put them aside takes no longer than to read them once.
        with suppress(duckdb.Error):
            sharing.make(connection, name)
        # A history that follows such a figure says what is wrong with it.
        with suppress(PerfcaseError):
            found[name] = to_keep(metric.read_usual(connection, views[name], columns[name], duration_ns, known))
    return found


def to_keep(readings: Mapping[Metric, Reading]) -> dict[str, list[Any]]:
    """Return the figures of a view as JSON has them."""
    return {key_of(wanted): [*astuple(reading)] for wanted, reading in readings.items()}


def read_kept(told: object, wanted: Metric) -> Reading | None:
    """Return a figure of what is kept of its view; None where it is not there."""
    if isinstance(told, str):
        return metric.none(wanted, told)
    row = told.get(key_of(wanted)) if isinstance(told, dict) else None
    return Reading(*row) if is_reading(row) else None


def key_of(wanted: Metric) -> str:
    """Return the name of a figure among those of its view."""
    return f"{wanted.measure or ''} {wanted.aggregation}"


def is_reading(row: object) -> bool:
    """Return whether JSON has what a ``Reading`` is made of."""
    kinds = (int, float | None, float | None, str | None)
    return isinstance(row, list) and len(row) == len(kinds) and all(map(isinstance, row, kinds))


def recall(kept: Kept, view: str) -> object:
    """Return what is kept of a view, whatever it is; None for nothing."""
    start = _start(view)
    text = _text(kept)
    at = 0 if text.startswith(start) else text.find(b"\n" + start) + 1
    return _value(text[at + len(start) :].split(b"\n", 1)[0]) if at or text.startswith(start) else None


def keep(kept: Kept, told: Mapping[str, Told]) -> None:
    """Keep figures of views beside those that are kept."""
    lines = {line.partition(b"\t")[0]: line for line in _text(kept).splitlines()}
    for view, new in told.items():
        before = recall(kept, view)
        if isinstance(new, dict) and isinstance(before, dict):
            new = dict(list((new | {key: row for key, row in before.items() if key not in new}).items())[:_OF_VIEW_MAX])
        start = _start(view)
        lines[start.rstrip()] = start + json.dumps(new).encode()
    kept.write({_NAME: b"".join(line + b"\n" for line in lines.values())})


def keep_all(connection: duckdb.DuckDBPyConnection, *, is_thorough: bool = False) -> dict[str, Told]:
    """Keep what ``work_out`` returns with the capture that the connection sees all of, and return it. ``is_thorough``: those of all views.
    Findings that are not kept may lack some that could not be worked out: then their figures are not kept either."""
    if is_thorough:
        fed = connection.execute("SELECT view_name FROM view_coverage WHERE kind = 'view' AND is_fed").fetchall()
        views = load_views()
        wanted = [name for (name,) in fed if name in views and views[name].diff]
        # Twice: what is asked for once would stay a view.
        sharing.share(connection, [*wanted, *wanted])
        with suppress(PerfcaseError):
            compared.work_out(connection)
    told = work_out(connection, is_thorough=is_thorough)
    kept = kept_of(connection, told)
    if not kept or not all(kept.has(f"{view}.parquet") for view in FINDINGS):
        told = {view: known for view, known in told.items() if view not in FINDINGS}
    if kept:
        keep(kept, told)
        if is_thorough:
            keep_few(connection, kept)
        kept.remember(_RECORDED, _recorded(connection, [view for view in told if kept.has(f"{view}.parquet")]))
    return told


def recorded(kept: Kept) -> dict[str, int | None]:
    """Return for how many ns that was recorded of which views count something; None where that is not known."""
    told = kept.recall(_RECORDED)
    if not isinstance(told, dict):
        return {}
    return {
        view: known for view, known in told.items() if known is None or (type(known) is int and 0 < known < 1 << 63)
    }


def _recorded(connection: duckdb.DuckDBPyConnection, views: Iterable[str]) -> dict[str, int | None]:
    ((duration_ns,),) = connection.execute(DURATION).fetchall()
    known: dict[str, int | None] = {}
    return {view: recorded_ns(connection, view, known) or duration_ns for view in views}


def _start(view: str) -> bytes:
    return f"{view}\t".encode()


def _text(kept: Kept) -> bytes:
    if not kept.has(_NAME):
        return b""
    try:
        with kept.path(_NAME).open("rb") as file:
            return file.read(SIZE_MAX)
    except OSError:
        return b""


def _value(text: bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
