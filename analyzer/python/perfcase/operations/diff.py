"""What differs between two captures, between two parts of one, or between one and what is usual."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from perfcase.case.opening import Opened
from perfcase.case.scope import parse_part
from perfcase.catalogue.views import load_views
from perfcase.diff import page, stack_page
from perfcase.diff.compare import Side
from perfcase.diff.fired import changes
from perfcase.diff.rank import rank
from perfcase.diff.sides import count_per, opened_sides
from perfcase.diff.stacks import profiles
from perfcase.errors import PerfcaseError, unknown
from perfcase.fleet import usual
from perfcase.lazy import duckdb
from perfcase.operations import fields
from perfcase.operations.request import Asked, Option

Progress = Callable[[str, int, int], None]
"""Told the name of the capture at work, its number and how many there are."""


def window(told: str, flag: str) -> Option:
    """The part of a side; ``told``: which."""
    return Option(told, flags=(flag,), metavar="FROM..TO", length_max=50, example="0s..10s")


AWindow = Annotated[str | None, window("Only this part of FILE: 0s..10s, 90s.., ..500ms.", "--a")]
BWindow = Annotated[str | None, window("Only this part of OTHER, or of FILE without one.", "--b")]
Per = Annotated[
    str | None,
    Option(
        "Divide amounts by how often this happened on each side, not by seconds: a tracepoint, counter, system call or sampled event.",
        flags=("--per",),
        metavar="EVENT",
        length_max=200,
    ),
]


@dataclass(frozen=True, kw_only=True)
class Request(Asked):
    """What is compared, and how much of it is told."""

    a_window: AWindow = None
    b_window: BWindow = None
    view: Annotated[str | None, fields.view("Only this view, all of it.", example="thread_time")] = None
    per: Per = None
    callers: Annotated[
        str | None,
        Option(
            "Who calls it in each, and what of that changed most.",
            flags=("--callers",),
            metavar="FUNCTION",
            length_max=200,
        ),
    ] = None
    event: fields.event("For --flamegraph and --callers: whose samples count. Default: a clock.") = None
    off_cpu: fields.OffCpu = False
    wakers: fields.Wakers = False
    baseline: Annotated[
        str | None,
        Option(
            "Compare FILE with the median of the captures below a folder, all or"
            " host=…,ticket=…,label=…,before=…,after=….",
            flags=("--baseline",),
            metavar="STORE[:SELECTOR]",
        ),
    ] = None
    limit: Annotated[int, Option("At most N lines; 0: all.", flags=("--limit", "-n"), metavar="N", min=0)] = page.LINES
    fmt: fields.Format = "table"

    def check(self, *, has_other: bool, is_part: bool, has_stores: bool, is_pictured: bool = False) -> None:
        """Whether all this goes together with what there is: another capture, only a part of them, stores of captures, a flame graph
        that is drawn besides.

        Raises:
            PerfcaseError: it does not (usage), or there is no such view (not_found).
        """
        if (self.event or self.off_cpu) and not (is_pictured or self.callers):
            raise PerfcaseError("usage", f"--{'event' if self.event else 'off-cpu'} is of --flamegraph and --callers")
        fields.check_off_cpu(self.off_cpu, self.wakers, self.event)
        if has_stores and self.baseline is None:
            raise PerfcaseError("usage", "--also is of --baseline")
        if self.baseline is not None and any((has_other, self.b_window, self.per, is_pictured, self.callers, is_part)):
            raise PerfcaseError(
                "usage", "--baseline stands for the other capture", "FILE, --a, --view, --limit and --format go with it"
            )
        if self.baseline is None and not has_other and (self.a_window is None or self.b_window is None):
            raise PerfcaseError("usage", "one capture and nothing to compare it with", "another FILE, or --a and --b")
        views = load_views()
        if self.view is not None and (self.view not in views or views[self.view].diff is None):
            if self.view in views:
                raise PerfcaseError("usage", f"{self.view} is not compared: {views[self.view].not_compared}")
            raise unknown("view", self.view, [name for name in views if views[name].diff], "perfcase views")


@dataclass(frozen=True)
class Compared:
    """Two sides: ``comparison`` has all of it, ``relation`` the lines."""

    comparison: page.Comparison
    fmt: str

    def write(self, output: Path | None = None) -> None:
        """See ``perfcase.operations.result.Result``."""
        page.write(self.comparison, self.fmt, output)

    def relation(self) -> duckdb.DuckDBPyRelation:
        """What changed, most first."""
        return page.as_table(self.comparison.lines).sql(page.ROWS)


@dataclass(frozen=True)
class Unusual:
    """A capture beside a baseline: its figures that are out of the ordinary."""

    name: str
    found: usual.Usual
    request: Request

    def write(self, output: Path | None = None) -> None:
        """See ``perfcase.operations.result.Result``."""
        usual.write(self.name, self.found, self.request.baseline or "", self.request.fmt, output, self.request.limit)

    def relation(self) -> duckdb.DuckDBPyRelation:
        """What is out of the ordinary, the most telling first."""
        lines = self.found.ranking.lines
        return page.as_table(lines[: self.request.limit] if self.request.limit else lines).sql(page.ROWS)


@dataclass(frozen=True)
class Callers:
    """Who calls a function on both sides."""

    found: stack_page.Called
    fmt: str

    def write(self, output: Path | None = None) -> None:
        """See ``perfcase.operations.result.Result``."""
        stack_page.write_callers(self.found, self.fmt, output)

    def relation(self) -> duckdb.DuckDBPyRelation:
        """The paths, what changed most first."""
        return stack_page.callers_as_table(self.found).table("caller")


Result = Compared | Unusual | Callers


def run(
    request: Request,
    a: Opened,
    b: Opened | None = None,
    stores: Sequence[Path] = (),
    progress: Progress = lambda _name, _number, _of: None,
) -> Result:
    """What changed most from a to b; without b, between two windows of a. With a baseline: what of a is unusual, among the captures
    that it means and those of ``stores``.

    Raises:
        PerfcaseError: this cannot be compared (usage), or something that is named is not there (not_found).
    """
    request.check(has_other=b is not None, is_part=bool(a.only), has_stores=bool(stores))
    if request.baseline is not None:
        return _beside_baseline(request, a, stores, progress)
    with both_sides(a, b, request.a_window, request.b_window, request.per) as (old, new):
        if request.callers:
            stacks = profiles(
                old.connection, new.connection, request.event, off_cpu=request.off_cpu, wakers=request.wakers
            )
            return Callers(stack_page.called(old, new, *stacks, request.callers, request.limit), request.fmt)
        is_whole = request.view is None
        ranking = rank(old, new, None if is_whole else [request.view])
        found = page.comparison(
            old,
            new,
            ranking,
            request.limit,
            is_one_view=not is_whole,
            stacks=stack_page.said_of_stacks(old, new) if is_whole else None,
            findings=changes(old, new) if is_whole else (),
            with_missing=request.fmt != "json",
        )
        return Compared(found, request.fmt)


@contextmanager
def both_sides(
    a: Opened, b: Opened | None, a_window: str | None, b_window: str | None, per: str | None
) -> Iterator[tuple[Side, Side]]:
    """The sides of a comparison; without ``b`` both are parts of ``a``."""
    parts = [part and parse_part(part) for part in (a_window, b_window)]
    with opened_sides(a.case, (b or a).case, *parts, a.only) as sides:
        yield count_per(*sides, per) if per else sides


def _beside_baseline(request: Request, a: Opened, stores: Sequence[Path], progress: Progress) -> Unusual:
    part = request.a_window and parse_part(request.a_window)
    views = load_views()
    wanted = [views[name] for name in views if views[name].diff and request.view in (None, name)]
    with opened_sides(a.case, a.case, part, part) as (side, _):
        found = usual.against_baseline(side, request.baseline or "", wanted, progress, stores)
        return Unusual(side.name, found, request)
