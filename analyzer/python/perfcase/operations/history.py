"""Follow one figure over many captures, find the figures that form two bands, or list the captures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from perfcase.case.query import Result as Query
from perfcase.catalogue.schema import load_tables
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views
from perfcase.errors import PerfcaseError, unknown
from perfcase.fleet import captures, scan, timeline
from perfcase.fleet.bands import split
from perfcase.fleet.baseline import baseline
from perfcase.fleet.captures import Capture, Fleet, Progress, SkippedCapture
from perfcase.fleet.figures import is_reading
from perfcase.fleet.metric import Aggregation, Metric, Reading, metric
from perfcase.fleet.page import Page, print_scan
from perfcase.fleet.readings import read_all
from perfcase.fleet.selector import select
from perfcase.lazy import duckdb
from perfcase.operations import fields
from perfcase.operations.request import BaseRequest, Option
from perfcase.operations.result import Rows
from perfcase.operations.result import select as limited
from perfcase.terminal import render

ViewName = Annotated[str | None, fields.view("The view that has the figure.")]
Measure = Annotated[
    str | None,
    Option(
        "The column of the view that is the figure.",
        flags=("--measure", "-m"),
        metavar="COLUMN",
        length_max=200,
        example="on_cpu_ns",
    ),
]
Agg = Annotated[
    Aggregation | None, Option("How to aggregate the rows. Default: amounts are added, levels are averaged.")
]

By = Annotated[
    timeline.Order,
    Option("Order by this first, then by time.", besides=" Labels come from perfcase-record --label."),
]
Only = Annotated[
    str | None,
    Option(
        "Use only these captures: host=web-*,after=2026-01-05.",
        metavar="SELECTOR",
        length_max=200,
        example="host=web-*,after=2026-01-05",
    ),
]
Reader = Callable[[Metric, Mapping[str, Capture], Progress, Mapping[str, Reading]], dict[str, Reading]]
"""Returns the figure of each capture; the last are those that are known already."""


@dataclass(frozen=True, kw_only=True)
class Request(BaseRequest):
    """Which figure, which captures, and what they are compared with."""

    view: ViewName = None
    measure: Measure = None
    where: fields.where("Use only these rows: \"comm = 'java'\".") = None
    agg: Agg = None
    by: By = "time"
    only: Only = None
    baseline: Annotated[
        str | None,
        Option(
            "Compare with the median and spread (MAD) of these captures: host=…, ticket=…, label=…, capture=…, before=…, after=….",
            metavar="SELECTOR",
            length_max=200,
            example="label=good",
        ),
    ] = None
    bands: Annotated[
        bool,
        Option(
            "Say whether the figures form two bands, which hosts are in which, and since when. Without --measure: list the figures that do.",
            flags=("--bands",),
        ),
    ] = False
    limit: fields.Limit = None
    fmt: fields.Format = "table"
    plot: fields.plot("Draw sparklines.") = None
    filed: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    """Ticket and labels of each store, if they are kept elsewhere."""
    known: tuple[tuple | None, ...] | None = None
    """Figures of the stores that are known already (``perfcase.operations.reading``), or None."""

    @property
    def is_scan(self) -> bool:
        """Return whether no figure is named: then all are tried."""
        return self.bands and self.measure is None and self.agg is None


@dataclass(frozen=True)
class Scanned:
    """The figures that form two bands."""

    request: Request
    found: scan.Scan
    left_out: Sequence[SkippedCapture]

    def write(self, output: Path | None = None) -> None:
        """Write it: see ``perfcase.operations.result.Result``."""
        request = self.request
        with scan.as_table(self.found) as connection:
            if request.fmt == "table" and not output:
                print_scan(render.console(), connection, self.found, self.left_out, request.limit)
            else:
                _rows(connection, "SELECT * FROM banded", request).write(output)

    def relation(self) -> duckdb.DuckDBPyRelation:
        """Return a row for each figure, the largest distance first."""
        return _rows(scan.as_table(self.found), "SELECT * FROM banded", self.request).relation()


@dataclass(frozen=True)
class Followed:
    """A row for each capture, with its figure if the request names one."""

    request: Request
    answer: timeline.Answer
    wanted: Metric | None
    left_out: Sequence[SkippedCapture]

    def write(self, output: Path | None = None) -> None:
        """Write it: see ``perfcase.operations.result.Result``."""
        request = self.request
        with timeline.as_table(self.answer, self.left_out) as connection:
            if request.fmt != "table" or output:
                _rows(connection, "SELECT * FROM history", request).write(output)
                return
            drawn = sys.stdout.isatty() if request.plot is None else request.plot
            page = Page(render.console(), self.answer, self.wanted)
            page.write(connection, self.left_out, limit=request.limit, plot=drawn, bands=request.bands)

    def relation(self) -> duckdb.DuckDBPyRelation:
        """Return a row for each capture; those that were skipped come last, with the reason."""
        table = timeline.as_table(self.answer, self.left_out)
        return _rows(table, "SELECT * FROM history", self.request).relation()


Result = Scanned | Followed


def run(
    request: Request,
    stores: Sequence[Path | str],
    progress: Progress = lambda _name, _number, _of: None,
    read: Reader = read_all,
) -> Result:
    """Follow a figure over all captures below these folders or URLs, ordered by time. A capture that cannot be read is listed with the reason.

    Raises:
        PerfcaseError: the fields are not compatible (usage), there is no such view, column or capture (not_found), no
            capture can be read (input), the condition is wrong (sql).
    """
    wanted = _wanted(request)
    fleet = loaded(stores, progress, request.filed)
    chosen = select(fleet.captures, request.baseline) if request.baseline else []
    shown = select(fleet.captures, request.only) if request.only else fleet.captures
    if request.is_scan:
        return Scanned(request, scan.scan(shown, _compared(request.view), progress), fleet.left_out)
    # A baseline may be of captures that are not shown.
    needed = {capture.name: capture for capture in [*shown, *chosen]}
    pairs = zip(map(str, stores), request.known or (), strict=False)
    known = {name: Reading(*row) for name, row in pairs if isinstance(row, tuple) and is_reading([*row])}
    readings = read(wanted, needed, progress, known) if wanted else {}
    answer = timeline.Answer(shown, readings, order=request.by)
    if request.baseline:
        answer.baseline = baseline(readings[capture.name].compared for capture in chosen)
        answer.chosen = frozenset(capture.name for capture in chosen)
        if answer.baseline is None:
            raise PerfcaseError(
                "not_found",
                f"--baseline {request.baseline}: none of its captures has this figure",
                readings[chosen[0].name].problem,
            )
    if request.bands:
        answer.split = split(value for capture in shown if (value := answer.value(capture)) is not None)
    return Followed(request, answer, wanted, fleet.left_out)


def loaded(
    stores: Sequence[Path | str], progress: Progress, filed: Sequence[tuple[str, Sequence[str]]] | None = None
) -> Fleet:
    """Return the captures of these folders; at least one.

    Raises:
        PerfcaseError: there is no such folder (not_found), or no capture that can be read (input).
    """
    fleet = captures.load(stores, progress, dict(zip(stores, filed, strict=True)) if filed else None)
    if not fleet.captures:
        reason = f"{fleet.left_out[0].name}: {fleet.left_out[0].reason}" if fleet.left_out else None
        raise PerfcaseError("input", f"{stores[0]}: no capture in it can be read", reason)
    return fleet


def figure(view: str | None, measure: str | None, agg: str | None, where: str | None = None) -> Metric | None:
    """Return the figure with these names; None without a view.

    Raises:
        PerfcaseError: there is no such view or column (not_found), or a name is missing (usage).
    """
    if view is None:
        if measure or agg or where:
            raise PerfcaseError("usage", "--measure, --agg and --where need a --view", "perfcase views lists them")
        return None
    known = {**load_tables(), **load_views()}
    if view not in known:
        raise unknown("view", view, known, "perfcase views")
    return metric(known[view], measure, agg, where)


def _wanted(request: Request) -> Metric | None:
    if request.is_scan:
        if request.where or request.baseline:
            raise PerfcaseError("usage", "--where and --baseline need one figure", "give --view NAME --measure COLUMN")
        return None
    wanted = figure(request.view, request.measure, request.agg, request.where)
    if wanted is None and request.baseline:
        raise PerfcaseError("usage", "--baseline needs a figure", "give --view NAME --measure COLUMN")
    return wanted


def _compared(view: str | None) -> list[View]:
    """Return the views whose figures are tried: all, or the one."""
    known = load_views()
    if view is None:
        return list(known.values())
    if view not in known:
        raise unknown("view", view, known, "perfcase views")
    if not known[view].diff:
        raise PerfcaseError("usage", f"{view} is not compared: {known[view].not_compared}", "give --measure")
    return [known[view]]


def _rows(connection: duckdb.DuckDBPyConnection, sql: str, request: Request) -> Rows:
    rows: Query = limited(connection, sql, request.limit)
    return Rows(rows, request.fmt, request.limit)
