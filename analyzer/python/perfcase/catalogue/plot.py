"""How a view is drawn, on a terminal and in the server's page: histograms as bars, intervals as lines over time.

The columns' names say it. ``bucket_min_<unit>``, ``bucket_max_<unit>`` and the first ``<what>_count`` are a histogram, one for each
combination of the columns without a unit. ``ts_ns`` and ``interval_ns`` with shares or rates are intervals, one line for each of these
combinations and each share or rate. Where names do not say it, or say it wrongly, a line of the view's header does:

    -- plot: histogram request_count by size_bytes_min to size_bytes_max
    -- plot: intervals ipc, llc_hit_ratio by source
    -- plot: none

Intervals without a length are moments: a row says what was then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from perfcase.catalogue.view import View
from perfcase.errors import PerfcaseError

_HISTOGRAM = re.compile(r"histogram (?P<count>\w+) by (?P<low>\w+) to (?P<high>\w+)")
_INTERVALS = re.compile(r"intervals (?P<values>\w+(?:, \w+)*)(?: by (?P<keys>\w+(?:, \w+)*))?")
_BUCKET = re.compile(r"bucket_min_\w+")


@dataclass(frozen=True)
class Histogram:
    """Columns of a histogram: a row is a bucket."""

    low: str
    high: str
    count: str
    keys: tuple[str, ...]
    unit: str | None
    kind: Literal["histogram"] = "histogram"


@dataclass(frozen=True)
class Intervals:
    """Columns of intervals: a row is one at ``time``."""

    time: str
    length: str | None
    values: tuple[str, ...]
    keys: tuple[str, ...]
    units: tuple[str | None, ...]
    """The units of the values; ``ratio`` only of shares: instructions per cycle are a figure without a unit."""
    kind: Literal["intervals"] = "intervals"


Plan = Histogram | Intervals


def plan(view: View) -> Plan | None:
    """Return how to show a view; None: as numbers."""
    names = [column.name for column in view.columns]
    units = {column.name: column.unit for column in view.columns}
    if view.plot == "none":
        return None
    if view.plot:
        return _asked(view, names, units)
    low = next((name for name in names if _BUCKET.fullmatch(name)), None)
    count = next((name for name in names if name.endswith("_count")), None)
    if low and count and (high := low.replace("_min_", "_max_")) in names:
        return Histogram(low, high, count, _labels(names, units, (low, high, count)), units[low])
    if "ts_ns" in names and "interval_ns" in names:
        values = tuple(
            n for n in names if units[n] == "ratio" or n.endswith("_per_s") or (units[n] or "").startswith("1/")
        )
        if values:
            labels = _labels(names, units, values)
            return Intervals("ts_ns", "interval_ns", values, labels, tuple(units[name] for name in values))
    return None


def _asked(view: View, names: Sequence[str], units: dict[str, str | None]) -> Plan:
    """Return what the header says."""
    histogram, intervals = _HISTOGRAM.fullmatch(view.plot), _INTERVALS.fullmatch(view.plot)
    if histogram:
        low, high, count = histogram["low"], histogram["high"], histogram["count"]
        used: tuple[str, ...] = (low, high, count)
        found: Plan = Histogram(low, high, count, _labels(names, units, used), units.get(low))
    elif intervals:
        values = tuple(intervals["values"].split(", "))
        keys = tuple((intervals["keys"] or "").split(", ")) if intervals["keys"] else ()
        used = (*values, *keys, "ts_ns")
        length = "interval_ns" if "interval_ns" in names else None
        found = Intervals("ts_ns", length, values, keys, tuple(units.get(name) for name in values))
    else:
        raise PerfcaseError("internal", f"{view.path}: the header's plot is not understood: {view.plot}")
    unknown = [name for name in used if name not in names]
    if unknown:
        raise PerfcaseError("internal", f"{view.path}: the header's plot names no column: {', '.join(unknown)}")
    return found


def _labels(names: Sequence[str], units: dict[str, str | None], used: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that are no measures."""
    return tuple(name for name in names if units[name] is None and name not in used)
