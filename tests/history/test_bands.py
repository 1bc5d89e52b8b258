"""Two bands are found where there are two, and nowhere else."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from perfcase.fleet.bands import STRICT, run_starts, split

FAST_AND_SLOW = [0.62, 1.80, 1.75, 1.91, 0.66, 1.84, 1.69, 1.88, 1.77, 1.93, 1.71, 1.86, 1.79, 1.82, 1.74, 1.90]
"""Cycles per instruction of 16 nodes, 2 of them fast: as the publication of the 3 times larger instance has it."""


def test_one_node_in_eight_is_fast() -> None:
    found = split(FAST_AND_SLOW)
    assert found is not None
    assert (found.low_count, found.high_count, found.below, found.above) == (2, 14, 0.66, 1.69)
    assert found.low_median == pytest.approx(0.64)
    assert found.high_median == pytest.approx(1.81)
    assert found.needed == 5.0
    assert found.is_banded
    assert [found.band(value) for value in (0.62, 0.66, 1.69, 1.93)] == ["low", "low", "high", "high"]


def test_the_separation_is_the_gap_by_the_spread_within() -> None:
    # Not all positive, so as they are: sides {-1, 1, -1, 1} and {19, 21, 19, 21}, squares 4 + 4 over 8 - 2.
    found = split([-1, 1, 19, 21, -1, 1, 19, 21])
    assert found is not None
    assert found.separation == pytest.approx(18 / math.sqrt(8 / 6))
    assert found.needed == 6.0
    assert found.times is None


def test_positive_values_are_compared_by_their_ratios() -> None:
    # Logarithms to the base of 2: 0, 1, 0, 1 and 9, 10, 9, 10. By the values, 512 and 1024 would be far from each other.
    found = split([1, 2, 512, 1024, 1, 2, 512, 1024])
    assert found is not None
    assert found.separation == pytest.approx(8 / math.sqrt((4 * 0.25 + 4 * 0.25) / 6))
    assert found.times == pytest.approx(512)


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.03, 0.97, 1.0, 1.01],
        [*[1.0, 1.1, 0.9, 1.05] * 3, 9.0],  # one alone is an outlier
        list(range(1, 30)),
        [100.0] * 5 + [101.0] * 5,  # apart, but by 1 %
    ],
    ids=["one value and noise", "outlier", "a ramp", "a difference of one in a hundred"],
)
def test_no_bands(values: list[float]) -> None:
    found = split(values)
    assert found is None or not found.is_banded


def test_too_few_or_the_same() -> None:
    assert split([1, 1, 1, 9, 9, 9, 9]) is None
    assert split([1.0] * 20) is None
    assert split([math.nan, math.inf, *[1.0] * 3, *[5.0] * 4]) is None


def test_sides_without_any_spread() -> None:
    found = split([2.0, 2, 2, 4, 4, 4, 4, 4])
    assert found is not None
    assert found.separation == math.inf
    assert found.is_banded


@pytest.mark.parametrize(
    ("name", "share_max"), [("normal", 0.01), ("exponential", 0.01), ("lognormal", 0.01), ("uniform", 0.03)]
)
@pytest.mark.parametrize("count", [8, 12, 24, 64])
def test_samples_of_one_distribution_seldom_have_bands(name: str, share_max: float, count: int) -> None:
    random_numbers = random.Random(f"{name} {count}")
    draw: dict[str, Callable[[], float]] = {
        "normal": lambda: random_numbers.gauss(10, 1),
        "exponential": lambda: random_numbers.expovariate(1),
        "lognormal": lambda: random_numbers.lognormvariate(0, 0.5),
        "uniform": random_numbers.random,
    }
    rounds = 1500
    banded = strictly = 0
    for _ in range(rounds):
        sample = [draw[name]() for _ in range(count)]
        found, strict = split(sample), split(sample, STRICT)
        banded += found is not None and found.is_banded
        strictly += strict is not None and strict.is_banded
    assert banded / rounds <= share_max
    assert strictly / rounds <= share_max / 3


@pytest.mark.parametrize("count", [8, 16, 32, 64])
def test_one_in_eight_three_times_as_fast_is_nearly_always_found(count: int) -> None:
    random_numbers = random.Random(count)
    rounds = 400
    found = 0
    for _ in range(rounds):
        fast = max(count // 8, 2)
        cpi = [(1.0 if at < fast else 2.9) * random_numbers.lognormvariate(0, 0.08) for at in range(count)]
        best = split(cpi)
        found += best is not None and best.is_banded and best.low_count == fast
    assert found / rounds >= 0.97


def test_since_when() -> None:
    assert run_starts([]) == []
    assert run_starts(["high", "high", "low", "low", "high"]) == [0, 0, 2, 2, 4]
