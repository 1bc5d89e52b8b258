"""What a diff says of stacks: the differential flame graph, the caller view of one function, and whether the shape is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from perfcase.case.query import Result
from perfcase.case.rows import table_of
from perfcase.case.span import recorded_ns
from perfcase.catalogue.views import load_views
from perfcase.diff.amounts import value
from perfcase.diff.callers import callers
from perfcase.diff.compare import Side, diff_view
from perfcase.diff.page import times
from perfcase.diff.shape import COUNTER_VIEWS, Shape, differing_counters, sentence, shape
from perfcase.diff.sides import fed_views, on_both
from perfcase.diff.stacks import Profile, common_object, pictured, profiles_in_common
from perfcase.lazy import duckdb
from perfcase.stacks.fetching import event_counts
from perfcase.stacks.flamegraph import FlameGraph
from perfcase.stacks.shaping import Shaped, Shaping
from perfcase.stacks.tree import Tree
from perfcase.terminal import render
from perfcase.text import ratio, safe

FRAMES_SHOWN = 6
CALLER_COLUMNS = {
    "depth": "INTEGER",
    "path": "VARCHAR",
    "a": "DOUBLE",
    "b": "DOUBLE",
    "a_per_s": "DOUBLE",
    "b_per_s": "DOUBLE",
    "difference_per_s": "DOUBLE",
    "times": "DOUBLE",
    "sigmas": "DOUBLE",
    "a_ratio": "DOUBLE",
    "b_ratio": "DOUBLE",
    "a_samples": "BIGINT",
    "b_samples": "BIGINT",
}
"""Weights are in the event's unit (ns for clocks), rates per second of recording, ratios of all that was sampled."""


def flamegraph(a: Side, b: Side, old: Profile, new: Profile, shaping: Shaping) -> str:
    """Return b's flame graph as SVG, coloured by the difference from A."""
    ours, base = _shaped(old, new, shaping)
    picture = FlameGraph(ours, title=_title(a, b, new, shaping), unit=new.unit, base=base, base_title=a.name)
    picture.note_left_out(ours.left_out)
    return picture.svg()


def flamegraph_tree(
    a: Side,
    b: Side,
    old: Profile,
    new: Profile,
    shaping: Shaping,
    answer: Callable[[Tree], dict[str, Any]],
    *,
    is_tree: bool,
) -> dict[str, Any]:
    """Return what ``answer`` says of the tree of both; where that is the tree itself, with what it is of."""
    ours, base = _shaped(old, new, shaping)
    found = answer(Tree(ours, base))
    if not is_tree:
        return found
    asked = sorted(shaping.collapse)
    return {
        "title": safe(_title(a, b, new, shaping)), "what": new.event, "unit": new.unit, "a_name": safe(a.name), "b_name": safe(b.name),
        "events": [] if new.is_off_cpu else _common(a, b), "stacks_left_out": ours.listed(base),
        "whole_objects": [dso for dso in asked if any(side.is_whole(common_object(dso)) for side in (ours, base))],
        "is_inverted": shaping.is_inverted, **found,
    }  # fmt: skip


def _shaped(old: Profile, new: Profile, shaping: Shaping) -> tuple[Shaped, Shaped]:
    """Return the stacks of b and of a."""
    # Both captures call the kernel and what was compiled at run time the same.
    shaping = replace(shaping, collapse=frozenset(map(common_object, shaping.collapse)))
    return Shaped(pictured(new, old), shaping), Shaped(pictured(old, new), shaping)


def _title(a: Side, b: Side, new: Profile, shaping: Shaping) -> str:
    words = "".join(f", {part}" for part in shaping.words())
    return f"{b.name}: {new.event}, the colour is the difference from {a.name}{words}"


def _common(a: Side, b: Side) -> list[dict[str, object]]:
    """Return the events that both sampled, with how often."""
    others = {name: number for name, _, number in event_counts(b.connection)}
    return [
        {"event": name, "unit": unit, "sample_count": number + others[name]}
        for name, unit, number in event_counts(a.connection)
        if name in others
    ]


@dataclass(frozen=True)
class CallerRows:
    """The caller view of a function in both captures, the largest change first."""

    title: str
    rows: Sequence[tuple]


def caller_rows(a: Side, b: Side, old: Profile, new: Profile, function: str, limit: int) -> CallerRows:
    """Return the callers of a function in both captures, at most ``limit`` rows; 0: all."""
    a_ns, b_ns = (recorded_ns(side.connection, "function_profile") or side.duration_ns for side in (a, b))
    rows = callers(old, new, a_ns, b_ns, function)
    what = "stacks" if new.is_off_cpu else "samples"
    title = f"callers of {function}, A {a.name}, B {b.name}: {what} of {new.event}, weights in {new.unit}"
    return CallerRows(
        title,
        [
            (
                row.depth, ";".join(name.replace(";", ":") for name in row.path), row.a.weight, row.b.weight,
                row.a_per_s, row.b_per_s, row.difference_per_s, row.times, row.sigmas, row.a_ratio, row.b_ratio,
                row.a.samples, row.b.samples,
            )
            for row in (rows[:limit] if limit else rows)
        ],
    )  # fmt: skip


def callers_as_table(found: CallerRows) -> duckdb.DuckDBPyConnection:
    """Return a connection with the rows in the table ``caller``."""
    return table_of("caller", CALLER_COLUMNS, found.rows)


def write_callers(found: CallerRows, fmt: str, output: Path | None) -> None:
    """Write the caller view."""
    with callers_as_table(found) as connection:
        if fmt == "table" and output is None:
            render.console().print(safe(found.title), markup=False, soft_wrap=True)
        render.write_result(Result(connection, "SELECT * FROM caller"), fmt, output, limited=True)


@dataclass(frozen=True)
class StackComparison:
    """The stacks of both sides, compared."""

    event: str
    is_same_shape: bool | None
    """None: cannot be judged."""
    overlap_ratio: float
    expected_overlap_ratio: float
    a_samples: int
    b_samples: int
    counters: tuple[str, ...]
    """Those that differ."""
    sentence: str
    moved: tuple[str, ...]
    """If the shape is another: the stacks that moved most, with both shares."""


def compare_stacks(a: Side, b: Side) -> StackComparison | None:
    """Return the stacks of both beside each other; None where they sampled nothing in common."""
    both = profiles_in_common(a, b)
    if both is None:
        return None
    old, new = both
    found = shape(old, new)
    views = load_views()
    # Counters that only one side has do not differ.
    fed = set.intersection(*on_both(a, b, fed_views))
    differences = [each for name in COUNTER_VIEWS if name in fed for each in diff_view(views[name], a, b)]
    counters = tuple(
        f"{each.measure.name} {value(each, each.a_per or 0)} and {value(each, each.b_per or 0)}"
        + (f" ({times(each.ratio)})" if each.ratio else "")
        for each in differing_counters(differences)
    )
    return StackComparison(
        found.event, found.is_same if found.is_judged else None, found.overlap, found.expected, found.a_samples,
        found.b_samples, counters, sentence(found, counters), tuple(_moved(found)),
    )  # fmt: skip


def _moved(found: Shape) -> Iterator[str]:
    if found.is_judged and not found.is_same:
        for chain, before, now in found.moved:
            names = " > ".join(step.name for step in chain[-FRAMES_SHOWN:])
            more = "… > " if len(chain) > FRAMES_SHOWN else ""
            yield f"{ratio(before)} of the samples of A, {ratio(now)} of B: {more}{names}"
