"""Stacks of two captures, matched by name: the function and the short name of the object it is in, never ids or addresses.

What has no name is matched by its object alone: an address means nothing in another build. Numbers of threads in a pool are
left out of their names.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from perfcase.case.query import sql_errors
from perfcase.diff.compare import Side
from perfcase.diff.sides import on_both
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb
from perfcase.stacks.fetching import (
    NOT_IDLE,
    OFF_CPU_TITLE,
    OFF_WAKE_TITLE,
    choose_event,
    off_cpu_paths,
    off_wake_paths,
    sample_paths,
    sampled_events,
    sampling_event,
)
from perfcase.stacks.tree import Frame, Stack

_NUMBER = re.compile(r"([-/:#_])[0-9]+")
_GENERATED = re.compile(r"^(perf|jitted)-[0-9]+[-0-9]*")
_KERNEL = re.compile(r"^(\[kernel.*\]|vmlinux.*)$")


class Named(NamedTuple):
    """A frame as two captures have it in common."""

    name: str
    dso: str
    """Empty for a label: a thread's name, the state that it was in, who woke it."""
    kind: str


Chain = tuple[Named, ...]
"""Root first; the root is the thread's name."""


class Weight(NamedTuple):
    """What was counted in a path."""

    weight: float
    """In the event's unit."""
    samples: int
    """For time off the CPU: how often the CPU was left."""


@dataclass(frozen=True)
class Profile:
    """The stacks of one capture, the weights of each added up."""

    stacks: Mapping[Chain, Weight]
    event: str
    unit: str
    total: Weight
    is_off_cpu: bool = False
    """What is counted is time off the CPU, not samples of an event."""


def profiles(
    a: Side,
    b: Side,
    event: str | None = None,
    *,
    off_cpu: bool = False,
    wakers: bool = False,
    where: str = NOT_IDLE,
) -> tuple[Profile, Profile]:
    """Return the stacks of both: samples of an event that both have, or where threads left their CPUs; of which threads, ``where`` says."""
    if off_cpu:
        return on_both(a, b, lambda side: off_cpu_profile(side.connection, wakers=wakers, where=where))
    if event is not None:
        return on_both(a, b, lambda side: profile(side.connection, *choose_event(side.connection, event), where))
    found = profiles_in_common(a, b, where)
    if found is None:
        events = " and ".join(", ".join(sampled_events(side.connection)) or "none" for side in (a, b))
        raise PerfcaseError(
            "not_found", f"the two have no sampled event in common: {events}", "--event NAME chooses one"
        )
    return found


def profiles_in_common(a: Side, b: Side, where: str = NOT_IDLE) -> tuple[Profile, Profile] | None:
    """Return the stacks of both: samples of an event that both have; None where they sampled nothing in common."""
    units, others = on_both(a, b, lambda side: sampled_events(side.connection))
    both = sorted(units.keys() & others.keys())
    event = sampling_event(both) or next(iter(both), None)
    return None if event is None else on_both(a, b, lambda side: profile(side.connection, event, units[event], where))


def profile(connection: duckdb.DuckDBPyConnection, event: str, unit: str, where: str | None = NOT_IDLE) -> Profile:
    """Return the samples of an event; of which threads, a condition on sample and thread says."""
    return _profile(event, unit, sample_paths(connection, event, _frames(connection), _label, where))


def off_cpu_profile(connection: duckdb.DuckDBPyConnection, *, wakers: bool = False, where: str = NOT_IDLE) -> Profile:
    """Return the off-CPU stacks of both, by time; with wakers only sleeps and their wakers.

    Raises PerfcaseError: the capture has no such time, which says nothing of whether there was any.
    """
    paths = off_wake_paths if wakers else off_cpu_paths
    title = OFF_WAKE_TITLE if wakers else OFF_CPU_TITLE
    found = _profile(title, "ns", paths(connection, _frames(connection), _label, where))
    if not found.stacks:
        raise PerfcaseError(
            "not_found", f"one of the two has no {title}", "perfcase view view_coverage says what to record"
        )
    return replace(found, is_off_cpu=True)


def _profile(event: str, unit: str, paths: Iterable[tuple[list[Named], int, int]]) -> Profile:
    weights: defaultdict[Chain, float] = defaultdict(float)
    samples: Counter[Chain] = Counter()
    for path, weight, number in paths:
        chain = tuple(path)
        weights[chain] += weight
        samples[chain] += number
    stacks = {chain: Weight(weights[chain], samples[chain]) for chain in weights}
    return Profile(stacks, event, unit, Weight(sum(weights.values()), sum(samples.values())))


def _label(text: str) -> Named:
    """Return a thread's name, a state, a waker: without the number that it has in its pool."""
    return Named(_NUMBER.sub(r"\1*", text), "", "label")


@sql_errors()
def _frames(connection: duckdb.DuckDBPyConnection) -> dict[int, Named]:
    rows = connection.execute(
        "SELECT f.frame_id, f.symbol, l.dso, f.is_kernel, f.is_inlined, f.symbol_source IN ('perf-map', 'jitdump')"
        " FROM frame AS f JOIN frame_label AS l USING (frame_id)"
    ).fetchall()
    found = {}
    for number, symbol, dso, is_kernel, is_inlined, is_generated in rows:
        place = common_object(dso)
        kind = "kernel" if is_kernel else "inlined" if is_inlined else "jit" if is_generated else "user"
        found[number] = Named(symbol, place, kind) if symbol else Named(f"[{place.strip('[]')}]", place, "unnamed")
    return found


def common_object(dso: str) -> str:
    """Return an object's short name as two captures have it in common."""
    return "[kernel]" if _KERNEL.match(dso) else _GENERATED.sub(r"\1-*", dso)


def pictured(profile: Profile, other: Profile) -> Iterator[Stack]:
    """Yield the stacks for a flame graph: a frame by its function, with its object where a function of this name is in several."""
    ambiguous = ambiguous_names([*profile.stacks, *other.stacks])
    frames: dict[Named, Frame] = {}
    for path, weight in profile.stacks.items():
        for step in path:
            if step not in frames:
                frames[step] = Frame(label(step, ambiguous), step.kind, step.dso)
        yield [frames[step] for step in path], weight.weight


def ambiguous_names(paths: Iterable[Chain]) -> frozenset[str]:
    """Return names that functions of several objects have."""
    places: defaultdict[str, set[str]] = defaultdict(set)
    for path in paths:
        for step in path:
            places[step.name].add(step.dso)
    return frozenset(name for name, objects in places.items() if len(objects) > 1)


def label(step: Named, ambiguous: frozenset[str]) -> str:
    """Return a frame's name, with its object where the name alone does not say which function it is."""
    return f"{step.name} ({step.dso})" if step.dso and step.name in ambiguous else step.name
