"""Median and spread of chosen captures.

The spread is the median absolute deviation (MAD): unlike a standard deviation, one odd capture does not widen it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Baseline:
    """What is usual."""

    count: int
    median: float
    mad: float
    """Median of the distances from the median; 0 where more than half of the values are the same."""

    def deviation(self, value: float | None) -> float | None:
        """Return how far a value is from the median."""
        return None if value is None else value - self.median

    def deviation_mads(self, value: float | None) -> float | None:
        """Return the same as a multiple of the spread; None where there is no spread to compare with."""
        return None if value is None or not self.mad else (value - self.median) / self.mad


def baseline(values: Iterable[float | None]) -> Baseline | None:
    """Return the baseline of those values that are known; None without any."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    middle = median(known)
    return Baseline(len(known), middle, median(abs(value - middle) for value in known))
