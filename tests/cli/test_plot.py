"""Histograms as bars and intervals as sparklines: only on a terminal, or where asked for; other formats never change."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from perfcase.catalogue.plot import Histogram, Intervals, plan
from perfcase.catalogue.schema import Column
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views
from perfcase.errors import PerfcaseError
from perfcase.terminal.drawing import bar, draw, mean, spark, with_gaps
from tests.cli.test_output import on_a_terminal
from tests.support.cli import perfcase, succeed
from tests.support.fakecase import make_case


def view(*columns: str, plot: str = "") -> View:
    made = tuple(Column(name, "d", unit or None) for name, _, unit in (column.partition(" ") for column in columns))
    return View("v", "g", "d", "g", (), (), made, "SELECT 1", Path("v.sql"), plot)


def drawn(how: Histogram | Intervals, columns: list[str], rows: list[tuple], width: int = 80) -> list[str]:
    out = io.StringIO()
    assert draw(how, columns, rows, Console(file=out, width=500, highlight=False), width)
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("name", sorted(load_views()))
def test_every_view_has_a_plan_or_none(name: str) -> None:
    found = plan(load_views()[name])
    assert found is None or isinstance(found, (Histogram, Intervals))


def test_names_tell_a_histogram() -> None:
    buckets = ("bucket_min_ns ns", "bucket_max_ns ns", "wait_count count")
    assert plan(view("utid", "comm", *buckets, "count_ratio ratio")) == Histogram(
        "bucket_min_ns", "bucket_max_ns", "wait_count", ("utid", "comm"), "ns"
    )
    assert plan(view("bucket_min_bytes bytes", "wait_count count")) is None
    assert plan(view(*buckets, plot="none")) is None


def test_names_tell_intervals() -> None:
    assert plan(view("ts_ns ns", "interval_ns ns", "cpu", "busy_ratio ratio", "busy_ns ns", "reads_per_s 1/s")) == (
        Intervals("ts_ns", "interval_ns", ("busy_ratio", "reads_per_s"), ("cpu",), ("ratio", "1/s"))
    )
    assert plan(view("ts_ns ns", "interval_ns ns", "busy_ns ns")) is None
    assert plan(view("ts_ns ns", "busy_ratio ratio")) is None


def test_the_header_has_the_last_word() -> None:
    assert plan(
        view("ts_ns ns", "ipc instructions/cycle", "b_ratio ratio", "c", plot="intervals ipc, b_ratio by c")
    ) == (Intervals("ts_ns", None, ("ipc", "b_ratio"), ("c",), ("instructions/cycle", "ratio")))
    assert plan(view("low bytes", "high bytes", "n", "k", plot="histogram n by low to high")) == (
        Histogram("low", "high", "n", ("k",), "bytes")
    )
    for wrong in ("pie", "intervals nothing", "histogram n by low"):
        with pytest.raises(PerfcaseError):
            plan(view("ts_ns ns", "low bytes", "n", plot=wrong))


def test_a_histogram_of_two_threads() -> None:
    how = Histogram("bucket_min_ns", "bucket_max_ns", "count", ("comm",), "ns")
    rows = [("a\x1b[2J", 256, 512, 8), ("a\x1b[2J", 1024, 2048, 1), ("b", 0, 1, 3), (None, 2, 4, 0)]
    assert drawn(how, ["comm", "bucket_min_ns", "bucket_max_ns", "count"], rows, width=40) == [
        "comm a\\e[2J",
        "    256 ns – 512 ns  8 ████████████████",
        "   512 ns – 1.02 µs  0",
        "  1.02 µs – 2.05 µs  1 ██",
        "comm b",
        "  0 ns – 1 ns  3 ██████████████████████",
        "",
        "  2 ns – 4 ns  0",
        "3 histograms; --no-plot gives the rows",
    ]


def test_buckets_that_nothing_fell_into_show() -> None:
    assert with_gaps([(16, 32, 1), (2, 4, 5)]) == [(2, 4, 5), (4, 8, 0), (8, 16, 0), (16, 32, 1)]
    assert with_gaps([(2, 3, 5), (8, 15, 1)]) == [(2, 3, 5), (4, 7, 0), (8, 15, 1)]
    assert with_gaps([(0, 1, 2), (2, 4, 1)]) == [(0, 1, 2), (1, 2, 0), (2, 4, 1)]
    assert with_gaps([(None, None, 2)]) == [(0, 0, 0)]


def test_bars_and_sparklines() -> None:
    assert bar(8, 8, 4) == "████"
    assert bar(4, 8, 3) == "█▌"
    assert bar(1, 10**9, 10) == "▏"
    assert bar(0, 8, 4) == ""
    assert spark([0.0, 1.0, None, 7.0], 7, 10) == "▁▂ █"
    assert spark([0.0, 7.0, 1.0, 1.0, None, None], 7, 3) == "█▂ "
    assert spark([0.0, 0.0], 0, 10) == "▁▁"
    assert mean([1.0, None, 4.0], [3, 1, 1]) == 1.75
    assert mean([1.0, 2.0], [0, 0]) == 1.5
    assert mean([None], [1]) is None


def test_intervals_of_two_devices() -> None:
    how = Intervals("ts_ns", "interval_ns", ("busy_ratio", "reads_per_s"), ("device",), ("ratio", "1/s"))
    rows = [(n * 10, 10, "sda", n / 8, 0.0) for n in range(8)] + [(70, 10, "sdb", 0.5, 3000.0)]
    lines = drawn(how, ["ts_ns", "interval_ns", "device", "busy_ratio", "reads_per_s"], rows)
    assert lines[0].split() == [
        "device",
        "metric",
        "min",
        "mean",
        "max",
        "8",
        "intervals,",
        "each",
        "line",
        "from",
        "0",
        "to",
        "its",
        "max",
    ]
    assert lines[2].split() == ["sda", "busy_ratio", "0.0", "%", "43.8", "%", "87.5", "%", "▁▂▃▄▅▆▇█"]
    assert lines[3].split() == ["sdb", "busy_ratio", "50.0", "%", "50.0", "%", "50.0", "%", "█"]
    assert lines[4].split() == ["sdb", "reads_per_s", "3,000", "3,000", "3,000", "█"]
    assert len(lines) == 6


def test_three_intervals_read_better_as_numbers() -> None:
    how = Intervals("ts_ns", None, ("a",), (), (None,))
    assert not draw(how, ["ts_ns", "a"], [(1, 0.1), (2, 0.2), (3, 0.3)], Console(file=io.StringIO()), 80)
    # A label that is another one in each interval makes no series.
    how = Intervals("ts_ns", None, ("a",), ("b",), (None,))
    assert not draw(how, ["ts_ns", "a", "b"], [(n, 0.1, n) for n in range(9)], Console(file=io.StringIO()), 80)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    columns = (
        "user_ns",
        "nice_ns",
        "system_ns",
        "iowait_ns",
        "irq_ns",
        "softirq_ns",
        "steal_ns",
        "guest_ns",
        "guest_nice_ns",
    )
    snapshots = [
        {"source_id": 0, "snapshot": n, "ts_ns": n * 10**9, "cpu": 0, **dict.fromkeys(columns, 0), "user_ns": n * n * 10**7,
         "idle_ns": n * 10**9 - n * n * 10**7}
        for n in range(9)
    ]  # fmt: skip
    return make_case(tmp_path_factory.mktemp("plot") / "x.case", {"proc_cpu": snapshots})


def test_only_a_terminal_is_drawn_on_unless_asked(case: Path) -> None:
    numbers = succeed("view", "cpu_utilization", case)
    assert "8 intervals" not in numbers
    assert numbers.splitlines()[-1] == "16 rows"
    plotted = succeed("view", "cpu_utilization", case, "--plot")
    assert "8 intervals" in plotted
    assert "▁▂▃▄▅▆▇█" in plotted
    assert b"8 intervals" in on_a_terminal("view", "cpu_utilization", case)
    assert b"8 intervals" not in on_a_terminal("view", "cpu_utilization", case, "--no-plot")
    for fmt in ("csv", "json"):
        assert succeed("view", "cpu_utilization", case, "--plot", "-f", fmt) == succeed(
            "view", "cpu_utilization", case, "-f", fmt
        )


def test_a_query_of_ones_own_is_never_drawn(case: Path) -> None:
    assert "intervals" not in perfcase("sql", case, "FROM cpu_utilization").stdout
