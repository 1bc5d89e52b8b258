"""The findings that an imported folder keeps are those of its views, and are kept for as long as they are true."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from perfcase.case import kept, query, sharing, store
from perfcase.case.budget import MEMORY
from perfcase.case.scope import Scope
from perfcase.case.sharing import FINDINGS
from perfcase.case.window import open_scope, open_window
from perfcase.catalogue.rules import load_rules
from perfcase.cli.import_command import keep_answers
from perfcase.report.writer import VIEWS
from tests.support.cli import succeed
from tests.support.imports import SAMPLES, imported

SAMPLE = SAMPLES / "d-nagle" / "tcp.perfcase"
ASKED = [f"FROM {view}" for view in FINDINGS]
UNFED = "SELECT view_name FROM view_coverage WHERE kind = 'finding' AND NOT is_fed"
FAILS = "SELECT error('asked') AS severity, '' AS subject, '' AS message"

MORE = [pytest.param(name, marks=pytest.mark.long) for name in ("d-nagle/tcp", "e-page-cache/larger")]
"""Samples beside those with most views and with counters: to ask every view of one takes 4 s of CPU time."""


@pytest.fixture
def case(tmp_path: Path, told: list[list[tuple]]) -> store.Case:
    """An imported folder of the test's own, that keeps its findings."""
    folder = tmp_path / "tcp [1]*.case"
    shutil.copytree(imported(SAMPLE).folder, folder)
    return store.open_case(folder)


@pytest.fixture(scope="module")
def told() -> list[list[tuple]]:
    """The findings of SAMPLE."""
    return answers(imported(SAMPLE))


def answers(case: store.Case) -> list[list[tuple]]:
    with query.connect(case.folder) as connection:
        kept.have_findings(connection)
        return [connection.execute(sql).fetchall() for sql in ASKED]


def files(case: store.Case) -> list[Path]:
    return sorted(path for view in FINDINGS for path in (case.folder / "kept").glob(f"*-{view}.parquet"))


def fake(case: store.Case) -> None:
    """Makes what is kept recognizable: one finding that no rule has."""
    (path,) = (case.folder / "kept").glob("*-finding.parquet")
    with query.duckdb.connect() as writer:
        writer.from_parquet(str(path).replace("[", "[[]").replace("*", "[*]")).limit(1).create("one")
        writer.execute("UPDATE one SET finding = 'kept'")
        writer.execute("COPY one TO ? (FORMAT parquet)", [str(path)])


def is_fake(connection: query.duckdb.DuckDBPyConnection) -> bool:
    kept.have_findings(connection)
    return connection.execute("SELECT finding FROM finding").fetchall() == [("kept",)]


@pytest.mark.parametrize("name", ["x86_64-scheduling/x", *MORE])
def test_what_is_kept_is_what_the_views_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY, "4G")  # for all rules in one plan
    folder = tmp_path / "a.case"
    shutil.copytree(imported(SAMPLES / f"{name}.perfcase").folder, folder, ignore=shutil.ignore_patterns("kept"))
    case = store.open_case(folder)
    with query.connect(folder) as connection:
        of_views = [connection.execute(sql).fetchall() for sql in ASKED]
    assert of_views[0]
    assert [answers(case), answers(case)] == [of_views, of_views]
    assert [path.name.partition("-")[2] for path in files(case)] == ["finding.parquet", "finding_coverage.parquet"]
    with query.connect(folder) as connection:
        described = [connection.execute(f"DESCRIBE {view}").fetchall() for view in FINDINGS]
        kept.have_findings(connection)
        assert [connection.execute(f"DESCRIBE {view}").fetchall() for view in FINDINGS] == described


@pytest.mark.parametrize("name", ["x86_64-scheduling/x", "aarch64-counters/x", *MORE])
def test_the_views_of_the_report_are_the_same_when_they_are_kept(name: str, tmp_path: Path) -> None:
    """Rows, their order, and types; and all of them are kept, by the command that imports."""
    folder = tmp_path / "a.case"
    shutil.copytree(imported(SAMPLES / f"{name}.perfcase").folder, folder, ignore=shutil.ignore_patterns("kept"))
    with query.connect(folder) as connection:
        of_views = {view: ask(connection, view) for view in VIEWS}
    keep_answers(store.open_case(folder))
    assert {path.name.partition("-")[2] for path in (folder / "kept").iterdir()} == {
        *(f"{view}.parquet" for view in (*VIEWS, *FINDINGS)),
        "figures.jsonl",
        "recorded.json",
    }
    with query.connect(folder) as connection:
        for view in VIEWS:
            kept.recall_view(connection, view)
        made = {
            name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()
        }
        assert made == set(VIEWS)
        for view in VIEWS:
            assert ask(connection, view) == of_views[view], view


def ask(connection: query.duckdb.DuckDBPyConnection, view: str) -> tuple[list[tuple], list[tuple]]:
    described = [row[:2] for row in connection.execute(f"DESCRIBE {view}").fetchall()]
    return described, connection.execute(f"FROM {view}").fetchall()


