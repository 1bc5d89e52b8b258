"""Which captures a selector means."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfcase.errors import PerfcaseError
from perfcase.fleet.baseline import baseline
from perfcase.fleet.captures import Capture
from perfcase.fleet.selector import select

DAY_NS = 86_400 * 10**9
FIRST_NS = 20_458 * DAY_NS  # 2026-01-05 00:00 UTC


def capture(name: str, day: float | None, host: str | None, ticket: str | None = None, labels: str = "") -> Capture:
    started = None if day is None else FIRST_NS + int(day * DAY_NS)
    return Capture(name, Path(name), name, started, 10**9, host, ticket, None, tuple(labels.split()), None, None, None)


CAPTURES = [
    capture("a", 0, "web-1", "OPS-1", "canary build=7"),
    capture("b", 0.5, "web-2", "OPS-1", "build=7"),
    capture("c", 1, "db-1", "OPS-2"),
    capture("d", None, None, None, "canary"),
]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("host=web-1", "a"),
        ("host=web-*", "ab"),
        ("host=web-1,host=db-1", "ac"),
        ("host=web-*,label=canary", "a"),
        ("label=canary", "ad"),
        ("label=build=7", "ab"),
        ("ticket=OPS-2", "c"),
        ("before=2026-01-05T12:00", "a"),
        ("after=2026-01-05T12:00", "bc"),
        ("after=2026-01-05T12:00, before=2026-01-06", "b"),
        ("before=2026-01-05T13:00+01:00", "a"),
        ("capture=[cd]", "cd"),
    ],
)
def test_selectors(selector: str, names: str) -> None:
    assert "".join(found.name for found in select(CAPTURES, selector)) == names


@pytest.mark.parametrize("selector", ["", "host", "host=", "colour=red", "before=soon", "host=web-1,"])
def test_what_is_no_selector(selector: str) -> None:
    with pytest.raises(PerfcaseError) as caught:
        select(CAPTURES, selector)
    assert caught.value.kind == "usage"


def test_none_is_like_that() -> None:
    with pytest.raises(PerfcaseError) as caught:
        select(CAPTURES, "host=nowhere")
    assert caught.value.kind == "not_found"


def test_a_baseline_is_median_and_median_absolute_deviation() -> None:
    # Median 4; distances 3, 2, 0, 1, 96: their median is 2. One odd capture moves neither.
    found = baseline([1, 2, 4, 5, 100, None])
    assert found is not None
    assert (found.count, found.median, found.mad) == (5, 4, 2)
    assert (found.deviation(100), found.deviation_mads(100)) == (96, 48)
    assert (found.deviation(None), found.deviation_mads(None)) == (None, None)
    assert baseline([None]) is None


def test_without_spread_there_is_no_multiple_of_it() -> None:
    found = baseline([3, 3, 3, 4])
    assert found is not None
    assert (found.mad, found.deviation(5), found.deviation_mads(5)) == (0, 2, None)
