"""Every view says how two captures are compared in it, or why they are not."""

from __future__ import annotations

import duckdb
import pytest

from perfcase.catalogue.declared import parse
from perfcase.catalogue.views import load_views
from perfcase.diff.collect import collect
from tests.support import viewtest

COLUMNS = ("comm", "upid", "total_ns", "count", "avg_ns")
COMPARED = sorted(name for name, view in load_views().items() if view.diff)


@pytest.mark.parametrize("name", sorted(load_views()))
def test_every_view_declares_how_it_is_compared_or_why_not(name: str) -> None:
    view = load_views()[name]
    assert bool(view.diff) != bool(view.not_compared)


@pytest.fixture(scope="module")
def empty() -> duckdb.DuckDBPyConnection:
    return viewtest.database(frozenset(load_views().values()))


@pytest.mark.parametrize("name", COMPARED)
def test_what_a_header_declares_can_be_asked_of_the_view(name: str, empty: duckdb.DuckDBPyConnection) -> None:
    found = collect(empty, load_views()[name])
    assert all(
        not figures or set(figures) <= {m.name for m in load_views()[name].diff.measures}
        for figures in found.rows.values()
    )


@pytest.mark.parametrize(
    ("entries", "wrong"),
    [
        ({"diff sum": "total_ns"}, "without 'diff by'"),
        ({"diff by": "comm"}, "needs measures"),
        ({"diff by": "name", "diff sum": "total_ns"}, "no column of the view: name"),
        ({"diff by": "comm", "diff sum": "calls"}, "no column of the view: calls"),
        ({"diff by": "upid", "diff sum": "total_ns"}, "by an id"),
        ({"diff by": "comm", "diff sum": "total_ns", "diff max": "total_ns"}, "each of them once"),
        ({"diff by": "comm", "diff sum": "total_ns", "diff per cpu": "count"}, "each of them once"),
        ({"diff by": "comm", "diff median": "avg_ns"}, "median needs"),
    ],
)
def test_a_wrong_header_is_told(entries: dict[str, str], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        parse(entries, COLUMNS)


def test_a_header_is_read() -> None:
    entries = {"diff by": "comm", "diff sum": "total_ns, count", "diff mean": "avg_ns by count", "diff weight": "0.9"}
    declared = parse(entries, COLUMNS)
    assert declared.keys == ("comm",)
    assert [(each.name, each.kind, each.by) for each in declared.measures] == [
        ("total_ns", "sum", None),
        ("count", "sum", None),
        ("avg_ns", "mean", "count"),
    ]
    assert declared.weight == 0.9
    assert parse({}, COLUMNS) is None
