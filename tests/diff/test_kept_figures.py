"""The figures that an imported folder keeps are those of its views, and a diff says the same with them and without."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from perfcase.case import kept, query, store
from perfcase.case.scope import Part
from perfcase.catalogue.views import load_views
from perfcase.cli.import_command import keep_answers
from perfcase.diff import collect as collecting
from perfcase.diff import rank as ranking
from perfcase.diff.collect import Collected, Figure, collect, read_kept, to_keep
from perfcase.diff.rank import Ranking, rank
from perfcase.diff.sides import count_per, opened_sides
from tests.support.imports import SAMPLES, imported

VIEWS = ("thread_time", "syscall_summary", "memory")
PER = "sched_switch"
Cases = tuple[store.Case, store.Case]


@pytest.fixture
def cases(tmp_path: Path) -> Cases:
    """Two imported folders of the test's own, that keep nothing."""
    made = []
    for name in ("pipe", "tcp"):
        folder = tmp_path / f"{name}.case"
        source = imported(SAMPLES / "d-nagle" / f"{name}.perfcase").folder
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("kept"))
        made.append(store.open_case(folder))
    return made[0], made[1]


def compared(cases: Cases, part: Part | None = None, per: str | None = None) -> Ranking:
    with opened_sides(*cases, part, part) as sides:
        return rank(*(count_per(*sides, per) if per else sides), VIEWS)


def kept_in(case: store.Case) -> list[str]:
    return sorted(path.name.partition("-")[2] for path in (case.folder / "kept").glob("*"))


def test_a_diff_of_captures_that_keep_the_report_says_the_same(cases: Cases) -> None:
    with opened_sides(*cases, None, None) as sides:
        wanted = rank(*sides)
    assert wanted.lines
    for case in cases:
        shutil.rmtree(case.folder / "kept")
        keep_answers(case)
    with opened_sides(*cases, None, None) as sides:
        assert rank(*sides) == wanted


def no_question(*_: object) -> None:
    raise AssertionError("asked")


def test_a_second_diff_asks_no_view(cases: Cases, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compared(cases)
    assert first.lines
    assert first.noise
    per = compared(cases, per=PER)
    assert per != first
    for case in cases:
        assert kept_in(case) == [
            "memory.json", "syscall_summary.json", "syscall_summary.parts.json", "thread_time.json", "thread_time.parts.json",
        ]  # fmt: skip
        shutil.rmtree(case.folder / "kept")
    assert compared(cases, per=PER) == per
    monkeypatch.setattr(collecting, "figures", no_question)
    monkeypatch.setattr(ranking, "figures", no_question)
    assert compared(cases) == first
    assert compared(cases, per=PER) == per
    with pytest.raises(AssertionError, match="asked"):
        compared(cases, Part(0, 2 * 10**9))


def test_a_part_neither_keeps_nor_takes_what_is_kept(cases: Cases) -> None:
    part = Part(0, 2 * 10**9)
    before = compared(cases, part)
    assert not any((case.folder / "kept").exists() for case in cases)
    whole = compared(cases)
    assert whole != before
    assert compared(cases, part) == before


def test_another_parameter_has_its_own(cases: Cases) -> None:
    view = load_views()["run_queue_length"]
    with query.connect(cases[0].folder) as connection:
        usual = collect(connection, view)
        connection.execute("SET VARIABLE interval_ns = 500000000")
        assert kept.kept_of(connection, [view.name]) is None
        assert collect(connection, view) != usual
        connection.execute("RESET VARIABLE interval_ns")
        assert kept.kept_of(connection, [view.name]).has(f"{view.name}.json")
        assert collect(connection, view) == usual


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[" * 100_000, "null", "[]", '{"rows": 1}', '{"rows": [], "has_intervals": true}',
        '{"rows": [[["a"], {"x": 1}]], "has_intervals": true, "recorded_ns": 1}',
        '{"rows": [[[["a"]], {}]], "has_intervals": true, "recorded_ns": 1}',
        '{"rows": [[["a"], {"x": [1, "y"]}]], "has_intervals": true, "recorded_ns": 1}',
        '{"rows": [], "has_intervals": true, "recorded_ns": "x"}',
    ],
    ids=range(11),
)  # fmt: skip
def test_what_is_damaged_is_asked_again(cases: Cases, text: str) -> None:
    view = load_views()["memory"]
    with query.connect(cases[0].folder) as connection:
        told = collect(connection, view)
        (path,) = (cases[0].folder / "kept").iterdir()
        path.write_text(text)
        assert collect(connection, view) == told
        assert read_kept(json.loads(path.read_text())) == told


def test_every_figure_comes_back() -> None:
    rows = {
        ("a\x00\n\U0001f600'", None): {"x": Figure(0.1 + 0.2, 1e-310), "y": Figure(-0.0, None)},
        (None, ""): {"x": Figure(1.7976931348623157e308, float("inf"))},
        ("empty", "row"): {},
    }
    told = Collected(rows, True, 1 << 62)
    assert repr(read_kept(json.loads(json.dumps(to_keep(told))))) == repr(told)
    assert repr(read_kept(json.loads(json.dumps(to_keep(Collected({}, False)))))) == repr(Collected({}, False))


def test_what_is_large_is_not_kept(cases: Cases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "SIZE_MAX", 10)
    with query.connect(cases[0].folder) as connection:
        collect(connection, load_views()["memory"])
    assert not (cases[0].folder / "kept").exists()
