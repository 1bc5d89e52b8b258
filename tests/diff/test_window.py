"""A window of a capture: what is in it, and that windows add up to the whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query, store
from perfcase.case.scope import Part, Scope
from perfcase.case.store import Case
from perfcase.case.window import move, open_scope, open_window
from perfcase.catalogue.schema import load_tables, quote
from tests.support.fakecase import make_case
from tests.support.imports import imported

SAMPLES = Path(__file__).parents[2] / "sample-captures"
WHOLE = (0, 1 << 60)

STATES = [
    {"ts_ns": 0, "duration_ns": 30, "utid": 1, "state": "sleeping", "waker_utid": 2, "run_queue_ns": 5},
    {"ts_ns": 30, "duration_ns": 60, "utid": 1, "state": "running", "next_state": "sleeping"},
    {"ts_ns": 90, "duration_ns": 10, "utid": 1, "state": "sleeping"},
]
CALLS = [
    {"ts_ns": 0, "exit_ts_ns": 30, "duration_ns": 30, "perf_duration_ns": 30, "utid": 1, "number": 0, "name": "a",
     "ret": 7, "pairing": "strict"},
    {"ts_ns": 30, "exit_ts_ns": 45, "duration_ns": 15, "perf_duration_ns": 15, "utid": 1, "number": 1, "name": "b",
     "ret": 0, "pairing": "strict"},
    {"ts_ns": 45, "exit_ts_ns": 70, "duration_ns": 25, "perf_duration_ns": 25, "utid": 1, "number": 2, "name": "c",
     "ret": -4, "errno": 4, "errno_name": "EINTR", "pairing": "strict"},
    {"ts_ns": 10, "utid": 2, "number": 3, "name": "d", "pairing": "enter_only", "cut_at": "end"},
    {"ts_ns": 70, "utid": 3, "number": 4, "name": "e", "pairing": "enter_only"},
]  # fmt: skip
REQUESTS = [
    {"ts_ns": 5, "issued_ts_ns": 5, "completed_ts_ns": 25, "latency_ns": 20, "device": "8,0", "operation": "read"},
    {"ts_ns": 40, "issued_ts_ns": 40, "completed_ts_ns": 65, "latency_ns": 25, "device": "8,0", "operation": "read"},
]
COUNTS = [
    {"ts_ns": ts_ns, "interval_ns": 10, "source_id": 0, "event": "cycles", "count": count, "status": "counted"}
    for ts_ns, count in ((14, 1.0), (16, 2.0), (44, 4.0), (56, 8.0))
]
FDS = [
    {"ts_ns": ts_ns, "snapshot": number, "source_id": 0, "upid": 1, "pid": 1, "fd": 3, "kind": "file", "target": target}
    for number, ts_ns, target in ((0, 1, "/old"), (1, 10, "/before"), (2, 59, "/in"), (3, 80, "/after"))
]


@pytest.fixture
def window(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The window from 20 to 60 of a capture of 100 ns, its clock at 1000."""
    capture = {"capture_id": "x", "name": "x", "perfcase_version": "x", "clock": "monotonic"}
    rows = {
        "capture": [{**capture, "start_clock_ns": 1000, "duration_ns": 100}],
        "thread_state": STATES,
        "syscall": CALLS,
        "block_io": REQUESTS,
        "pmc_interval": COUNTS,
        "proc_fd": FDS,
        "thread": [{"utid": 1, "tid": 1, "comm": "w", "start_ts_ns": 10, "end_ts_ns": 59}],
        "sched_wakeup": [{"ts_ns": ts_ns, "utid": 1} for ts_ns in (19, 20, 59, 60)],
        "sample": [{"sample_id": n, "ts_ns": ts_ns} for n, ts_ns in enumerate((10, 20, None, 60))],
        "sample_detail": [{"sample_id": n} for n in range(4)],
    }
    folder = make_case(tmp_path / "x.case", rows)
    with open_window(Case(folder, store.read_info(folder), reused=True), 20, 60) as connection:
        yield connection


def test_the_capture_is_as_long_as_the_window(window: duckdb.DuckDBPyConnection) -> None:
    assert window.execute("SELECT duration_ns, start_clock_ns, start_realtime_ns FROM capture").fetchall() == [
        (40, 1020, None)
    ]


def test_states_are_clipped(window: duckdb.DuckDBPyConnection) -> None:
    found = window.execute("SELECT ts_ns, duration_ns, state, waker_utid, run_queue_ns FROM thread_state ORDER BY 1")
    assert found.fetchall() == [(0, 10, "sleeping", 2, 5), (10, 30, "running", None, None)]


def test_calls_are_clipped_at_the_beginning_and_open_at_the_end(window: duckdb.DuckDBPyConnection) -> None:
    found = window.execute(
        "SELECT name, ts_ns, exit_ts_ns, duration_ns, perf_duration_ns, ret, errno_name, pairing, cut_at"
        " FROM syscall ORDER BY name"
    )
    assert found.fetchall() == [
        ("a", 0, 10, 10, 10, 7, None, "strict", None),
        ("b", 10, 25, 15, 15, 0, None, "strict", None),
        ("c", 25, None, None, None, None, None, "enter_only", "end"),
        ("d", 0, None, None, None, None, None, "enter_only", "end"),
    ]


def test_a_request_belongs_where_it_completes_and_keeps_its_latency(window: duckdb.DuckDBPyConnection) -> None:
    found = window.execute("SELECT issued_ts_ns, completed_ts_ns, latency_ns FROM block_io ORDER BY 1")
    assert found.fetchall() == [(-15, 5, 20), (20, None, None)]


