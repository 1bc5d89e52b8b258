"""One view, two sides: a row for each key and measure that differs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from perfcase.case.scope import Scope
from perfcase.case.store import Case
from perfcase.catalogue.declared import Measure
from perfcase.catalogue.view import View
from perfcase.diff.collect import Collected, Figure, Key, collect
from perfcase.lazy import duckdb

EQUAL = 1e-9
"""Relative: sums of floating point numbers differ by that with the order in which threads add them."""
HOW_MEASURED = frozenset({"method", "event"})
"""Key columns that say how something was measured: what only one side measured so is no difference of what was measured."""
LEAST_PER_S = {"ns": 1e7, "bytes": 1e6}
"""Shares are of this if the amounts of a view are less in all: all of next to nothing is little. A hundredth of a
second in each, and a hundredth of what a link of 1 Gbit/s or a slow disk moves."""
OF_ONE = ("_ratio", "_per_cpu", "avg_count", "load_1min")
"""Averages that are 1 where a resource is full, by the end of their name: a difference counts as what it is, up to 1."""
AMOUNTS = frozenset({"sum", "level"})
"""Kinds of measures for which a key that is not there counts as 0."""


@dataclass(frozen=True)
class Side:
    """One of the two captures, or a window of one."""

    connection: duckdb.DuckDBPyConnection
    name: str
    duration_ns: int
    cpu_count: int | None
    per: str | None = None
    """The event that amounts are divided by; None: by seconds."""
    per_count: float = 0.0
    """How often it happened."""
    per_sql: str = ""
    """A SELECT of that, for windows of the side."""
    case: Case | None = None
    start_ns: int = 0
    """Where it begins in its capture."""
    scope: Scope | None = None
    """What of its capture it is; None: all."""


@dataclass(frozen=True)
class Difference:
    """A measure of a key that is not the same on both sides."""

    view: str
    keys: tuple[str, ...]
    key: Key
    measure: Measure
    unit: str | None
    per: str | None
    """What the amounts below are divided by: s, 's and CPU', the event of --per; None for what is no amount."""
    a: float | None
    b: float | None
    """As the views have them; None: not there."""
    a_per: float | None
    b_per: float | None
    """Divided."""
    error: float | None
    """Standard error of the difference of a_per and b_per, from how they vary within the captures; None: not known."""
    share: float
    """What the difference is of the whole, 0 to 1."""
    state: str
    """changed, appeared, vanished."""

    @property
    def difference(self) -> float:
        """B less A, divided."""
        return (self.b_per or 0.0) - (self.a_per or 0.0)

    @property
    def ratio(self) -> float | None:
        """B as a multiple of A; None where one of them is not there or 0."""
        return self.b_per / self.a_per if self.a_per and self.b_per else None

    @property
    def effect(self) -> float:
        """The difference as a share of the larger side, 0 to 1: twice as much is 0.5, four times 0.75, new is 1."""
        largest = max(abs(self.a_per or 0.0), abs(self.b_per or 0.0))
        return min(abs(self.difference) / largest, 1.0) if largest else 0.0

    @property
    def noise(self) -> float | None:
        """The error as a share of the larger side."""
        largest = max(abs(self.a_per or 0.0), abs(self.b_per or 0.0))
        return self.error / largest if self.error is not None and largest else None


def diff_view(view: View, a: Side, b: Side) -> list[Difference]:
    """Return what differs in a view that declares how it is compared. No order."""
    return differences(view, a, b, collect(a.connection, view), collect(b.connection, view))


def differences(view: View, a: Side, b: Side, in_a: Collected, in_b: Collected) -> list[Difference]:
    """Return the differences of two collections."""
    units = {column.name: column.unit for column in view.columns}
    divided = [_Divided(each, units[each.name], a, b, in_a, in_b) for each in view.diff.measures]
    shares = _Shares(view, divided, in_a, in_b)
    found = []
    both = [
        (n, in_a.values(n) & in_b.values(n))
        for n, name in enumerate(view.diff.keys)
        if name in HOW_MEASURED and in_a.rows and in_b.rows
    ]
    for key in {**in_a.rows, **in_b.rows}:
        if any(key[n] not in known for n, known in both):
            continue
        state = "vanished" if key not in in_b.rows else "appeared" if key not in in_a.rows else "changed"
        for each in divided:
            pair = each.of(key)
            if pair is None:
                continue
            old, new = pair
            if state != "changed" and not each.is_amount and any(other.is_amount for other in divided):
                continue  # An average of nothing is no figure.
            a_per, b_per = old and old.value, new and new.value
            if abs((b_per or 0.0) - (a_per or 0.0)) <= EQUAL * max(abs(a_per or 0.0), abs(b_per or 0.0)):
                continue
            found.append(
                Difference(
                    view=view.name,
                    keys=view.diff.keys,
                    key=key,
                    measure=each.measure,
                    unit=units[each.measure.name],
                    per=each.per,
                    a=each.absolute(in_a, key),
                    b=each.absolute(in_b, key),
                    a_per=a_per,
                    b_per=b_per,
                    error=_together(old, new),
                    share=shares.of(key, each, (b_per or 0.0) - (a_per or 0.0)),
                    state=state,
                )
            )
    return found


class _Divided:
    """A measure of both sides, amounts divided by what makes them comparable."""

    def __init__(self, measure: Measure, unit: str | None, a: Side, b: Side, in_a: Collected, in_b: Collected) -> None:
        self.measure = measure
        self._unit = unit
        self.per: str | None = None
        self._collected = (in_a, in_b)
        self._divisors = (1.0, 1.0)
        self.cpu_count = max(a.cpu_count or 1, b.cpu_count or 1)
        if measure.kind != "sum":
            return
        if a.per:
            self.per = a.per
            self._divisors = (a.per_count, b.per_count)
            return
        self.per = "s"
        seconds = [seconds_of(collected, side.duration_ns) for collected, side in ((in_a, a), (in_b, b))]
        if measure.per_cpu and a.cpu_count and b.cpu_count and a.cpu_count != b.cpu_count:
            self.per = "s and CPU"
            seconds = [seconds[0] * a.cpu_count, seconds[1] * b.cpu_count]
        self._divisors = (max(seconds[0], 1e-9), max(seconds[1], 1e-9))

    @property
    def is_amount(self) -> bool:
        """Whether what is not there is 0, and keys add up."""
        return self.measure.kind in AMOUNTS

    def absolute(self, collected: Collected, key: Key) -> float | None:
        """Return the figure as the view has it."""
        figure = collected.rows.get(key, {}).get(self.measure.name)
        return figure and figure.value

    def of(self, key: Key) -> tuple[Figure | None, Figure | None] | None:
        """Return both sides of a key; None where they cannot be compared: a column that one of the captures does not know."""
        found = [c.rows.get(key, {}).get(self.measure.name) for c in self._collected]
        there = [key in c.rows for c in self._collected]
        if any(figure is None and present for figure, present in zip(found, there, strict=True)):
            return None
        errors = [figure and self._error(c.rows[key], figure) for figure, c in zip(found, self._collected, strict=True)]
        return tuple(
            figure and Figure(figure.value / divisor, None if error is None else error / divisor)
            for figure, error, divisor in zip(found, errors, self._divisors, strict=True)
        )  # type: ignore[return-value]

    def _error(self, row: Mapping[str, Figure], figure: Figure) -> float | None:
        """Return the error of independent events, for figures without windows or intervals. √n of a count; of a sum of times at most
        √(sum × largest), and of their mean that by n. A histogram tells its middle no better than to a range: of powers of
        two, half of it. A maximum has happened once: less than four times is nothing."""
        if self.measure.kind in ("median", "max"):
            return max(figure.error or 0.0, abs(figure.value) / 4)
        if figure.error is not None:
            return figure.error
        largest = row.get(re.sub("(_total|_avg)?_ns$", "_max_ns", self.measure.name))
        if self.measure.kind == "sum" and self._unit == "count":
            return math.sqrt(abs(figure.value))
        if self.measure.kind == "sum" and self._unit == "ns" and largest:
            return math.sqrt(abs(figure.value * largest.value))
        events = row.get(self.measure.by or "")
        if self.measure.kind == "mean" and self._unit == "ns" and largest and events and events.value:
            return math.sqrt(abs(figure.value * largest.value / events.value))
        return None

    def all_of(self) -> Iterator[tuple[Key, float]]:
        """Yield every key with the larger of its two sides."""
        for key in {**self._collected[0].rows, **self._collected[1].rows}:
            pair = self.of(key) or (None, None)
            yield key, max((abs(figure.value) for figure in pair if figure), default=0.0)

    def total(self) -> float:
        """Return all keys added up, on the side that has more."""
        sums = [0.0, 0.0]
        for side, collected in enumerate(self._collected):
            for row in collected.rows.values():
                if self.measure.name in row:
                    sums[side] += abs(row[self.measure.name].value) / self._divisors[side]
        return max(sums)


def seconds_of(collected: Collected, duration_ns: int) -> float:
    """Return the time that amounts were counted in."""
    return (collected.recorded_ns or duration_ns) / 1e9


class _Shares:
    """What a difference is of the whole view: of amounts its part in their total, of an average the part of its key in the first
    sum. Where nothing is added up, one of all keys: how much is queued now does not tell how much an average stands for."""

    def __init__(self, view: View, divided: Iterable[_Divided], in_a: Collected, in_b: Collected) -> None:
        amounts = [each for each in divided if each.is_amount]
        self._units = {column.name: column.unit for column in view.columns}
        least = {
            each: LEAST_PER_S.get(self._units[each.measure.name] or "", 0.0) if each.per == "s" else 0.0
            for each in amounts
        }
        self._totals = {each.measure.name: max(each.total(), least[each]) for each in amounts}
        self._of_key: dict[Key, float] = {}
        first = next((each for each in amounts if each.measure.kind == "sum"), None)
        if first and view.diff.keys and (total := self._totals[first.measure.name]):
            self._of_key = {key: min(value / total, 1.0) for key, value in first.all_of()}
        self._whole = 0.0
        if view.diff.whole:
            rows = [*in_a.rows.values(), *in_b.rows.values()]
            self._whole = max((row[view.diff.whole].value for row in rows if view.diff.whole in row), default=0.0)
        self._alone = 1.0 if not view.diff.keys else 1.0 / max(len(in_a.rows), len(in_b.rows), 1)

    def of(self, key: Key, each: _Divided, difference: float) -> float:
        name = each.measure.name
        if self._whole:
            return min(abs(difference) / self._whole, 1.0)
        if name.endswith(OF_ONE):
            return min(abs(difference), 1.0)
        if not each.is_amount:
            return self._of_key.get(key, self._alone)
        share = min(abs(difference) / self._totals[name], 1.0) if self._totals[name] else 0.0
        # Beside many threads that sleep all the time, a call that takes half of a second in every second is small in the
        # sum, but not for the one that waits for it.
        if self._units[name] == "ns" and each.per == "s":
            share = max(share, min(abs(difference) / 1e9 / each.cpu_count, 1.0))
        return share


def _together(old: Figure | None, new: Figure | None) -> float | None:
    """Return the error of a difference of two figures. A figure that is not there has none; one not known is no error of 0."""
    errors = [figure.error for figure in (old, new) if figure]
    if not errors or any(error is None for error in errors):
        return None
    return math.hypot(*errors)
