"""A figure of a capture is worked out once, and what is kept of it, or shared with other captures, changes no answer."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from perfcase.case import database, query
from perfcase.case.kept import have_findings, kept_of_all
from perfcase.case.sharing import FINDINGS
from perfcase.case.store import open_case
from perfcase.catalogue.views import load_views
from perfcase.cli.import_command import keep_answers
from perfcase.errors import PerfcaseError
from perfcase.fleet import captures, figures, metric
from perfcase.fleet.metric import Reading
from perfcase.fleet.readings import read_all
from perfcase.report.writer import prepare
from tests.support.fakecase import make_case, put
from tests.support.imports import SAMPLES, imported, placed

ON_CPU = metric.metric(load_views()["thread_time"], "on_cpu_ns", None, None)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Five captures whose thread runs 1, 2, … seconds."""
    root = tmp_path / "store"
    blank = make_case(tmp_path / "blank", {})
    for number in range(5):
        case = root / f"{number}.case"
        shutil.copytree(blank, case)
        put(case, "capture", [{"capture_id": str(number), "duration_ns": 10**9, "start_realtime_ns": number}])
        put(case, "thread", [{"utid": 1, "tid": 7, "comm": "java"}])
        put(case, "source", [{"source_id": 0, "name": "ftrace", "is_timeline": True}])
        runs(case, number + 1)
    return root


def runs(case: Path, seconds: int) -> None:
    state = {"utid": 1, "ts_ns": 0, "duration_ns": seconds * 10**9, "state": "running", "is_open": False}
    put(case, "thread_state", [state])


def readings(store: Path, wanted: metric.Metric = ON_CPU) -> list[float | None]:
    fleet = captures.load([store])
    found = read_all(wanted, {each.name: each for each in fleet.captures}, lambda *_: None)
    assert not fleet.left_out
    return [found[f"{number}.case"].value for number in range(len(found))]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """The captures that were asked, as they are."""
    found: list[int | None] = []
    read = metric.read

    def counted(connection: duckdb.DuckDBPyConnection, wanted: metric.Metric, duration_ns: int | None) -> Reading:
        found.append(duration_ns)
        return read(connection, wanted, duration_ns)

    monkeypatch.setattr(metric, "read", counted)
    return found


def test_what_was_asked_is_not_asked_again(store: Path, asked: list) -> None:
    whole = [1e9, 2e9, 3e9, 4e9, 5e9]
    assert (readings(store), len(asked)) == (whole, 5)
    assert (readings(store), len(asked)) == (whole, 5)
    runs(store / "3.case", 9)
    assert (readings(store), len(asked)) == ([1e9, 2e9, 3e9, 9e9, 5e9], 6)
    other = metric.metric(load_views()["thread_time"], "on_cpu_ns", "max", None)
    readings(store, other)
    assert len(asked) == 11
    assert (readings(store), len(asked)) == ([1e9, 2e9, 3e9, 9e9, 5e9], 11)


def test_a_condition_of_the_users_is_asked_each_time(store: Path, asked: list) -> None:
    """It may mean something else the next time: the time of day, a random number."""
    wanted = metric.metric(load_views()["thread_time"], "on_cpu_ns", None, "comm = 'java'")
    assert readings(store, wanted) == readings(store, wanted) == [1e9, 2e9, 3e9, 4e9, 5e9]
    assert len(asked) == 10


@pytest.mark.parametrize(
    "lie", ["", "VIEW", "VIEW\t", "VIEW\t[]", "VIEW\t{}", 'VIEW\t{"KEY": [1, "x", null, null]}', 'VIEW\t{"KEY": [1, 2.0]}',
            'VIEW\t{"KEY": 7}', "VIEW\t" + "[" * 100_000, "\0\n\t\n"],
    ids=range(10),
)  # fmt: skip
def test_what_is_no_figure_is_asked_again(store: Path, asked: list, lie: str) -> None:
    before = readings(store)
    (kept,) = (store / "2.case" / "kept").glob("*-figures.jsonl")
    view, told = kept.read_text().rstrip().split("\t")
    (key,) = json.loads(told)
    kept.write_text(lie.replace("VIEW", view).replace("KEY", key))
    assert (readings(store), len(asked)) == (before, 6)
    assert (readings(store), len(asked)) == (before, 6)


