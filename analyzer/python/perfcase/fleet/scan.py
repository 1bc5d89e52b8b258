"""Which of all figures lie in two bands: every measure of every view that declares how captures are compared (perfcase.diff)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from perfcase.case import query
from perfcase.case.rows import table_of
from perfcase.catalogue.view import View
from perfcase.diff.collect import Collected, Key, collect_all
from perfcase.diff.compare import seconds_of
from perfcase.diff.rank import recorder_names
from perfcase.errors import PerfcaseError
from perfcase.fleet.bands import STRICT, VALUES_MIN, Split, split
from perfcase.fleet.captures import Capture, Progress
from perfcase.lazy import duckdb

PRESENT_RATIO_MIN = 0.75
"""A figure has to be known for this share of the captures: a process of a few hosts has no bands."""

COLUMNS = {
    "view": "VARCHAR",
    "key": "VARCHAR",
    "measure": "VARCHAR",
    "unit": "VARCHAR",
    "low_count": "BIGINT",
    "high_count": "BIGINT",
    "low_median": "DOUBLE",
    "high_median": "DOUBLE",
    "times": "DOUBLE",
    "separation": "DOUBLE",
    "needed": "DOUBLE",
    "low_hosts": "VARCHAR[]",
    "high_hosts": "VARCHAR[]",
}


@dataclass(frozen=True)
class Banded:
    """A figure that lies in two bands."""

    view: str
    key: str
    measure: str
    unit: str | None
    split: Split
    low_hosts: tuple[str, ...]
    """Where the last capture of each host is; a host that is in both is where it is now."""
    high_hosts: tuple[str, ...]


@dataclass(frozen=True)
class Scan:
    """What was found, and of how many figures."""

    banded: Sequence[Banded]
    judged: int
    problems: Sequence[tuple[Capture, str]]
    """Captures whose import could not be read, or not all of it."""


def scan(captures: Sequence[Capture], views: Iterable[View], progress: Progress) -> Scan:
    """Read every capture once."""
    if len(captures) < VALUES_MIN:
        raise PerfcaseError(
            "usage", f"bands cannot be judged with {len(captures)} captures", f"{VALUES_MIN} are needed"
        )
    compared = [view for view in views if view.diff]
    known = {view.name: view for view in compared}
    figures: defaultdict[tuple[str, Key, str], dict[str, float]] = defaultdict(dict)
    problems = []
    for number, capture in enumerate(captures):
        progress(capture.name, number, len(captures))
        try:
            with query.connect(capture.folder) as connection:
                fed = {
                    row[0] for row in connection.execute("SELECT view_name FROM view_coverage WHERE is_fed").fetchall()
                }
                asked = [view for view in compared if view.name in fed]
                recorder = recorder_names(connection)
                for name, collected in collect_all(connection, asked).items():
                    _read(known[name], collected, capture, recorder, figures)
        except (PerfcaseError, duckdb.Error) as error:
            problems.append((capture, str(error).splitlines()[0]))
    units = {(view.name, column.name): column.unit for view in compared for column in view.columns}
    kinds = {(view.name, measure.name): measure.kind for view in compared for measure in view.diff.measures}
    keys = {view.name: view.diff.keys for view in compared}
    needed = max(VALUES_MIN, PRESENT_RATIO_MIN * len(captures))
    judged = {name: values for name, values in figures.items() if len(values) >= needed}
    banded = []
    for (view, key, measure), values in judged.items():
        found = split(values.values(), STRICT)
        if found is not None and found.is_banded:
            unit = units[view, measure]
            shown_unit = f"{unit or ''} per s".strip() if kinds[view, measure] == "sum" else unit
            words = ", ".join(f"{name} {value}" for name, value in zip(keys[view], key, strict=True))
            banded.append(Banded(view, words, measure, shown_unit, found, *_hosts(captures, values, found)))
    banded.sort(key=_order)
    return Scan(banded, len(judged), problems)


def _read(
    view: View,
    collected: Collected,
    capture: Capture,
    recorder: set[str],
    figures: Mapping[tuple[str, Key, str], dict[str, float]],
) -> None:
    kinds = {measure.name: measure.kind for measure in view.diff.measures}
    seconds = seconds_of(collected, capture.duration_ns or 0)
    for key, row in collected.rows.items():
        # What the recorder did is no figure of the host.
        if recorder.intersection(part for part in key if part):
            continue
        for measure, figure in row.items():
            if measure not in kinds:
                continue
            if kinds[measure] != "sum":
                figures[view.name, key, measure][capture.name] = figure.value
            elif seconds > 0:
                figures[view.name, key, measure][capture.name] = figure.value / seconds


def _hosts(
    captures: Sequence[Capture], values: Mapping[str, float], found: Split
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    now: dict[str, str] = {}
    for capture in sorted(captures, key=lambda capture: capture.time_key):
        if capture.name in values:
            now[capture.host or capture.name] = found.band(values[capture.name])
    low, high = (tuple(sorted(host for host, its in now.items() if its == band)) for band in ("low", "high"))
    return low, high


def _order(each: Banded) -> tuple:
    """Return the bands, the largest ratio first and an unknown ratio last."""
    return (-(each.split.times or 0), -each.split.separation, each.view, each.key, each.measure)


def as_table(found: Scan) -> duckdb.DuckDBPyConnection:
    """Return a connection with the rows in the table ``banded``."""
    rows = [
        (
            each.view, each.key, each.measure, each.unit, each.split.low_count, each.split.high_count, each.split.low_median,
            each.split.high_median, each.split.times, each.split.separation, each.split.needed, list(each.low_hosts),
            list(each.high_hosts),
        )
        for each in found.banded
    ]  # fmt: skip
    return table_of("banded", COLUMNS, rows)
