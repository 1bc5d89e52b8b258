"""The charts of the server's page: each is some columns of what a view plots (perfcase.catalogue.plot).

A line of the view's header names the page, the place on it, the title and the columns. ``as`` gives a column another label than its
name without the unit. ``by`` names the columns whose values make a line or a group each. ``instead`` is for the chart that stands in
the same place where a capture has no rows for the first.

    -- chart timeline 3: Disks: util_ratio as in use by device
    -- chart timeline 3 instead: Disks, by requests: busy_ratio as in use by device
    -- chart timeline 1: CPU: busy_ratio, user_ratio where cpu = 'all'
    -- chart histograms 1: Waits for a CPU: wait_count as waits by comm
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from perfcase.catalogue.plot import Histogram, Plan, plan
from perfcase.catalogue.view import View
from perfcase.errors import PerfcaseError

_PLACE = re.compile(r"chart (?P<page>\w+) (?P<place>\d+)(?P<instead> instead)?")
_SHOWN = re.compile(
    r"(?P<title>[^:]+): (?P<values>.+?)(?: by (?P<keys>\w+(?:, \w+)*))?(?: where (?P<where>.+))?", re.DOTALL
)
_UNIT = re.compile(r"_(?:ns|bytes|pages|count|ratio|ghz|(?:bytes_|pages_|bits_)?per_s)$")


@dataclass(frozen=True)
class ChartValue:
    """A column that a chart shows, and what it is called there."""

    column: str
    label: str
    unit: str | None
    """As in the plan."""


@dataclass(frozen=True)
class Chart:
    """A chart of one view."""

    page: str
    place: int
    """Its place on the page, from above."""
    is_instead: bool
    """Whether it is for captures that have no rows for the other chart of this place."""
    title: str
    values: tuple[ChartValue, ...]
    keys: tuple[str, ...]
    where: str | None
    """SQL: the view's rows that it shows; None: all."""


def charts(view: View) -> tuple[Chart, ...]:
    """Return the charts that a view's header asks for.

    Raises:
        PerfcaseError: a line is not in the form, or names a column that the view does not plot.
    """
    return tuple(_chart(view, place, shown) for place, shown in view.charts)


def _chart(view: View, place: str, shown: str) -> Chart:
    where, what = _PLACE.fullmatch(place), _SHOWN.fullmatch(shown)
    if not where or not what:
        raise PerfcaseError("internal", f"{view.path}: the header's chart is not understood: {place}: {shown}")
    shown = dict(text.partition(" as ")[::2] for text in what["values"].split(", "))
    keys = tuple(what["keys"].split(", ")) if what["keys"] else ()
    how = plan(view)
    units = _units(how)
    unknown = [name for name in shown if name not in units] + [key for key in keys if not how or key not in how.keys]
    if unknown:
        raise PerfcaseError("internal", f"{view.path}: a chart names what is not plotted: {', '.join(unknown)}")
    values = tuple(
        ChartValue(column, label or _UNIT.sub("", column).replace("_", " "), units[column])
        for column, label in shown.items()
    )
    if len({value.unit for value in values}) > 1:
        raise PerfcaseError("internal", f"{view.path}: a chart has one axis, but these units: {shown}")
    return Chart(where["page"], int(where["place"]), bool(where["instead"]), what["title"], values, keys, what["where"])


def _units(how: Plan | None) -> dict[str, str | None]:
    """Return the columns that are plotted, with their units."""
    if how is None:
        return {}
    return {how.count: "count"} if isinstance(how, Histogram) else dict(zip(how.values, how.units, strict=True))