def test_the_import_keeps_figures_and_asked_ones_say_the_same(store: Path, asked: list) -> None:
    """Those of every view that an import works out, also of views without rows."""
    case = imported(SAMPLES / "x86_64-scheduling" / "x.perfcase").folder
    target = store / "x.case"
    shutil.copytree(case, target, ignore=shutil.ignore_patterns("kept"))
    keep_answers(open_case(target))
    fleet = captures.load([target])
    of_one = {each.name: each for each in fleet.captures}
    ((_, capture),) = of_one.items()
    kept = kept_of_all(target)
    told = {view: figures.recall(kept, view) for view in load_views()}
    assert {"thread_time", "cpu_utilization", "syscall_summary", "pmcarch", "finding"} <= {
        view for view, known in told.items() if known
    }
    with query.connect(target) as connection:
        for view, known in told.items():
            if known is None:
                continue
            if isinstance(known, str):
                assert connection.execute(f"SELECT count(*) FROM {view}").fetchall() == [(0,)], view
            names = [column.name for column in load_views()[view].columns if column.unit][:1]
            for wanted in [metric.metric(load_views()[view], each, None, None) for each in names]:
                before = len(asked)
                (found,) = read_all(wanted, of_one, lambda *_: None).values()
                if len(asked) == before:
                    again = metric.read(connection, wanted, capture.duration_ns)
                    assert repr(found) == repr(again) or found.value == pytest.approx(again.value), (view, wanted)
                else:
                    assert wanted.measure in ("ts_ns", "interval_ns"), (view, wanted)


@pytest.mark.parametrize(
    "sample", ["d-nagle/pipe.perfcase", pytest.param("x86_64-scheduling/x.perfcase", marks=pytest.mark.long("15 s"))]
)
def test_a_thorough_import_keeps_the_figures_of_every_view(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: str
) -> None:
    """Each is the one that a history works out of a capture of which nothing is worked out."""
    monkeypatch.setattr(figures, "_OTHERS_S", math.inf)
    case = open_case(placed(SAMPLES / sample, tmp_path)).folder
    with query.connect(case) as connection:
        prepare(connection)
        told = figures.keep_all(connection, is_thorough=True)
    assert told.keys() == load_views().keys()
    shutil.rmtree(case / "kept")
    differing = []
    with query.connect(case) as connection:
        ((duration_ns,),) = connection.execute("SELECT max(duration_ns) FROM capture").fetchall()
        # The findings last, and a rule at a time: all in one plan take much memory.
        views = {name: view for name, view in load_views().items() if name not in FINDINGS}
        for name, view in (views | {name: load_views()[name] for name in FINDINGS}).items():
            if name == FINDINGS[0]:
                have_findings(connection)
            columns = {column: kind for column, kind, *_ in connection.execute(f'DESCRIBE "{name}"').fetchall()}
            wanted = metric.usual(view, columns)
            assert isinstance(told[name], str) or len(told[name]) == len(wanted), name
            for each, now in metric.read_usual(connection, view, columns, duration_ns, {}).items():
                kept = figures.read_kept(told[name], each)
                # A sum of fractions depends on the order of the rows, which differs between plans.
                near = None not in (kept.value, now.value) and kept.value == pytest.approx(now.value, rel=1e-12)
                if kept != now and not (near and kept.row_count == now.row_count):
                    differing.append((name, each.measure, kept, now))
    assert differing == []


def test_figures_of_one_view_leave_those_of_others(store: Path) -> None:
    other = metric.metric(load_views()["off_cpu_by_thread"], "off_cpu_ns", None, None)
    kept = kept_of_all(store / "0.case")
    for wanted, value in ((ON_CPU, 1.0), (other, 2.0), (ON_CPU, 3.0)):
        figures.keep(kept, {wanted.view: figures.to_keep({wanted: Reading(1, value, None, None)})})
    found = [figures.read_kept(figures.recall(kept, wanted.view), wanted) for wanted in (ON_CPU, other)]
    assert found == [Reading(1, 3.0, None, None), Reading(1, 2.0, None, None)]
    assert figures.recall(kept, "thread") is None