def test_a_view_of_many_rows_is_not_kept(case: store.Case, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(case.folder / "kept")
    monkeypatch.setattr(kept, "_ROWS_MAX", 3)
    with query.connect(case.folder) as connection:
        kept.have_views(connection, ["thread_time", "cpu_summary"])
        assert connection.execute("SELECT count(*) > 3 FROM thread_time").fetchone() == (True,)
    assert not [*(case.folder / "kept").glob("*-thread_time.parquet")]
    assert [*(case.folder / "kept").glob("*-cpu_summary.parquet")]


@pytest.mark.parametrize(
    "value",
    ["'\x1b[31mx'", pytest.param("-1", marks=pytest.mark.long), pytest.param("[1, 2]", marks=pytest.mark.long), "NULL"],
)
def test_the_files_of_a_stranger_do_not_break_the_report(case: store.Case, value: str) -> None:
    """The kept files are replaced by others: wrong types, a severity that no rule has."""
    keep_answers(case)
    wanted = succeed("report", case.folder)
    for path in (case.folder / "kept").glob("*.parquet"):
        with query.duckdb.connect() as writer:
            writer.from_parquet(str(path).replace("[", "[[]").replace("*", "[*]")).create("one")
            names = [row[0] for row in writer.execute("DESCRIBE one").fetchall()]
            columns = ", ".join(f'{value} AS "{name}"' for name in names)
            writer.execute(f"COPY (SELECT {columns}) TO ? (FORMAT parquet)", [str(path)])
    told = succeed("report", case.folder)
    if value == "NULL":
        assert told == wanted, "no section can say anything of it, so all are worked out"
        assert succeed("report", case.folder) == wanted
    assert "\x1b" not in told
    findings = [[part for part in text.split("\n\n") if part.startswith("Findings")] for text in (told, wanted)]
    assert len(findings[1]) == 1
    assert findings[0] == findings[1], "the findings are worked out"


def test_a_kept_view_whose_numbers_are_unknown_is_worked_out(case: store.Case) -> None:
    keep_answers(case)
    wanted = succeed("report", case.folder)
    (path,) = (case.folder / "kept").glob("*-profile_summary.parquet")
    kept_before = path.read_bytes()
    with query.duckdb.connect() as writer:
        writer.from_parquet(str(path).replace("[", "[[]").replace("*", "[*]")).create("one")
        rows = writer.execute("DESCRIBE one").fetchall()
        columns = ", ".join(
            f'NULL::{kind} AS "{name}"' if kind != "VARCHAR" else f'"{name}"' for name, kind, *_ in rows
        )
        writer.execute(f"COPY (SELECT {columns} FROM one) TO ? (FORMAT parquet)", [str(path)])
    assert path.read_bytes() != kept_before
    assert succeed("report", case.folder) == wanted
    assert succeed("report", case.folder) == wanted


def test_the_report_reads_what_is_kept(case: store.Case) -> None:
    keep_answers(case)
    (path,) = (case.folder / "kept").glob("*-scheduler_summary.parquet")
    with query.duckdb.connect() as writer:
        writer.from_parquet(str(path).replace("[", "[[]").replace("*", "[*]")).create("one")
        writer.execute("UPDATE one SET unclaimed_ns = 4242000000000")
        writer.execute("COPY one TO ? (FORMAT parquet)", [str(path)])
    assert "1 h 11 min" in succeed("report", case.folder)
    assert "1 h 11 min" not in succeed("report", case.folder, "--only", "window=0s..1s")


def test_the_second_question_is_answered_by_what_is_kept(case: store.Case) -> None:
    fake(case)
    assert is_fake(query.connect(case.folder))
    # A connection that did not ask for what is kept has the views, and no table in their place.
    made = "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'finding'"
    assert query.connect(case.folder).execute(made).fetchone() == (0,)


def test_sql_reads_what_is_kept(case: store.Case) -> None:
    fake(case)
    assert "kept" in succeed("sql", case.folder, "SELECT finding FROM finding")


def test_a_part_of_the_capture_has_its_own(case: store.Case) -> None:
    fake(case)
    with open_window(case, 0, 10**9) as window:
        assert not is_fake(window)
    with open_scope(case, Scope(cpus=[0])) as scope:
        assert not is_fake(scope)
    assert is_fake(query.connect(case.folder))


def test_another_parameter_has_its_own(case: store.Case) -> None:
    fake(case)
    with query.connect(case.folder) as connection:
        connection.execute("SET VARIABLE interval_ns = 500000000")
        assert not is_fake(connection)
    assert is_fake(query.connect(case.folder))


def test_those_of_other_rules_go(case: store.Case, told: list[list[tuple]]) -> None:
    fake(case)
    for path in files(case):
        path.rename(path.with_name("0" * 32 + path.name[32:]))
    assert answers(case) == told
    assert len(files(case)) == len(FINDINGS)
    assert not any(path.name.startswith("0" * 32) for path in files(case))


def test_new_names_of_functions_make_new_ones(case: store.Case, tmp_path: Path) -> None:
    fake(case)
    case, _ = store.symbolize(case, [tmp_path])
    assert files(case) == []
    assert not is_fake(query.connect(case.folder))


@pytest.mark.parametrize(("number", "size"), [(0, 3000), (1, 0)])
def test_one_that_is_cut_is_made_again(case: store.Case, told: list[list[tuple]], number: int, size: int) -> None:
    os.truncate(files(case)[number], size)
    assert answers(case) == told
    assert all(path.stat().st_size > 3000 for path in files(case))


def test_a_link_is_not_followed(case: store.Case, told: list[list[tuple]], tmp_path: Path) -> None:
    shutil.rmtree(case.folder / "kept")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.parquet").touch()
    (case.folder / "kept").symlink_to(elsewhere)
    assert answers(case) == told
    assert [path.name for path in elsewhere.iterdir()] == ["mine.parquet"]


def test_where_nothing_can_be_kept_they_are_worked_out(case: store.Case, told: list[list[tuple]]) -> None:
    shutil.rmtree(case.folder / "kept")
    (case.folder / "kept").touch()
    assert answers(case) == told
    assert (case.folder / "kept").stat().st_size == 0


def test_a_rule_that_fails_is_told_and_not_kept(case: store.Case) -> None:
    shutil.rmtree(case.folder / "kept")
    with query.connect(case.folder) as connection:
        connection.execute("CREATE TEMP VIEW recorded_span AS SELECT error('no') AS table_name")
        failures = {str(error) for error in kept.have_findings(connection)}
        told = {
            missing
            for (missing,) in connection.execute("SELECT missing FROM finding_coverage WHERE NOT is_judged").fetchall()
        }
        assert failures
        assert failures <= told
    assert files(case) == []


def test_a_rule_whose_tables_have_no_rows_is_not_asked(case: store.Case, told: list[list[tuple]]) -> None:
    """All others are: one that fails is told."""
    shutil.rmtree(case.folder / "kept")
    rules = load_rules()
    with query.connect(case.folder) as connection:
        unfed = {n for (n,) in connection.execute(UNFED).fetchall()}
    assert unfed
    assert unfed < rules.keys()
    for names in (unfed, {"delayed_ack"}):
        failing = {name: replace(rules[name], sql=FAILS) for name in names}
        with pytest.MonkeyPatch.context() as patch, query.connect(case.folder) as connection:
            patch.setattr(sharing, "load_rules", lambda failing=failing: rules | failing)
            failures = sharing.share_findings(connection)
            if names == unfed:
                assert [connection.execute(sql).fetchall() for sql in ASKED] == told
                assert failures == []
            else:
                (failure,) = failures
                assert "asked" in str(failure)


def test_other_tables_have_their_own(case: store.Case) -> None:
    fake(case)
    path = case.folder / "tables" / "syscall.parquet"
    before = path.stat()
    path.write_bytes(path.read_bytes())
    assert not is_fake(query.connect(case.folder))
    fake(case)
    os.utime(case.folder / "tables" / "thread.parquet", ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert not is_fake(query.connect(case.folder))


def test_what_a_killed_one_left_goes(case: store.Case, told: list[list[tuple]]) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    stale, alive = (case.folder / "kept" / f".working-{pid}-x" for pid in (gone.pid, os.getpid()))
    for path in files(case):
        path.unlink()
    for working in (stale, alive):
        working.mkdir()
        (working / "finding.parquet").touch()
    assert answers(case) == told
    assert (stale.exists(), alive.exists()) == (False, True)


def test_what_was_asked_of_tables_that_others_replaced_is_not_kept(case: store.Case) -> None:
    for path in files(case):
        path.unlink()
    table = case.folder / "tables" / "thread.parquet"
    with query.connect(case.folder) as connection:
        before = kept.kept_of(connection, ["thread_time"])
        assert before is not None
        before.remember("a", 1)
        assert before.recall("a") == 1
        os.utime(table, ns=(0, 0))
        before.remember("b", 1)
        after = kept.kept_of(connection, ["thread_time"])
        assert after is not None
        assert [after.recall(name) for name in "ab"] == [None, None]
        assert [before.recall(name) for name in "ab"] == [1, None]


@pytest.mark.parametrize("name", ["finding.parquet", "finding_coverage.parquet"])
def test_a_pipe_is_not_waited_for(case: store.Case, told: list[list[tuple]], name: str) -> None:
    (path,) = (case.folder / "kept").glob(f"*-{name}")
    path.unlink()
    os.mkfifo(path)
    assert answers(case) == told
    assert path.is_file()


def test_a_value_that_is_a_pipe_is_not_waited_for(case: store.Case) -> None:
    with query.connect(case.folder) as connection:
        here = kept.kept_of(connection, ["thread_time"])
        assert here is not None
        os.mkfifo(here.path("a.json"))
        assert here.recall("a") is None
        here.remember("a", 1)
        assert here.recall("a") == 1


def test_findings_without_a_column_are_made_again(case: store.Case, told: list[list[tuple]]) -> None:
    (path,) = (case.folder / "kept").glob("*-finding.parquet")
    with query.duckdb.connect() as writer:
        writer.execute("COPY (SELECT 'x' AS finding) TO ? (FORMAT parquet)", [str(path)])
    assert answers(case) == told
