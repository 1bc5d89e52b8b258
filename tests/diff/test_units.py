"""The figures of a line have one unit, three digits and no exponent."""

from __future__ import annotations

import pytest

from perfcase.catalogue.declared import Measure
from perfcase.diff.amounts import amount, scaled, value
from perfcase.diff.compare import Difference
from perfcase.text import duration, size


def line(unit: str, a: float, b: float, a_per: float, b_per: float, per: str | None) -> Difference:
    return Difference("v", (), (), Measure("m", "sum"), unit, per, a, b, a_per, b_per, None, 1.0, "changed")


def shown(each: Difference) -> tuple[str, str, str]:
    return (
        amount(each, each.a, each.a_per), amount(each, each.b, each.b_per), value(each, each.difference),
    )  # fmt: skip


def test_both_sides_and_the_difference_have_the_unit_of_the_larger() -> None:
    assert shown(line("ns", 1_200_000, 900_000, 1_200_000, 900_000, None)) == ("1.2 ms", "0.9 ms", "-0.3 ms")
    # What was measured and what it is by second are of different size.
    assert shown(line("ns", 5e9, 600e6, 999_700, 120_000, "s")) == ("1,000 µs/s (5 s)", "120 µs/s (0.6 s)", "-880 µs/s")
    assert shown(line("bytes", 3 << 20, 512, 1 << 20, 100, None)) == ("1 MiB", "100 B", "-1 MiB")
    assert shown(line("ratio", 0.9, 1.3, 0.9, 1.3, None)) == ("0.9", "1.3", "0.4")
    assert shown(line("ratio", 0.9, 0.5, 0.9, 0.5, None)) == ("90.0 %", "50.0 %", "-40.0 %")
    assert shown(line("count", 3, 792, 3 / 510, 792 / 708, "read")) == (
        "0.00588/read (3)",
        "1.12/read (792)",
        "1.11/read",
    )


def test_a_million_times_as_much_has_a_unit_of_its_own() -> None:
    assert scaled("ns", 5, 5, 5e9) == "5 ns"
    assert scaled("bytes/h", 3 << 20) == "3 MiB/h"
    assert scaled("threads", 1234.5) == "1,234 threads"
    assert scaled("ns", 0, 0, 5e9) == "0 s"


def test_long_times_are_said_as_durations() -> None:
    assert shown(line("ns", 125e9, 5400e9, 125e9, 5400e9, None)) == ("2 min 5 s", "1 h 30 min", "1 h 28 min")
    assert shown(line("ns", 0, 5400e9, 0, 5400e9, None)) == ("0 s", "1 h 30 min", "1 h 30 min")
    assert shown(line("ns", 125e9, 5e9, 0.5e9, 0.25e9, "s")) == ("500 ms/s (2 min 5 s)", "250 ms/s (5 s)", "-250 ms/s")


@pytest.mark.parametrize(
    ("figure", "told"), [(999.4, "999 ns"), (999_700, "1,000 µs"), (61e12, "16 h 57 min"), (1500, "1.5 µs")]
)
def test_durations_have_no_exponent(figure: float, told: str) -> None:
    assert duration(figure) == told


@pytest.mark.parametrize(("figure", "told"), [(1020 * 1024, "1,020 KiB"), (1536, "1.5 KiB"), (5 << 50, "5,120 TiB")])
def test_sizes_have_no_exponent(figure: float, told: str) -> None:
    assert size(figure) == told
