"""Two separated bands in a set of values: some nodes fast, the others slow, none between.

The split is Otsu's: the one with the greatest variance between its two sides (N. Otsu, A threshold selection method from
gray-level histograms, IEEE Trans. SMC 9(1), 1979). Any set has such a split; it counts as two bands if the gap between its
sides is at least ``4 + 16 / n`` times the spread within them (the pooled standard deviation). With this factor fewer than
1 in 100 samples of a normal, exponential or lognormal distribution have bands (of a uniform one 3), of whatever size:
tests/history/test_bands.py draws such samples. Values that are all positive are compared by their logarithms, since the noise of rates
and latencies grows with them; others as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

VALUES_MIN = 8
"""With fewer values, gaps are chance."""
BAND_MIN = 2
"""One value alone is an outlier, no band."""
STRICT = 1.5
"""Strictness where hundreds of figures are tried: with it fewer than 1 in 300 samples of one distribution have bands."""
DIFFERENCE_RATIO_MIN = 0.1
"""The upper band begins at least this far above the end of the lower one: less is real, but nobody's problem."""


@dataclass(frozen=True)
class Split:
    """The best split of a set in two."""

    below: float
    """The largest value of the lower side."""
    above: float
    """The smallest value of the upper side."""
    low_count: int
    high_count: int
    low_median: float
    high_median: float
    separation: float
    """Gap between the sides by the spread within them; infinite where neither side has any."""
    needed: float
    """The separation from which on the sides are bands."""

    @property
    def is_banded(self) -> bool:
        """Whether these are two bands."""
        return _are_apart(self.below, self.above) and self.separation >= self.needed

    @property
    def times(self) -> float | None:
        """The upper median as a multiple of the lower; None where that says nothing."""
        return self.high_median / self.low_median if self.low_median > 0 else None

    def band(self, value: float) -> str:
        """Return the band of a value."""
        return "low" if value <= self.below else "high"


def split(values: Iterable[float], strictness: float = 1.0) -> Split | None:
    """Return the best split; None for too few values, or values that are all the same. ``strictness`` multiplies what is needed."""
    ordered = sorted(value for value in values if math.isfinite(value))
    count = len(ordered)
    if count < VALUES_MIN or ordered[0] == ordered[-1]:
        return None
    scaled = [math.log(value) for value in ordered] if ordered[0] > 0 else ordered
    at = _otsu(scaled)
    low, high = scaled[:at], scaled[at:]
    gap = high[0] - low[-1]
    if gap <= 0:
        return None
    spread = math.sqrt((_squares(low) + _squares(high)) / (count - 2))
    # Rounding makes a spread of values that are all the same.
    separation = gap / spread if spread > 1e-12 * gap else math.inf
    below, above = ordered[at - 1], ordered[at]
    medians = median(ordered[:at]), median(ordered[at:])
    return Split(below, above, at, count - at, *medians, separation, strictness * (4 + 16 / count))


def has_gap(values: Iterable[float]) -> bool:
    """Return whether there is a gap as two bands have one between them. Most sets have none, and to find their best split takes longer."""
    ordered = sorted(filter(math.isfinite, values))
    between = zip(ordered[BAND_MIN - 1 :], ordered[BAND_MIN : 1 - BAND_MIN], strict=False)
    return any(below < above and _are_apart(below, above) for below, above in between)


def _are_apart(below: float, above: float) -> bool:
    return above - below >= DIFFERENCE_RATIO_MIN * max(abs(above), abs(below))


def _otsu(ordered: Sequence[float]) -> int:
    """Return how many values the lower side of the split has that maximizes the variance between the sides."""
    count, total = len(ordered), math.fsum(ordered)
    lower = math.fsum(ordered[: BAND_MIN - 1])
    best, best_at = -1.0, BAND_MIN
    for at in range(BAND_MIN, count - BAND_MIN + 1):
        lower += ordered[at - 1]
        difference = (total - lower) / (count - at) - lower / at
        between = at * (count - at) * difference * difference
        if between > best:
            best, best_at = between, at
    return best_at


def _squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def run_starts(bands: Sequence[str]) -> list[int]:
    """Return for each of a host's captures in the order of time: the index of the first since which it is in this band."""
    starts: list[int] = []
    for at, band in enumerate(bands):
        starts.append(starts[-1] if at and bands[at - 1] == band else at)
    return starts
