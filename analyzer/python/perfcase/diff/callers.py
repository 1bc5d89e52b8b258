"""The caller view of one function in two captures: who calls it, how much it costs from there, and what of that changed.

If a function is in a callchain more than once, the occurrence nearest to the leaf counts, as in the view ``callers``.
"""

from __future__ import annotations

import difflib
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from perfcase.diff.stacks import Chain, Profile, Weight, ambiguous_names, label
from perfcase.errors import PerfcaseError

DEPTH_MAX = 64
"""Callers of callers that are followed."""


@dataclass(frozen=True)
class Caller:
    """A path of callers, from the function up."""

    depth: int
    path: tuple[str, ...]
    a: Weight
    b: Weight
    a_per_s: float
    b_per_s: float
    a_ratio: float
    """The share of the weight of all samples."""
    b_ratio: float

    @property
    def difference_per_s(self) -> float:
        """B less A, per second of recording."""
        return self.b_per_s - self.a_per_s

    @property
    def times(self) -> float | None:
        """B as a multiple of A, per second; None where A has none."""
        return self.b_per_s / self.a_per_s if self.a_per_s else None

    @property
    def sigmas(self) -> float:
        """The difference by its error, if samples come at random: one of n samples is known to the square root of n."""
        errors = [
            per_s / math.sqrt(each.samples) if each.samples else 0.0
            for each, per_s in ((self.a, self.a_per_s), (self.b, self.b_per_s))
        ]
        return self.difference_per_s / math.hypot(*errors) if any(errors) else 0.0


def callers(a: Profile, b: Profile, a_duration_ns: int, b_duration_ns: int, function: str) -> list[Caller]:
    """Return every path of callers of a function, the function itself first, then by how much the cost per second changed."""
    ambiguous = ambiguous_names([*a.stacks, *b.stacks])
    found = [_of_function(side, function, ambiguous) for side in (a, b)]
    if not any(found):
        names = {step.name for side in (a, b) for path in side.stacks for step in path if step.dso}
        near = difflib.get_close_matches(function, names, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "perfcase view function_profile lists the functions"
        raise PerfcaseError("not_found", f"neither capture has a sample in a function {function}", hint)
    seconds = [max(duration_ns, 1) / 1e9 for duration_ns in (a_duration_ns, b_duration_ns)]
    nothing = Weight(0.0, 0)
    rows = []
    for path in {**found[0], **found[1]}:
        old, new = found[0].get(path, nothing), found[1].get(path, nothing)
        rows.append(
            Caller(
                len(path) - 1, path, old, new, old.weight / seconds[0], new.weight / seconds[1],
                _share(old, a), _share(new, b),
            )
        )  # fmt: skip
    return sorted(rows, key=lambda row: (row.depth > 0, -abs(row.difference_per_s), row.depth, row.path))


def _of_function(side: Profile, function: str, ambiguous: frozenset[str]) -> dict[tuple[str, ...], Weight]:
    weights: defaultdict[tuple[str, ...], float] = defaultdict(float)
    samples: defaultdict[tuple[str, ...], int] = defaultdict(int)
    for path, each in side.stacks.items():
        at = _nearest_to_leaf(path, function, ambiguous)
        if at is None:
            continue
        for up in _prefixes(tuple(label(step, ambiguous) for step in reversed(path[: at + 1]))):
            weights[up] += each.weight
            samples[up] += each.samples
    return {up: Weight(weights[up], samples[up]) for up in weights}


def _nearest_to_leaf(path: Chain, function: str, ambiguous: frozenset[str]) -> int | None:
    for at in range(len(path) - 1, 0, -1):
        if function in (path[at].name, label(path[at], ambiguous)):
            return at
    return None


def _prefixes(up: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for length in range(1, min(len(up), DEPTH_MAX + 1) + 1):
        yield up[:length]


def _share(part: Weight, whole: Profile) -> float:
    return part.weight / whole.total.weight if whole.total.weight else 0.0
