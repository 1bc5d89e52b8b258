"""Stacks of two captures, matched by name: the function and the short name of the object it is in, never ids or addresses.

What has no name is matched by its object alone: an address means nothing in another build. Numbers of threads in a pool are
left out of their names.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from perfcase.errors import PerfcaseError
from perfcase.flamegraph import Frame, Stack
from perfcase.query import gate, sql_errors
from perfcase.schema import literal
from perfcase.stacks import SAMPLES, chains, choose_event, sampled_events, sampling_event

if TYPE_CHECKING:
    import duckdb
else:
    from perfcase.lazy import duckdb

NOT_IDLE = (
    "coalesce(pid <> 0, true) AND coalesce(comm, '') NOT IN ('perfcase-helper', 'perfcase-record')"
    " AND coalesce(pid NOT IN (SELECT pid FROM recorder_process WHERE pid IS NOT NULL), true)"
)
"""Samples of what the machine was there for: neither its idle loop nor the recorder."""

_NUMBER = re.compile(r"([-/:#_])[0-9]+")
_GENERATED = re.compile(r"^(perf|jitted)-[0-9]+[-0-9]*")
_KERNEL = re.compile(r"^(\[kernel.*\]|vmlinux.*)$")


class Named(NamedTuple):
    """A frame as two captures have it in common."""

    name: str
    dso: str
    """Empty for a thread's name."""
    kind: str


Chain = tuple[Named, ...]
"""Root first; the root is the thread's name."""


class Weight(NamedTuple):
    """What was counted in a path."""

    weight: float
    """In the event's unit."""
    samples: int


@dataclass(frozen=True)
class Profile:
    """The stacks of one capture, the weights of each added up."""

    stacks: Mapping[Chain, Weight]
    event: str
    unit: str
    total: Weight


def common_event(a: duckdb.DuckDBPyConnection, b: duckdb.DuckDBPyConnection, wanted: str | None) -> tuple[str, str]:
    """The event whose samples are compared, as each of the two calls it."""
    if wanted is not None:
        return choose_event(a, wanted)[0], choose_event(b, wanted)[0]
    events = [sampled_events(side) for side in (a, b)]
    both = sorted(events[0].keys() & events[1].keys())
    chosen = sampling_event(both) or next(iter(both), None)
    if chosen is None:
        told = " and ".join(", ".join(names) or "none" for names in events)
        raise PerfcaseError("not_found", f"the two have no sampled event in common: {told}", "--event NAME chooses one")
    return chosen, chosen


def profile(connection: duckdb.DuckDBPyConnection, event: str, where: str | None = NOT_IDLE) -> Profile:
    """The samples of an event; of which threads, a condition on sample and thread says."""
    unit = sampled_events(connection).get(event, "samples")
    weights: defaultdict[Chain, float] = defaultdict(float)
    samples: Counter[Chain] = Counter()
    for path, weight, number in _paths(connection, event, where):
        weights[path] += weight
        samples[path] += number
    stacks = {path: Weight(weights[path], samples[path]) for path in weights}
    return Profile(stacks, event, unit, Weight(sum(weights.values()), sum(samples.values())))


def _paths(connection: duckdb.DuckDBPyConnection, event: str, where: str | None) -> Iterator[tuple[Chain, float, int]]:
    sql = (
        "SELECT w.comm, s.frame_ids, w.frame_id, w.weight, w.samples FROM ("
        " SELECT comm, stack_id, CASE WHEN stack_id IS NULL THEN frame_id END AS frame_id,"
        "  sum(coalesce(period, 1))::DOUBLE AS weight, count(*) AS samples"
        f" FROM ({SAMPLES}) WHERE event = {literal(event)}{f' AND ({where}{chr(10)})' if where else ''} GROUP BY ALL"
        ") AS w LEFT JOIN stack AS s USING (stack_id)"
    )
    gate(connection, sql)
    frames = _frames(connection)
    for comm, ids, (weight, samples) in chains(connection, sql):
        thread = Named(_NUMBER.sub(r"\1*", comm), "", "label")
        yield (thread, *(frames[number] for number in ids)), weight, samples


@sql_errors()
def _frames(connection: duckdb.DuckDBPyConnection) -> dict[int, Named]:
    rows = connection.execute(
        "SELECT f.frame_id, f.symbol, l.dso, f.is_kernel, f.is_inlined, f.symbol_source IN ('perf-map', 'jitdump')"
        " FROM frame AS f JOIN frame_label AS l USING (frame_id)"
    ).fetchall()
    found = {}
    for number, symbol, dso, is_kernel, is_inlined, is_generated in rows:
        place = "[kernel]" if _KERNEL.match(dso) else _GENERATED.sub(r"\1-*", dso)
        kind = "kernel" if is_kernel else "inlined" if is_inlined else "jit" if is_generated else "user"
        found[number] = Named(symbol, place, kind) if symbol else Named(f"[{place.strip('[]')}]", place, "unnamed")
    return found


def pictured(profile: Profile, other: Profile) -> Iterator[Stack]:
    """The stacks for a flame graph: a frame by its function, with its object where a function of this name is in several."""
    ambiguous = ambiguous_names([*profile.stacks, *other.stacks])
    for path, weight in profile.stacks.items():
        yield [Frame(label(step, ambiguous), step.kind) for step in path], weight.weight


def ambiguous_names(paths: Iterable[Chain]) -> frozenset[str]:
    """Names that functions of several objects have."""
    places: defaultdict[str, set[str]] = defaultdict(set)
    for path in paths:
        for step in path:
            places[step.name].add(step.dso)
    return frozenset(name for name, objects in places.items() if len(objects) > 1)


def label(step: Named, ambiguous: frozenset[str]) -> str:
    """A frame's name, with its object where the name alone does not say which function it is."""
    return f"{step.name} ({step.dso})" if step.dso and step.name in ambiguous else step.name
