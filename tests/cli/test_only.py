"""--only: every command answers of a part of the capture."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import duckdb
import pytest

from perfcase.case.opening import open_capture
from perfcase.case.window import changed_by
from perfcase.catalogue.views import load_views
from tests.support.cli import fail, succeed
from tests.support.fakecase import make_case
from tests.support.imports import SAMPLES, imported

MS = 10**6


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two processes; the second has two threads, one of which was once called otherwise; each ran 10 ms, twice."""

    def ran(utid: int, cpu: int, at: int) -> dict[str, object]:
        return {
            "utid": utid,
            "ts_ns": at * MS,
            "duration_ns": 10 * MS,
            "state": "running",
            "cpu": cpu,
            "is_open": False,
        }

    return make_case(
        tmp_path_factory.mktemp("only") / "x.case",
        {
            "capture": [{"capture_id": "c", "name": "x", "duration_ns": 100 * MS, "start_clock_ns": 0, "cpu_count": 2}],
            "source": [{"source_id": 0, "name": "ftrace", "is_timeline": True}],
            "process": [{"upid": 1, "pid": 100, "name": "java"}, {"upid": 2, "pid": 200, "name": "postgres"}],
            "thread": [
                {"utid": 1, "tid": 100, "pid": 100, "upid": 1, "comm": "java"},
                {"utid": 2, "tid": 200, "pid": 200, "upid": 2, "comm": "postgres"},
                {"utid": 3, "tid": 201, "pid": 200, "upid": 2, "comm": "writer"},
            ],
            "thread_name": [{"utid": 3, "ts_ns": 0, "comm": "postgres"}, {"utid": 3, "ts_ns": 5, "comm": "writer"}],
            "proc_command": [
                {"upid": 1, "pid": 100, "ts_ns": 0, "snapshot": 0, "source_id": 0, "cgroup": "/web/java"},
                {"upid": 2, "pid": 200, "ts_ns": 0, "snapshot": 0, "source_id": 0, "cgroup": "/db"},
            ],
            "thread_state": [ran(utid, utid % 2, at) for utid in (1, 2, 3) for at in (10 * utid, 50 + 10 * utid)],
        },
    )  # fmt: skip


def times(case: Path, *only: str) -> dict[str, int]:
    """Milliseconds that each thread ran."""
    asked = [word for condition in only for word in ("--only", condition)]
    text = succeed(
        "sql", case, "SELECT comm, on_cpu_ns FROM thread_time WHERE on_cpu_ns > 0", *asked, "--format", "csv"
    )
    return {row["comm"]: int(row["on_cpu_ns"]) // MS for row in csv.DictReader(io.StringIO(text))}


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ([], {"java": 20, "postgres": 20, "writer": 20}),
        (["process=java"], {"java": 20}),
        (["process=200"], {"postgres": 20, "writer": 20}),
        (["process=p*", "process=java"], {"java": 20, "postgres": 20, "writer": 20}),
        (["thread=writer"], {"writer": 20}),
        (["thread=postgres"], {"postgres": 20, "writer": 20}),
        (["thread=201"], {"writer": 20}),
        (["process=postgres", "thread=w?iter"], {"writer": 20}),
        (["cpu=0"], {"postgres": 20}),
        (["cpu=0-1"], {"java": 20, "postgres": 20, "writer": 20}),
        (["cgroup=/web"], {"java": 20}),
        (["cgroup=/*"], {"java": 20, "postgres": 20, "writer": 20}),
        (["window=15ms..35ms"], {"java": 5, "postgres": 10, "writer": 5}),
        (["window=15ms..35ms", "thread=writer"], {"writer": 5}),
        (["window=50ms.."], {"java": 10, "postgres": 10, "writer": 10}),
    ],
)
def test_what_it_leaves(case: Path, only: list[str], expected: dict[str, int]) -> None:
    assert times(case, *only) == expected


@pytest.mark.parametrize(
    ("only", "code", "words"),
    [
        ("process", 2, "process: not KEY=VALUE (keys are window, process, thread, cpu, cgroup)"),
        ("colour=red", 2, "keys are window"),
        ("window=9", 2, "9: not a window"),
        ("window=200ms..", 2, "it ends before 0.2 s"),
        ("cpu=x", 2, "cpu=x: not a CPU"),
        ("cpu=3-1", 2, "not a CPU"),
        ("cpu=0-99999", 2, "not a CPU"),
        ("process=nginx", 6, "there is no process nginx (perfcase view process lists them)"),
        ("thread=7", 6, "there is no thread 7"),
        ("cgroup=/nope", 6, "there is no control group /nope"),
    ],
)
def test_what_names_nothing(case: Path, only: str, code: int, words: str) -> None:
    assert words in fail(code, "view", "thread_time", case, "--only", only)


