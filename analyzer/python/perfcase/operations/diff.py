"""Compare two captures, two parts of one, or one with a baseline."""

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
from perfcase.operations.request import BaseRequest, Option

Progress = Callable[[str, int, int], None]
"""Called with the name of the capture being read, its number and how many there are."""


def window(text: str, flag: str) -> Option:
    """Return the option for the window of a side. ``text``: its help."""
    return Option(text, flags=(flag,), metavar="FROM..TO", length_max=50, example="0s..10s")


AWindow = Annotated[str | None, window("Use only this window of FILE: 0s..10s, 90s.., ..500ms.", "--a")]
BWindow = Annotated[str | None, window("Use only this window of OTHER, or of FILE if there is no OTHER.", "--b")]
Per = Annotated[
    str | None,
    Option(
        "Divide amounts by the number of these events on each side, instead of seconds: a tracepoint, counter, system call or sampled event.",
        flags=("--per",),
        metavar="EVENT",
        length_max=200,
    ),
]


@dataclass(frozen=True, kw_only=True)
class Request(BaseRequest):
    """What is compared, and how much of it is printed."""

    a_window: AWindow = None
    b_window: BWindow = None
    view: Annotated[str | None, fields.view("Compare only this view, and print all of it.", example="thread_time")] = (
        None
    )
    per: Per = None
    callers: Annotated[
        str | None,
        Option(
            "Show the callers of this function on both sides, the largest change first.",
            flags=("--callers",),
            metavar="FUNCTION",
            length_max=200,
        ),
    ] = None
    event: fields.event("With --flamegraph and --callers: use the samples of this event. Default: a clock.") = None
    off_cpu: fields.OffCpu = False
    wakers: fields.Wakers = False
    baseline: Annotated[
        str | None,
        Option(
            "Compare FILE with the median of the captures below a folder."
            " SELECTOR: host=…,ticket=…,label=…,before=…,after=….",
            flags=("--baseline",),
            metavar="STORE[:SELECTOR]",
        ),
    ] = None
    limit: Annotated[
        int, Option("Print at most N lines; 0 prints all.", flags=("--limit", "-n"), metavar="N", min=0)
    ] = page.LINES
    fmt: fields.Format = "table"

    def check(self, *, has_other: bool, is_part: bool, has_stores: bool, is_pictured: bool = False) -> None:
        """Check that the fields are compatible with each other and with what is compared: whether there is another capture, only a part
        of it, stores of captures, or a flame graph to draw.

        Raises:
            PerfcaseError: they are not (usage), or there is no such view (not_found).
        """
        if (self.event or self.off_cpu) and not (is_pictured or self.callers):
            raise PerfcaseError("usage", f"--{'event' if self.event else 'off-cpu'} needs --flamegraph or --callers")
        fields.check_off_cpu(self.off_cpu, self.wakers, self.event)
        if has_stores and self.baseline is None:
            raise PerfcaseError("usage", "--also needs --baseline")
        if self.baseline is not None and any((has_other, self.b_window, self.per, is_pictured, self.callers, is_part)):
            raise PerfcaseError(
                "usage", "--baseline replaces the other capture", "use it with FILE, --a, --view, --limit and --format"
            )
        if self.baseline is None and not has_other and (self.a_window is None or self.b_window is None):
            raise PerfcaseError("usage", "there is nothing to compare with", "name another FILE, or give --a and --b")
        views = load_views()
        if self.view is not None and (self.view not in views or views[self.view].diff is None):
            if self.view in views:
                raise PerfcaseError("usage", f"{self.view} is not compared: {views[self.view].not_compared}")
            raise unknown("view", self.view, [name for name in views if views[name].diff], "perfcase views")


@dataclass(frozen=True)
class Compared:
    """Two sides: ``comparison`` has everything, ``relation`` only the lines."""

    comparison: page.Comparison
    fmt: str

    def write(self, output: Path | None = None) -> None:
        """Write it: see ``perfcase.operations.result.Result``."""
        page.write(self.comparison, self.fmt, output)

    def relation(self) -> duckdb.DuckDBPyRelation:
        """Return the changes, the largest first."""
        return page.as_table(self.comparison.lines).sql(page.ROWS)


@dataclass(frozen=True)
class Unusual:
    """The unusual figures of a capture, compared with a baseline."""

    name: str
    found: usual.BaselineResult
    request: Request

    def write(self, output: Path | None = None) -> None:
        """Write it: see ``perfcase.operations.result.Result``."""
        usual.write(self.name, self.found, self.request.baseline or "", self.request.fmt, output, self.request.limit)

    def relation(self) -> duckdb.DuckDBPyRelation:
        """Return the unusual figures, the most significant first."""
        lines = self.found.ranking.lines
        return page.as_table(lines[: self.request.limit] if self.request.limit else lines).sql(page.ROWS)


@dataclass(frozen=True)
class Callers:
    """The callers of a function on both sides."""

    found: stack_page.CallerRows
    fmt: str

    def write(self, output: Path | None = None) -> None:
        """Write it: see ``perfcase.operations.result.Result``."""
        stack_page.write_callers(self.found, self.fmt, output)

    def relation(self) -> duckdb.DuckDBPyRelation:
        """Return the paths, the largest change first."""
        return stack_page.callers_as_table(self.found).table("caller")


Result = Compared | Unusual | Callers


def run(
    request: Request,
    a: Opened,
    b: Opened | None = None,
    stores: Sequence[Path | str] = (),
    progress: Progress = lambda _name, _number, _of: None,
) -> Result:
    """Compare a with b, or two windows of a if there is no b. With a baseline: compare a with the captures that the baseline selects, in its
    own store and in ``stores``.

    Raises:
        PerfcaseError: these cannot be compared (usage), or something that is named does not exist (not_found).
    """
    request.check(has_other=b is not None, is_part=bool(a.only), has_stores=bool(stores))
    if request.baseline is not None:
        return _beside_baseline(request, a, stores, progress)
    with both_sides(a, b, request.a_window, request.b_window, request.per) as (old, new):
        if request.callers:
            stacks = profiles(old, new, request.event, off_cpu=request.off_cpu, wakers=request.wakers)
            return Callers(stack_page.caller_rows(old, new, *stacks, request.callers, request.limit), request.fmt)
        is_whole = request.view is None
        findings = changes(old, new) if is_whole else ()
        ranking = rank(old, new, None if is_whole else [request.view])
        found = page.comparison(
            old,
            new,
            ranking,
            request.limit,
            is_one_view=not is_whole,
            stacks=stack_page.compare_stacks(old, new) if is_whole else None,
            findings=findings,
            with_missing=request.fmt != "json",
        )
        return Compared(found, request.fmt)


@contextmanager
def both_sides(
    a: Opened, b: Opened | None, a_window: str | None, b_window: str | None, per: str | None
) -> Iterator[tuple[Side, Side]]:
    """Open the sides of a comparison; without ``b`` both are parts of ``a``."""
    parts = [part and parse_part(part) for part in (a_window, b_window)]
    with opened_sides(a.case, (b or a).case, *parts, a.only) as sides:
        yield count_per(*sides, per) if per else sides


def _beside_baseline(request: Request, a: Opened, stores: Sequence[Path | str], progress: Progress) -> Unusual:
    part = request.a_window and parse_part(request.a_window)
    views = load_views()
    wanted = [views[name] for name in views if views[name].diff and request.view in (None, name)]
    with opened_sides(a.case, a.case, part, part) as (side, _):
        found = usual.compare_with_baseline(side, request.baseline or "", wanted, progress, stores)
        return Unusual(side.name, found, request)
