"""perfcase history: follow one figure over many captures."""

from __future__ import annotations

import json
import sys
from dataclasses import astuple
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perfcase.catalogue.schema import load_tables
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views
from perfcase.cli.common import (
    Format,
    FormatOption,
    LimitOption,
    OutputOption,
    capture_progress,
    complete_view,
    plot_option,
    unknown,
    where_option,
    write,
)
from perfcase.errors import PerfcaseError
from perfcase.history import captures, scan, timeline
from perfcase.history.bands import split
from perfcase.history.baseline import baseline
from perfcase.history.metric import AGGREGATIONS, Metric, Reading, metric
from perfcase.history.page import Page, print_scan
from perfcase.history.readings import is_reading, read_all
from perfcase.history.selector import select
from perfcase.terminal import render

Order = StrEnum("Order", {name: name for name in timeline.ORDERS})
Aggregation = StrEnum("Aggregation", {name: name for name in AGGREGATIONS})


def command(
    stores: Annotated[
        list[Path],
        typer.Argument(
            metavar="STORE...",
            help="Folders with captures, at any depth: archives, imports, recorders' folders, perf.data, trace.dat.",
            show_default=False,
        ),
    ],
    view: Annotated[
        str | None,
        typer.Option("--view", metavar="NAME", help="The view that has the figure.", autocompletion=complete_view),
    ] = None,
    measure: Annotated[
        str | None, typer.Option("--measure", "-m", metavar="COLUMN", help="The column of the view that is the figure.")
    ] = None,
    where: where_option("Use only these rows: \"comm = 'java'\".") = None,
    agg: Annotated[
        Aggregation | None,
        typer.Option(help="How to aggregate the rows. Default: amounts are added, levels are averaged."),
    ] = None,
    by: Annotated[
        Order, typer.Option(help="Order by this first, then by time. Labels come from perfcase-record --label.")
    ] = Order.time,
    only: Annotated[
        str | None, typer.Option(metavar="SELECTOR", help="Use only these captures: host=web-*,after=2026-01-05.")
    ] = None,
    usual: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="SELECTOR",
            help="Compare with the median and spread (MAD) of these captures: host=…, ticket=…, label=…, capture=…, before=…, after=….",
        ),
    ] = None,
    bands: Annotated[
        bool,
        typer.Option(
            "--bands",
            help="Say whether the figures form two bands, which hosts are in which, and since when. Without --measure: list the figures that do.",
        ),
    ] = False,
    filed: Annotated[
        list[str] | None,
        typer.Option(help="JSON of each STORE's [ticket, [label, ...]], where they are kept beside it.", hidden=True),
    ] = None,
    reading: Annotated[
        bool, typer.Option(help="Print the figures as JSON, in the order of the STOREs.", hidden=True)
    ] = False,
    known: Annotated[
        str | None, typer.Option(help="JSON that --reading printed of each STORE, or null.", hidden=True)
    ] = None,
    limit: LimitOption = None,
    fmt: FormatOption = Format.table,
    output: OutputOption = None,
    plot: plot_option("Draw sparklines.") = None,
) -> None:
    """Follow one figure over many captures, ordered by time. Without --view, list the captures.

    A capture that cannot be read is listed with the reason; the others are still read. Amounts are divided by the seconds of
    the recording.

    Example: perfcase history incidents/ --view pmcarch -m ipc --baseline before=2026-01-05 --by host
    """
    is_scan = bands and measure is None and agg is None
    if is_scan and (where or usual):
        raise PerfcaseError("usage", "--where and --baseline need one figure", "give --view NAME --measure COLUMN")
    wanted = None if is_scan else _metric(view, measure, agg, where)
    if wanted is None and usual:
        raise PerfcaseError("usage", "--baseline needs a figure", "give --view NAME --measure COLUMN")
    with capture_progress() as progress:
        fleet = captures.load(
            stores, progress, dict(zip(stores, map(json.loads, filed), strict=True)) if filed else None
        )
        if not fleet.captures:
            reason = f"{fleet.left_out[0].name}: {fleet.left_out[0].reason}" if fleet.left_out else None
            raise PerfcaseError("input", f"{stores[0]}: no capture in it can be read", reason)
        chosen = select(fleet.captures, usual) if usual else []
        shown = select(fleet.captures, only) if only else fleet.captures
        if is_scan:
            found = scan.scan(shown, _compared(view), progress)
        # A baseline may use captures that are not shown.
        needed = {capture.name: capture for capture in [*shown, *chosen]}
        told = dict(zip(map(str, stores), json.loads(known), strict=True)) if known else {}
        told = {name: Reading(*row) for name, row in told.items() if is_reading(row)}
        readings = read_all(wanted, needed, progress, told) if wanted else {}
    if reading:
        found = [readings.get(str(store)) for store in stores]
        sys.stdout.write(json.dumps([each and astuple(each) for each in found]) + "\n")
        return
    if is_scan:
        with scan.as_table(found) as connection:
            if fmt == Format.table and not output:
                print_scan(render.console(), connection, found, fleet.left_out, limit)
            else:
                write(connection, "SELECT * FROM banded", fmt, output, limit)
        return
    answer = timeline.Answer(shown, readings, order=by.value)
    if usual:
        answer.baseline = baseline(readings[capture.name].compared for capture in chosen)
        answer.chosen = frozenset(capture.name for capture in chosen)
        if answer.baseline is None:
            raise PerfcaseError(
                "not_found",
                f"--baseline {usual}: none of its captures has this figure",
                readings[chosen[0].name].problem,
            )
    if bands:
        answer.split = split(value for capture in shown if (value := answer.value(capture)) is not None)
    with timeline.as_table(answer, fleet.left_out) as connection:
        if fmt != Format.table or output:
            write(connection, "SELECT * FROM history", fmt, output, limit)
            return
        drawn = sys.stdout.isatty() if plot is None else plot
        page = Page(render.console(), answer, wanted)
        page.write(connection, fleet.left_out, limit=limit, plot=drawn, bands=bands)


def _compared(view: str | None) -> list[View]:
    """Return the views whose figures are tried: all, or this one."""
    known = load_views()
    if view is None:
        return list(known.values())
    if view not in known:
        raise unknown("view", view, known, "perfcase views")
    if not known[view].diff:
        raise PerfcaseError("usage", f"{view} is not compared: {known[view].not_compared}", "give --measure")
    return [known[view]]


def _metric(view: str | None, measure: str | None, agg: Aggregation | None, where: str | None) -> Metric | None:
    if view is None:
        if measure or agg or where:
            raise PerfcaseError("usage", "--measure, --agg and --where need a --view", "perfcase views lists them")
        return None
    known = {**load_tables(), **load_views()}
    if view not in known:
        raise unknown("view", view, known, "perfcase views")
    return metric(known[view], measure, agg and agg.value, where)
