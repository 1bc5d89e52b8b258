"""The figures of a view: of one without intervals as its rows say, of one that only one side has with that side's noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from perfcase.catalogue.declared import parse
from perfcase.catalogue.schema import Column
from perfcase.catalogue.view import View
from perfcase.diff import rank as ranking
from perfcase.diff.collect import Collected, Figure, figures, reads
from perfcase.diff.rank import Ranking, rank
from perfcase.diff.sides import opened_sides
from tests.support.imports import imported, placed

SAMPLES = Path(__file__).parents[2] / "sample-captures"
NAMES = ("comm", "duration_total_ns", "resident_bytes", "wait_ns", "call_count", "duration_max_ns", "bucket_ns")
ENTRIES = {
    "diff sum": "duration_total_ns",
    "diff level": "resident_bytes by call_count",
    "diff mean": "wait_ns by call_count",
    "diff max": "duration_max_ns",
    "diff median": "bucket_ns by call_count",
    "diff whole": "call_count",
    "diff where": "comm <> 'left out'",
}
ROWS = """
  ('worker/1', 1.5, 8.0, 10.0, 1.0, 7.0, 16),
  ('worker/2', 2.0, 4.0, 40.0, 3.0, 9.0, 32),
  ('worker/3', NULL, NULL, NULL, 4.0, NULL, NULL),
  ('steady', 'inf'::DOUBLE, 1.0, 5.0, 0.0, 'nan'::DOUBLE, NULL),
  ('left out', 1.0, 1.0, 1.0, 1.0, 1.0, 1)