def test_a_database_for_all_answers_as_each_its_own(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert database.template_at_hand() is not None
    opened = []
    connect = query.connect
    monkeypatch.setattr(query, "connect", lambda folder, *more: opened.append(folder) or connect(folder, *more))
    whole = readings(store)
    assert opened == []
    shutil.rmtree(store / "1.case" / "kept")
    for name in ("0", "1"):
        shutil.rmtree(store / f"{name}.case" / "kept", ignore_errors=True)
    monkeypatch.setattr(database, "template_at_hand", lambda others: None)
    assert readings(store) == whole
    assert len(opened) == 2


def test_events_that_a_figure_does_not_name_need_no_database_of_their_own(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = readings(store)
    event = {"my_event": [("ts_ns", "BIGINT"), ("utid", "UINTEGER")]}
    for name in ("1.case", "3.case"):
        rows = "SELECT i AS ts_ns, 1::UINTEGER AS utid FROM range(3) AS r(i)"
        with duckdb.connect() as connection:
            connection.sql(rows).write_parquet(str(store / name / "tables" / "my_event.parquet"))
        database.write(store / name, event)
        info = json.loads((store / name / "import.json").read_text())
        info |= {"other_columns": event, "files": {"case.duckdb": (store / name / "case.duckdb").stat().st_size}}
        (store / name / "import.json").write_text(json.dumps(info))
    made: list[int] = []
    one_database = query.one_database
    monkeypatch.setattr(
        query,
        "one_database",
        lambda path, folders, more: made.append(len(folders)) or one_database(path, folders, more),
    )
    for each in store.glob("*.case/kept"):
        shutil.rmtree(each)
    assert (readings(store), made) == (whole, [5])
    made.clear()
    wanted = metric.metric(load_views()["thread_time"], "on_cpu_ns", None, "utid IN (SELECT utid FROM my_event)")
    fleet = captures.load([store])
    found = read_all(wanted, {each.name: each for each in fleet.captures}, lambda *_: None)
    assert [found[f"{number}.case"].value for number in (1, 3)] == [2e9, 4e9]
    assert all(found[f"{number}.case"].problem for number in (0, 2, 4))
    assert 5 not in made
    # Events are a view like others.
    count = metric.Metric("my_event", None, "count")
    found = read_all(count, {each.name: each for each in fleet.captures}, lambda *_: None)
    assert [found[f"{number}.case"].row_count for number in range(5)] == [0, 3, 0, 3, 0]


def test_a_database_that_one_has_spoilt_spoils_no_answer(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an internal error of DuckDB every further question to that database fails."""

    @contextmanager
    def spoilt(*_: object) -> Iterator[object]:
        def refuse(folder: Path) -> duckdb.DuckDBPyConnection:
            raise duckdb.FatalException(f"{folder}: database has been invalidated")

        yield refuse

    monkeypatch.setattr(query, "one_database", spoilt)
    assert readings(store) == [1e9, 2e9, 3e9, 4e9, 5e9]


def test_a_capture_that_cannot_be_read_stops_no_other(store: Path) -> None:
    table = store / "2.case" / "tables" / "thread_state.parquet"
    whole = table.read_bytes()
    # As long, and with the same end: only who reads it sees that.
    table.write_bytes(whole[:4] + bytes(len(whole) - 12) + whole[-8:])
    fleet = captures.load([store])
    found = read_all(ON_CPU, {each.name: each for each in fleet.captures}, lambda *_: None)
    assert [found[f"{number}.case"].value for number in (0, 1, 3, 4)] == [1e9, 2e9, 4e9, 5e9]
    assert found["2.case"].problem is not None


def test_a_wrong_question_is_an_error(store: Path) -> None:
    with pytest.raises(PerfcaseError, match="nothing"):
        readings(store, metric.metric(load_views()["thread_time"], "on_cpu_ns", None, "nothing = 1"))


def test_a_pipe_in_place_of_a_table_is_not_waited_for(store: Path) -> None:
    for name, table in (("1.case", "thread"), ("3.case", "capture")):
        (store / name / "tables" / f"{table}.parquet").unlink()
        os.mkfifo(store / name / "tables" / f"{table}.parquet")
    fleet = captures.load([store])
    assert [each.name for each in fleet.captures] == ["0.case", "2.case", "4.case"]
    assert sorted(each.name for each in fleet.left_out) == ["1.case", "3.case"]
