"""The charts of the server's page as the headers of the views ask for them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from perfcase.catalogue.charts import Chart, ChartValue, charts
from perfcase.catalogue.schema import Column, quote
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views
from perfcase.errors import PerfcaseError
from tests.support import viewtest

COLUMNS = ("ts_ns ns", "interval_ns ns", "cpu", "ipc ratio", "busy_ratio ratio", "read_bytes_per_s bytes/s", "n count")
ALL = [(view, chart) for view in load_views().values() for chart in charts(view)]


def view(place: str, shown: str, columns: tuple[str, ...] = COLUMNS, plot: str = "") -> View:
    made = tuple(Column(name, "d", unit or None) for name, _, unit in (column.partition(" ") for column in columns))
    return View("v", "g", "d", "g", (), (), made, "SELECT 1", Path("v.sql"), plot, ((place, shown),))


def test_a_line_of_the_header_is_a_chart() -> None:
    assert charts(view("chart timeline 3", "Busy, or not: busy_ratio, ipc as IPC by cpu where cpu <> 'all'", plot=(
        "intervals ipc, busy_ratio by cpu"), columns=(*COLUMNS[:3], "ipc x", "busy_ratio x"))) == (
        Chart("timeline", 3, False, "Busy, or not", (ChartValue("busy_ratio", "busy", "x"), ChartValue("ipc", "IPC", "x")), ("cpu",), "cpu <> 'all'"),
    )  # fmt: skip
    (chart,) = charts(view("chart timeline 1 instead", "Disk: read_bytes_per_s"))
    assert (chart.is_instead, chart.values, chart.where) == (
        True,
        (ChartValue("read_bytes_per_s", "read", "bytes/s"),),
        None,
    )
    buckets = ("bucket_min_ns ns", "bucket_max_ns ns", "wait_count count", "comm")
    (chart,) = charts(view("chart histograms 1", "Waits: wait_count as waits by comm", buckets))
    assert (chart.values, chart.keys) == ((ChartValue("wait_count", "waits", "count"),), ("comm",))


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("chart timeline", "CPU: busy_ratio"), ("chart timeline x", "CPU: busy_ratio"), ("chart timeline 1", "busy_ratio"),
        # Not plotted; of no key; on two axes.
        ("chart timeline 1", "CPU: n"), ("chart timeline 1", "CPU: none"), ("chart timeline 1", "CPU: busy_ratio by n"),
        ("chart timeline 1", "CPU: busy_ratio, read_bytes_per_s"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_an_error(place: str, shown: str) -> None:
    with pytest.raises(PerfcaseError, match=r"v\.sql"):
        charts(view(place, shown))


def test_a_view_without_a_plan_has_no_charts() -> None:
    with pytest.raises(PerfcaseError, match="not plotted: n"):
        charts(view("chart timeline 1", "CPU: n", ("n count",)))


def test_each_place_has_one_chart_and_at_most_one_instead() -> None:
    places = Counter((chart.page, chart.place, chart.is_instead) for _, chart in ALL)
    assert [place for place, number in places.items() if number > 1] == []
    assert [place for place in places if place[2] and (*place[:2], False) not in places] == []
    assert {page for page, *_ in places} == {"timeline", "lines", "histograms"}


def test_conditions_are_sql_of_the_view() -> None:
    chosen = [(view, chart) for view, chart in ALL if chart.where]
    assert chosen
    database = viewtest.database(frozenset(load_views().values()))
    for of, chart in chosen:
        assert database.execute(f"SELECT * FROM {quote(of.name)} WHERE {chart.where}").fetchall() == []