def test_commands_that_are_suggested_ask_of_the_same_part(case: Path) -> None:
    assert "x.case --only process=java" in succeed("report", case, "--only", "process=java")


def test_a_process_is_what_its_main_thread_was_called_then(tmp_path: Path) -> None:
    """bash becomes ls at 50 ms. Its helper ended before, the worker began after: each belongs to the one that it knew."""

    def ran(utid: int, name_id: int, at: int) -> dict[str, object]:
        times = {"ts_ns": at * MS, "duration_ns": 10 * MS}
        return {"utid": utid, "name_id": name_id, "state": "running", "cpu": 0, "is_open": False, **times}

    case = make_case(
        tmp_path / "x.case",
        {
            "capture": [{"capture_id": "c", "name": "x", "duration_ns": 100 * MS, "start_clock_ns": 0, "cpu_count": 1}],
            "source": [{"source_id": 0, "name": "ftrace", "is_timeline": True}],
            "process": [{"upid": 1, "pid": 100, "name": "ls"}],
            "thread": [
                {"utid": 1, "tid": 100, "pid": 100, "upid": 1, "comm": "ls", "last_ts_ns": 70 * MS},
                {"utid": 2, "tid": 101, "pid": 100, "upid": 1, "comm": "helper", "end_ts_ns": 40 * MS},
                {"utid": 3, "tid": 102, "pid": 100, "upid": 1, "comm": "worker", "last_ts_ns": 80 * MS},
            ],
            "thread_name": [
                {"name_id": 1, "utid": 1, "ts_ns": 0, "comm": "bash"},
                {"name_id": 2, "utid": 1, "ts_ns": 50 * MS, "comm": "ls"},
                {"name_id": 3, "utid": 2, "ts_ns": 0, "comm": "helper"},
                {"name_id": 4, "utid": 3, "ts_ns": 60 * MS, "comm": "worker"},
            ],
            "thread_state": [ran(1, 1, 10), ran(2, 3, 20), ran(1, 2, 60), ran(3, 4, 70)],
        },
    )
    assert times(case, "process=bash") == {"bash": 10, "helper": 10}
    assert times(case, "process=ls") == {"ls": 10, "worker": 10}
    assert times(case, "process=100") == {"bash": 10, "helper": 10, "ls": 10, "worker": 10}


@pytest.mark.parametrize("condition", ["process=java", "window=0s..50ms", "cpu=0"])
def test_a_part_is_made_ready_once(case: Path, condition: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next question about it, whichever capture of these tables it is of, takes a copy of what the cache has."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ask = ("view", "thread_time", case, "--only", condition, "--format", "csv")
    first = succeed(*ask)
    (made,) = (tmp_path / "perfcase").glob("window-*.duckdb")
    before = made.stat().st_ino, made.read_bytes()
    assert succeed(*ask) == first
    assert (made.stat().st_ino, made.read_bytes()) == before
    # A cache that nobody can write to.
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert succeed(*ask) == first


def test_what_no_scope_changes_is_as_of_the_whole_capture() -> None:
    """A view that says that a process or a CPU does not change it has the same rows: the page asks it of the whole capture."""
    capture = imported(SAMPLES / "x86_64-scheduling" / "x.perfcase").folder
    unchanged = {
        key: [name for name in load_views() if key not in changed_by(name)]
        for key in ("process", "thread", "cpu", "cgroup")
    }

    def rows(connection: duckdb.DuckDBPyConnection, view: str) -> list[tuple]:
        return sorted(connection.execute(f"SELECT * FROM {view}").fetchall(), key=repr)

    with open_capture(capture).connection as whole:
        for condition in ("process=hog", "thread=hog", "cpu=0", "cgroup=/"):
            names = unchanged[condition.partition("=")[0]]
            with open_capture(capture, only=[condition]).connection as part:
                assert [name for name in names if rows(whole, name) != rows(part, name)] == [], condition
    # It is said of what is counted of the host, and of nothing that a process or a CPU has.
    assert {"memory", "disk_utilization", "pressure"} <= set(unchanged["process"]) & set(unchanged["cpu"])
    assert not {"thread_time", "cpu_lane", "run_queue_length"} & set(unchanged["process"])
    assert "cpu_utilization" not in unchanged["cpu"]
