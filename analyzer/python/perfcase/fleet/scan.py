"""Which of all figures lie in two bands: every measure of every view that declares how captures are compared (perfcase.diff)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfcase.case.rows import table_of
from perfcase.catalogue.view import View
from perfcase.errors import PerfcaseError
from perfcase.fleet.bands import STRICT, VALUES_MIN, Split, has_gap, split
from perfcase.fleet.captures import Capture, Progress
from perfcase.fleet.compared import Figures
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
    problems = []
    with Figures(views) as figures:
        read = set(figures.add_kept([capture.folder for capture in captures]))
        for number, capture in enumerate(captures):
            progress(capture.name, number, len(captures))
            if number in read:
                continue
            try:
                figures.add(number, capture.folder)
            except (PerfcaseError, duckdb.Error, OSError) as error:
                problems.append((capture, str(error).splitlines()[0]))
        judged, found = 0, []
        for figure, values in figures.often(max(VALUES_MIN, PRESENT_RATIO_MIN * len(captures))):
            judged += 1
            best = split(values, STRICT) if has_gap(values) else None
            if best is not None and best.is_banded:
                found.append((figure, best))
        banded = [_banded(figures, figure, best, captures) for figure, best in found]
    banded.sort(key=_order)
    return Scan(banded, judged, problems)


def _banded(figures: Figures, figure: int, best: Split, captures: Sequence[Capture]) -> Banded:
    view, key, measure, values = figures.of(figure)
    (unit,) = (column.unit for column in view.columns if column.name == measure)
    is_amount = next(each for each in view.diff.measures if each.name == measure).kind == "sum"
    words = ", ".join(f"{name} {value}" for name, value in zip(view.diff.keys, key, strict=True))
    hosts = _hosts([(captures[number], value) for number, value in values.items()], best)
    return Banded(view.name, words, measure, f"{unit or ''} per s".strip() if is_amount else unit, best, *hosts)


def _hosts(values: Sequence[tuple[Capture, float]], found: Split) -> tuple[tuple[str, ...], tuple[str, ...]]:
    now: dict[str, str] = {}
    for capture, value in sorted(values, key=lambda each: each[0].time_key):
        now[capture.host or capture.name] = found.band(value)
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
