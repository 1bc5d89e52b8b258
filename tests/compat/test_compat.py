"""Every released version of the archive is read by this one: its files lie here as they were written."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from perfcase.case import store

HERE = Path(__file__).parent
SOURCES = [
    ("ftrace", "ftrace_raw", "available"),
    ("host", "host_file", "available"),
    ("perf", "perf_data", "degraded"),
    ("pmc", "perf_stat", "degraded"),
    ("proc", "proc_snapshots", "available"),
]
# Tables whose rows are records of the archive, one to one.
ROWS = {
    "host_file": 16,
    "recorder_process": 6,
    "sample": 31,
    "sched_switch": 58,
    "sched_wakeup": 36,
    "sched_process_fork": 5,
    "sched_process_exec": 6,
    "sched_process_exit": 6,
    "pmc_interval": 48,
    "proc_cpu": 28,
    "proc_load": 14,
    "proc_memory": 14,
    "proc_system": 14,
    "proc_thread": 17,
}

ROWS_1_1 = {
    "host_file": 18,
    "recorder_process": 10,
    "sample": 178,
    "sched_switch": 178,
    "sched_wakeup": 121,
    "sched_process_fork": 5,
    "sched_process_exec": 6,
    "sched_process_exit": 6,
    "pmc_interval": 688,
    "proc_cpu": 424,
    "proc_load": 212,
    "proc_memory": 212,
    "proc_system": 212,
    "proc_thread": 221,
    "proc_process": 233,
    "symbol_object": 6,
}


@pytest.fixture(scope="module")
def v1_0(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("compat") / "v1.0.case"
    case = store.open_case(HERE / "v1.0" / "command.perfcase", folder)
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        yield connection


def test_every_version_has_a_file() -> None:
    version = (HERE.parents[1] / "schema" / "VERSION").read_text().strip()
    assert list((HERE / f"v{version}").glob("*.perfcase")), f"tests/compat/v{version} has no archive"


def test_v1_0_the_manifest(v1_0: duckdb.DuckDBPyConnection) -> None:
    row = v1_0.execute(
        "SELECT format_version, recorder_version, clock, ticket, note, hostname, kernel_release, machine, cpu_count,"
        " page_size_bytes, clock_ticks_per_s, memory_bytes FROM capture"
    ).fetchone()
    assert row == (
        "1.0", "0.1.0", "monotonic", "T-1", "read me in every later version", "vm", "6.18.44-fc-v669", "x86_64", 2,
        4096, 100, 25276502016,
    )  # fmt: skip
    sources = v1_0.execute("SELECT name, kind, status FROM source ORDER BY name").fetchall()
    assert sources == SOURCES


def test_v1_0_every_row_is_read(v1_0: duckdb.DuckDBPyConnection) -> None:
    counts = {table: v1_0.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ROWS}
    assert counts == ROWS
    assert v1_0.execute("SELECT * FROM import_issue WHERE severity <> 'info'").fetchall() == []


def test_v1_0_all_sources_lie_on_one_clock(v1_0: duckdb.DuckDBPyConnection) -> None:
    duration = v1_0.execute("SELECT duration_ns FROM capture").fetchone()[0]
    for table in ("sched_switch", "syscall", "pmc_interval", "proc_cpu", "proc_thread"):
        first, last = v1_0.execute(f"SELECT min(ts_ns), max(ts_ns) FROM {table}").fetchone()
        assert 0 < first < last <= duration, table
    # The shell forked five sleeps: perf, ftrace and /proc agree on which processes there were.
    slept = v1_0.execute("SELECT count(DISTINCT upid) FROM process WHERE name = 'sleep'").fetchone()[0]
    assert slept == 5


def test_v1_1_has_labels_and_symbols(tmp_path: Path) -> None:
    case = store.open_case(HERE / "v1.1" / "command.perfcase", tmp_path / "v1.1.case")
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        row = connection.execute("SELECT format_version, ticket, note, labels, hostname FROM capture").fetchone()
        assert row == ("1.1", "T-1", "read me in every later version", "canary,build=7", "guest")
        counts = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ROWS_1_1}
        assert counts == ROWS_1_1
        assert connection.execute("SELECT * FROM import_issue WHERE severity <> 'info'").fetchall() == []