def test_an_interval_of_counters_belongs_where_its_middle_is(window: duckdb.DuckDBPyConnection) -> None:
    assert window.execute("SELECT ts_ns, count FROM pmc_interval ORDER BY 1").fetchall() == [(-4, 2.0), (24, 4.0)]


def test_events_and_samples_are_those_in_it(window: duckdb.DuckDBPyConnection) -> None:
    assert window.execute("SELECT ts_ns FROM sched_wakeup ORDER BY 1").fetchall() == [(0,), (39,)]
    assert window.execute("SELECT sample_id FROM sample_detail").fetchall() == [(1,)]


def test_descriptors_are_known_from_the_snapshot_before(window: duckdb.DuckDBPyConnection) -> None:
    assert window.execute("SELECT ts_ns, target FROM proc_fd ORDER BY 1").fetchall() == [(-10, "/before"), (39, "/in")]


def test_a_thread_that_was_there_before_has_no_beginning(window: duckdb.DuckDBPyConnection) -> None:
    assert window.execute("SELECT start_ts_ns, end_ts_ns FROM thread").fetchall() == [(None, 39)]


def test_the_connection_reads_nothing_else_of_this_machine(window: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.PermissionException):
        window.execute("SELECT * FROM read_text('/etc/hostname')")
    with pytest.raises(duckdb.Error):
        window.execute("SET enable_external_access = true")


def test_a_window_can_be_moved(window: duckdb.DuckDBPyConnection) -> None:
    move(window, 60, 100)
    assert window.execute("SELECT duration_ns FROM capture").fetchall() == [(40,)]
    assert window.execute("SELECT name FROM syscall ORDER BY 1").fetchall() == [("c",), ("d",), ("e",)]


@pytest.fixture(scope="module", params=["x86_64-scheduling", "aarch64-counters"])
def sample(request: pytest.FixtureRequest) -> Case:
    return imported(SAMPLES / request.param / "x.perfcase")


def test_the_whole_is_a_window_of_itself(sample: Case) -> None:
    with open_window(sample, *WHOLE) as window, query.connect(sample.folder) as whole:
        for name in load_tables():
            sql = f"SELECT count(*), bit_xor(hash(t)) FROM {quote(name)} AS t"
            assert window.execute(sql).fetchall() == whole.execute(sql).fetchall(), name


def test_windows_add_up_to_the_whole(sample: Case) -> None:
    totals = {
        "time on CPUs": "SELECT sum(on_cpu_ns + open_on_cpu_ns) FROM thread_time",
        "events": "SELECT count(*) FROM sched_switch",
        "samples": "SELECT count(*) FROM sample WHERE ts_ns IS NOT NULL",
        "system calls that returned": "SELECT count(*) FROM syscall WHERE exit_ts_ns IS NOT NULL",
        "requests that completed": "SELECT count(*) FROM block_io WHERE completed_ts_ns IS NOT NULL",
        "readings": "SELECT count(*) FROM proc_cpu",
    }
    with open_window(sample, *WHOLE) as window:
        (duration_ns,) = window.execute("SELECT duration_ns FROM capture").fetchone()
        whole = {name: window.execute(sql).fetchone()[0] for name, sql in totals.items()}
        parts = dict.fromkeys(totals, 0)
        for part in range(3):
            move(window, duration_ns * part // 3, duration_ns * (part + 1) // 3)
            for name, sql in totals.items():
                parts[name] += window.execute(sql).fetchone()[0] or 0
    assert parts == {name: total or 0 for name, total in whole.items()}
    assert whole["time on CPUs"] > 10**9


def test_a_scope_knows_what_others_call_their_ends(tmp_path: Path) -> None:
    """A thread waits for one of another process: the connection of that one has its name, and no more."""
    capture = {"capture_id": "x", "name": "x", "perfcase_version": "x", "clock": "monotonic", "start_clock_ns": 0}
    rows = {
        "capture": [{**capture, "duration_ns": 100}],
        "process": [{"upid": 1, "pid": 10, "name": "shop"}, {"upid": 2, "pid": 20, "name": "base"}],
        "thread": [
            {"utid": 1, "upid": 1, "tid": 10, "pid": 10, "comm": "shop"},
            {"utid": 2, "upid": 2, "tid": 20, "pid": 20, "comm": "base"},
        ],
        "descriptor": [
            {"descriptor_id": 1, "upid": 1, "pid": 10, "fd": 3, "kind": "socket", "peer": "10.0.0.1:1", "inode": 5},
            {"descriptor_id": 2, "upid": 2, "pid": 20, "fd": 4, "kind": "socket", "peer": "10.0.0.2:2", "inode": 6},
        ],
        "blame": [
            {"ts_ns": 0, "duration_ns": 9, "utid": 1, "work": "call", "work_count": 1, "call": "read", "descriptor_id": 1,
             "cause": "network", "on_utid": 2, "on_call": "read", "on_descriptor_id": 2, "depth": 1},
        ],
    }  # fmt: skip
    folder = make_case(tmp_path / "x.case", rows)
    case = Case(folder, store.read_info(folder), reused=True)
    for scope in (Scope(utids=[1], upids=[1]), Scope(Part(0, 50), utids=[1], upids=[1])):
        with open_scope(case, scope) as connection:
            told = connection.execute("SELECT on_comm, on_target, wait_ns FROM blame_by_comm").fetchall()
            assert told == [("base", "10.0.0.2:2", 9)]
            assert connection.execute("SELECT upid, fd FROM fd_history").fetchall() == [(1, 3)]
            others = connection.execute(
                "SELECT * EXCLUDE (kind, peer) FROM descriptor WHERE descriptor_id = 2"
            ).fetchall()
            assert {value for value in others[0] if value is not None} == {2}
