"""A reader who finds a view empty learns what is missing and how to record it; every column is defined."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query
from perfcase.case.coverage import why_empty
from perfcase.catalogue.contents import recordings
from perfcase.catalogue.schema import load_catalogue, load_tables, package_data, quote, schema_dir
from perfcase.catalogue.views import load_views
from tests.support.cli import perfcase
from tests.support.fakecase import make_case

ROOT = Path(__file__).parents[2]
ABOUT_THE_CAPTURE = "core"
ABOUT_VIEWS = {"metric_definition", "view_coverage", "finding", "finding_coverage"}
"""Views that have rows whatever was captured, and the findings: what they need is told for each rule (tests/findings)."""


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_case(tmp_path_factory.mktemp("empty") / "empty.case", {})


@pytest.fixture(scope="module")
def database(empty: Path) -> duckdb.DuckDBPyConnection:
    return query.connect(empty)


def test_every_column_is_defined_in_sql(database: duckdb.DuckDBPyConnection) -> None:
    found = database.execute(
        "SELECT view_name, column_name, unit, definition, kind = 'table' OR formula IS NOT NULL FROM metric_definition"
    ).fetchall()
    tables = {**load_tables(), **load_catalogue()}
    expected = {(e.name, c.name) for e in (*load_views().values(), *tables.values()) for c in e.columns}
    assert {row[:2] for row in found} == expected
    assert len(found) == len(expected)
    assert [row for row in found if not row[3] or not row[4]] == []


@pytest.mark.parametrize("view", sorted(load_views().keys() - ABOUT_VIEWS))
def test_a_capture_of_nothing_fills_no_view_and_says_why(database: duckdb.DuckDBPyConnection, view: str) -> None:
    covered = database.execute("SELECT is_fed FROM view_coverage WHERE view_name = ?", [view]).fetchall()
    assert covered == [(False,)]
    assert database.execute(f"SELECT * FROM {quote(view)}").fetchall() == []
    needed = {
        row[0] for row in database.execute("SELECT table_name FROM requirement WHERE view_name = ?", [view]).fetchall()
    }
    if {load_tables()[table].group for table in needed} - {ABOUT_THE_CAPTURE}:
        why = why_empty(database, view)
        assert why is not None
        assert "is not in this capture" in why
        assert "to record it: " in why


def test_it_is_known_who_records_each_table() -> None:
    known = {row["table_name"] for row in recordings()}
    tables = load_tables()
    assert sorted(known - tables.keys() - load_views().keys()) == []
    assert [n for n, table in tables.items() if n not in known and table.group != ABOUT_THE_CAPTURE] == [], (
        "tables without a line in schema/recording.toml"
    )


def test_files_that_tables_are_of_are_recorded(tmp_path: Path) -> None:
    """The last lines of recorder/proc.list are those that ``make docs`` writes from the tables."""
    kept = (package_data("recorder") / "proc.list").read_text()
    place = tmp_path / "proc.list"
    place.write_text(kept.replace("system /proc/vmstat\n", ""))
    subprocess.run([sys.executable, ROOT / "scripts" / "proc_list.py", place], check=True)
    assert place.read_text() == kept
    assert "system /proc/net/sockstat*\n" in kept


def test_rules_are_of_tables_and_groups_that_exist() -> None:
    rules = tomllib.loads((schema_dir() / "recording.toml").read_text())
    assert sorted(rules["table"].keys() - load_tables().keys()) == []
    assert sorted(rules["view"].keys() - load_views().keys()) == []


def test_the_command_says_why_a_view_is_empty(empty: Path) -> None:
    for fmt in ("table", "csv"):
        done = perfcase("view", "thread_time", empty, "--format", fmt)
        assert done.returncode == 0
        (line,) = done.stderr.splitlines()
        assert line.startswith("perfcase: thread_time has no rows: nothing in thread, thread_state; ")
        assert "perf record -a -g -e sched:sched_switch" in line


def test_a_condition_that_nothing_meets_is_no_missing_source(tmp_path: Path) -> None:
    case = make_case(tmp_path / "x.case", {"thread": [{"utid": 1}], "thread_state": [{"utid": 1, "state": "running"}]})
    done = perfcase("view", "thread_time", case, "--where", "tid = 77")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_bare_recording_says_what_only_the_recorder_takes(recorded: Callable[[str], Path]) -> None:
    done = perfcase("view", "cpu_utilization", recorded("aarch64/offcpu.data"), "--format", "json")
    assert (done.returncode, done.stdout) == (0, "[\n]\n")
    assert done.stderr == (
        "perfcase: cpu_utilization has no rows: nothing in proc_cpu; proc is not in this capture;"
        " to record it: perfcase-record copies /proc by default, every --interval seconds\n"
    )