"""


def view(by: str, entries: Mapping[str, str] = ENTRIES) -> View:
    columns = tuple(Column(name, name, None) for name in NAMES)
    declared = parse({"diff by": by, **entries}, NAMES)
    return View("v", "g", "v", "a row", (), (), columns, "", Path("v.sql"), diff=declared)


def connection(condition: str = "true") -> duckdb.DuckDBPyConnection:
    made = duckdb.connect(config={"threads": 1})
    columns = "comm, duration_total_ns, resident_bytes, wait_ns, call_count, duration_max_ns, bucket_ns"
    made.execute(f"CREATE TABLE v AS FROM (VALUES {ROWS}) AS t({columns}) WHERE {condition}")
    return made


def values(found: Collected) -> dict[tuple, dict[str, float]]:
    assert not found.has_intervals
    assert all(figure.error is None for row in found.rows.values() for figure in row.values())
    return {key: {name: figure.value for name, figure in row.items()} for key, row in found.rows.items()}


WORKERS = {
    "duration_total_ns": 3.5,
    # What is weighted, by the largest weight: all rows stand for one time.
    "resident_bytes": (8.0 * 1 + 4.0 * 3) / 3,
    # A weight without a value counts nothing.
    "wait_ns": (10.0 * 1 + 40.0 * 3) / 4,
    "duration_max_ns": 9.0,
    "call_count": 4.0,
    "bucket_ns": 32.0,
}


def test_a_view_without_intervals_by_its_keys() -> None:
    """What is not finite, or weighs nothing, is no figure; the row is there all the same."""
    found = values(figures(connection(), view("comm")))
    assert found == {("worker/*",): WORKERS, ("steady",): {"call_count": 0.0}}


def test_a_view_without_intervals_and_keys() -> None:
    assert values(figures(connection("comm LIKE 'worker%'"), view("-"))) == {(): WORKERS}


@pytest.mark.parametrize("by", ["comm", "-"])
def test_a_view_without_rows_has_no_figures(by: str) -> None:
    entries = {key: names for key, names in ENTRIES.items() if key != "diff median"}
    assert figures(connection("false"), view(by, entries)) == Collected({}, has_intervals=False)


def test_a_process_that_began_between_two_readings_counts_in_the_round_that_saw_it() -> None:
    """Rounds of readings end together. The interval of what began in one is short, and begins nearer to the next round."""
    names = ("comm", "ts_ns", "interval_ns", "call_count")
    whole = ", ".join(f"('{comm}', {n}e9, 1e9, 5.0)" for n in range(1, 5) for comm in ("old", "new"))
    with duckdb.connect(config={"threads": 1}) as made:
        rows = f"('old', 0e9, 1e9, 5.0), ('new', 0.7e9, 0.3e9, 5.0), {whole}"
        made.execute(f"CREATE TABLE v AS FROM (VALUES {rows}) AS t({', '.join(names)})")
        declared = parse({"diff by": "comm", "diff sum": "call_count"}, names)
        columns = tuple(Column(name, name, None) for name in names)
        found = figures(made, View("v", "g", "v", "a row", (), (), columns, "", Path("v.sql"), diff=declared))
    assert {key: row["call_count"].value for key, row in found.rows.items()} == {("old",): 25.0, ("new",): 25.0}
    # Five calls in each of five rounds: nothing varies. A round with less than half an interval counts as one without calls:
    # n = 5, sum 20, squares 100: a spread of sqrt((100 - 20² / 5) / 4), times sqrt(5).
    assert found.rows["old",]["call_count"].error == 0.0
    assert found.rows["new",]["call_count"].error == pytest.approx(5.0)


def test_a_view_with_a_median_is_read_twice() -> None:
    assert reads(view("comm")) == ["v", "v"]


def ranked(folder: Path, old: str, new: str, names: list[str]) -> Ranking:
    sides = (
        store.open_case(placed(SAMPLES / "d-nagle" / f"{name}.perfcase", folder / f"{old}-{new}", is_fresh=True))
        for name in (old, new)
    )
    with opened_sides(*sides, None, None) as (a, b):
        return rank(a, b, names)


def told(found: Ranking) -> dict[tuple, tuple]:
    rows = [(each.difference, each.score, each.sigmas) for each in (*found.lines, *found.noise)]
    return {
        (row.view, row.key, row.measure.name): (row.state, row.a, row.b, row.error, score, sigmas)
        for row, score, sigmas in rows
    }


def test_what_only_one_side_has_is_told_with_its_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``pipe`` has no answers of sockets: its windows are not asked for them. The other way round all is the same."""
    names = ["socket_answer", "tcp_stalls", "syscall_summary"]
    asked: list[str] = []

    def counted(connection: duckdb.DuckDBPyConnection, view: View) -> Collected:
        asked.append(view.name)
        return figures(connection, view)

    monkeypatch.setattr(ranking, "figures", counted)
    there = ranked(tmp_path, "pipe", "tcp", names)
    assert Counter(asked) == {"socket_answer": 4, "tcp_stalls": 4, "syscall_summary": 8}
    back = ranked(tmp_path, "tcp", "pipe", names)
    mirror = {"appeared": "vanished", "vanished": "appeared", "changed": "changed"}
    assert told(there) == {
        key: (mirror[state], b, a, error, pytest.approx(score), pytest.approx(sigmas))
        for key, (state, a, b, error, score, sigmas) in told(back).items()
    }
    answers = {key: row for key, row in told(there).items() if key[0] == "socket_answer"}
    assert {row[0] for row in answers.values()} == {"appeared"}
    assert all(row[3] is not None for row in answers.values())


def test_what_is_empty_in_the_whole_capture_stays_as_it_is() -> None:
    case = store.open_case(imported(SAMPLES / "d-nagle" / "pipe.perfcase").folder)
    with opened_sides(case, case, None, None) as (side, _):
        nothing = Collected({}, has_intervals=False, recorded_ns=5)
        some = Collected({("x",): {"duration_total_ns": Figure(1.0, None)}}, has_intervals=False)
        views = ranking.load_views()
        found = ranking._errors(side, [views["socket_answer"], views["thread_time"]], [nothing, some])
        assert found[0] == nothing
        # No window has that thread: nothing tells how steady it is.
        assert found[1].rows == {("x",): {"duration_total_ns": Figure(1.0, None)}}
