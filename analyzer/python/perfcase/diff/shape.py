"""Whether two captures spend their samples in the same stacks, and whether the CPU's counters differ all the same.

Slow and fast nodes that run the same code in the same proportions, with other counters, have their cause in the hardware and not in
the code: false sharing, a smaller cache, a lower frequency.

The shapes are compared by the overlap of the two distributions over the stacks, the sum of the smaller shares (histogram
intersection: M. Swain and D. Ballard, Color indexing, IJCV 7(1), 1991): 1 for the same distribution, 0 for no stack in common.
Two captures of one distribution do not reach 1, since each has only so many samples. What chance leaves, for counts that are
Poisson distributed, is 1 less half the sum over the stacks of the mean absolute difference, sqrt(2 / pi) times the standard deviation
sqrt(r (1 / n + 1 / m)) of a stack with the share r of n and of m samples. The shape is the same from SAME_RATIO of that on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfcase.diff.stacks import Chain, Profile

if TYPE_CHECKING:
    from perfcase.diff.compare import Difference

SAME_RATIO = 0.85
"""The shape is the same from this share of the overlap that chance leaves: up to 15 % of the time went elsewhere."""
SAMPLES_MIN = 100
"""Samples that each side needs."""
EXPECTED_MIN = 0.5
"""With less, chance alone takes more than half of the overlap away: too few samples for so many stacks."""
COUNTER_EFFECT_MIN = 0.2
"""A counter differs if the smaller figure is at least a fifth below the larger, as 1 is below 1.25."""
COUNTER_SIGMAS_MIN = 3.0
COUNTER_VIEWS = ("pmcarch", "microarchitecture")
"""Views whose averages are of the hardware's counters."""


@dataclass(frozen=True)
class Shape:
    """The stacks of two captures beside each other."""

    event: str
    a_samples: int
    b_samples: int
    overlap: float
    """Sum of the smaller shares."""
    expected: float
    """The overlap of two captures of one distribution, with so many samples."""
    moved: tuple[tuple[Chain, float, float], ...]
    """Stacks whose shares differ most, with both shares."""

    @property
    def is_judged(self) -> bool:
        """Whether there are enough samples, for so many stacks."""
        return min(self.a_samples, self.b_samples) >= SAMPLES_MIN and self.expected >= EXPECTED_MIN

    @property
    def is_same(self) -> bool:
        """Whether the shapes are the same."""
        return self.is_judged and self.overlap >= SAME_RATIO * self.expected


def shape(a: Profile, b: Profile, moved_max: int = 3) -> Shape:
    """Compare the stacks of two captures, by samples: a period may be of any length."""
    paths = {**a.stacks, **b.stacks}
    n, m = a.total.samples, b.total.samples
    overlap = expected = 0.0
    moved = []
    for path in paths:
        p = a.stacks[path].samples / n if path in a.stacks else 0.0
        q = b.stacks[path].samples / m if path in b.stacks else 0.0
        overlap += min(p, q)
        moved.append((path, p, q))
        if n and m:
            share = (p * n + q * m) / (n + m)
            # No difference of two shares is larger than both were if one of them had all.
            mean = min(math.sqrt(2 / math.pi * share * (1 / n + 1 / m)), 2 * share)
            expected += share - mean / 2
    moved.sort(key=lambda each: (-abs(each[1] - each[2]), each[0]))
    return Shape(a.event, n, m, overlap, expected, tuple(moved[:moved_max]))


def differing_counters(differences: Iterable[Difference], sigmas: float = COUNTER_SIGMAS_MIN) -> list[Difference]:
    """Return the averages of counters that differ by more than a fifth and by more than their noise, the largest effect first."""
    found = [
        each
        for each in differences
        if each.view in COUNTER_VIEWS
        and each.measure.kind == "mean"
        and each.effect >= COUNTER_EFFECT_MIN
        and (each.error is None or abs(each.difference) >= sigmas * each.error)
    ]
    return sorted(found, key=lambda each: (-each.effect, each.view, each.measure.name))


def sentence(found: Shape, counters: Sequence[str]) -> str:
    """Return the result as a sentence. ``counters``: those that differ, each with its figures."""
    figures = (
        f"overlap of the stacks {found.overlap:.2f}, chance alone leaves {found.expected:.2f}"
        f" ({found.a_samples:,} and {found.b_samples:,} samples of {found.event})"
    )
    if not found.is_judged:
        return f"shape not judged, too few samples: {figures}"
    if not found.is_same:
        return f"another shape: {figures}"
    if counters:
        return f"same shape, different counters: {', '.join(counters)}; {figures}"
    return f"same shape: {figures}"
