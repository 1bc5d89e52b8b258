"""What is worked out once for several views says what the views say."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query, sharing, store
from perfcase.case.budget import MEMORY
from perfcase.case.window import move, open_window
from perfcase.catalogue.rules import load_rules
from perfcase.catalogue.schema import literal
from perfcase.catalogue.views import create_view, load_views, with_dependencies
from tests.support.cli import perfcase
from tests.support.fakecase import make_case
from tests.support.imports import imported

ROOT = Path(__file__).parents[2]
SAMPLES = ("x86_64-scheduling/x", "d-nagle/tcp", "e-page-cache/larger")
TEMPORARY = "SELECT table_name FROM duckdb_tables() WHERE temporary ORDER BY 1"


def _own(sample: str, place: Path) -> Path:
    """A copy of an import: a database that another test has open keeps the memory that it was given."""
    return Path(shutil.copytree(imported(ROOT / "sample-captures" / sample).folder, place / "own.case"))


@pytest.mark.parametrize(
    "sample", [pytest.param(name, marks=pytest.mark.long("10 s") if name != "d-nagle/tcp" else ()) for name in SAMPLES]
)
def test_the_findings_are_the_same(sample: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(MEMORY, "4G")  # for all rules in one plan
    folder = _own(f"{sample}.perfcase", tmp_path)
    answers = []
    for is_shared in (False, True):
        with query.connect(folder) as connection:
            if is_shared:
                sharing.share(connection, sharing.FINDINGS)
                made = [name for (name,) in connection.execute(TEMPORARY).fetchall()]
                assert {"recorded_span", "socket_answer", "workload_thread"} <= set(made)
                assert not set(made).intersection(sharing.FINDINGS)
                for name in made:
                    shared, view = f"FROM temp.{name}", f"FROM main.{name}"
                    assert connection.execute(f"SELECT count(*) FROM ({shared} EXCEPT ALL {view})").fetchone() == (
                        0,
                    ), name
                    assert connection.execute(f"SELECT count(*) FROM ({view} EXCEPT ALL {shared})").fetchone() == (
                        0,
                    ), name
            answers.append([connection.execute(f"FROM {name}").fetchall() for name in sharing.FINDINGS])
    assert answers[0] == answers[1]
    assert answers[0][0]


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_view_that_lacks_what_it_needs_is_not_planned(sample: str, tmp_path: Path) -> None:
    """What stands for it has its columns, and no more rows than it has: none."""
    folder = _own(f"{sample}.perfcase", tmp_path)
    with query.connect(folder) as connection, query.connect(folder) as other:
        connection.execute("CREATE TEMP TABLE view_coverage AS FROM view_coverage")
        asked = "SELECT view_name FROM view_coverage WHERE kind = 'view' AND NOT is_fed"
        unfed = [name for (name,) in connection.execute(asked).fetchall()]
        planned: list[str] = []
        sharing.share(_Watched(connection, planned), [*unfed, *unfed])
        assert [sql for sql in planned if " AS FROM " in sql and any(f'"{name}"' in sql for name in unfed)] == []
        columns = [connection.execute(f"DESCRIBE FROM temp.{name}").fetchall() for name in unfed]
        assert columns == [other.execute(f"DESCRIBE FROM main.{name}").fetchall() for name in unfed]
        assert [other.execute(f"SELECT count(*) FROM main.{name}").fetchall() for name in unfed] == [[(0,)]] * len(
            unfed
        )
        made = sharing.made(connection)
        assert made == {name: connection.execute(f"SELECT count(*) FROM temp.{name}").fetchall()[0][0] for name in made}
        assert len(unfed) > 5
        assert made.keys() >= {*unfed}


@pytest.mark.parametrize(
    "sample", sorted((ROOT / "sample-captures").rglob("*.perfcase")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_what_is_not_asked_has_no_rows(sample: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A rule or view is left out where the values that its filters ask for are not there."""
    monkeypatch.setenv(MEMORY, "4G")  # for a rule without what others share
    rules = load_rules()
    with query.connect(Path(shutil.copytree(imported(sample).folder, tmp_path / "own.case"))) as connection:
        idle = sharing.without_rows(connection)
        for name in sorted(idle):
            sql = rules[name].sql if name in rules else f"FROM {name}"
            assert connection.execute(f"FROM (\n{sql}\n) LIMIT 1").fetchall() == [], name
        # Some of what has all its tables, and neither all rules nor none.
        fed = {name for (name,) in connection.execute("SELECT view_name FROM view_coverage WHERE is_fed").fetchall()}
        assert idle & fed & rules.keys()
        assert fed & rules.keys() - idle


def test_a_part_may_have_rows_that_the_whole_has_not(tmp_path: Path) -> None:
    """The levels of a part are made of its own states."""
    case = store.open_case(make_case(tmp_path / "one.case", {"capture": [{"capture_id": "a", "duration_ns": 10**9}]}))
    with query.connect(case.folder) as connection, open_window(case, 0, 10**9) as window:
        assert connection.execute("SELECT count(*) FROM unclaimed_level").fetchall() == [(0,)]
        assert "unclaimed_cpus" in sharing.without_rows(connection)
        assert "unclaimed_cpus" not in sharing.without_rows(window)


def test_values_are_those_of_the_rows() -> None:
    """What the end of a table's file says of a column; a column that it does not name may have any value."""
    with query.connect(imported(ROOT / "sample-captures" / f"{SAMPLES[1]}.perfcase").folder) as connection:
        said = connection.execute("FROM column_values ORDER BY ALL").fetchall()
        for table, column, values in said:
            asked = f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY ALL"
            assert sorted(values) == sorted(value for (value,) in connection.execute(asked).fetchall()), (table, column)
        assert {("syscall", "name"), ("syscall", "errno_name"), ("thread_state", "state"), ("blame", "cause")} <= {
            (table, column) for table, column, _ in said
        }


def test_a_large_sum_is_found() -> None:
    """DuckDB 2.0.0 leaves it out where all its optimizers are at work and the tables are in memory."""
    folder = imported(ROOT / "sample-captures" / "aarch64-counters" / "x.perfcase").folder
    views = with_dependencies(load_views(), ["pmc_summary"])
    answers = []
    for is_careful in (False, True):
        with duckdb.connect() as connection:
            if is_careful:
                query.avoid_faults(connection)
            for name in sorted({source for view in views.values() for source in view.sources} - views.keys()):
                file = literal(str(folder / "tables" / f"{name}.parquet"))
                connection.execute(f"CREATE TABLE {name} AS FROM {file}")
            for view in views.values():
                create_view(connection, view)
            asked = "SELECT duration_ns FROM pmc_summary"
            found = [
                connection.execute(f"{asked} {more}").fetchall()
                for more in ("", "WHERE duration_ns > 5_000_000_000", "ORDER BY ALL")
            ]
            answers.append(found)
    assert answers[1] == 3 * [[(6_887_771_072,)]]
    assert answers[0] != answers[1], "DuckDB has mended it: query.py need not turn that optimizer off"


class _Watched:
    """A connection of which it is known what it was asked."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, asked: list[str]) -> None:
        self._connection, self._asked = connection, asked

    def execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        self._asked.append(sql)
        return self._connection.execute(sql)


def test_a_rule_that_fails_takes_no_other_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Such as one that needs more memory than there is. It is not judged, the command ends with its error, and nothing is kept."""
    folder = _own("d-nagle/tcp.perfcase", tmp_path)
    with query.connect(folder) as connection:
        assert sharing.share_findings(connection) == []
        rows = connection.execute("FROM finding").fetchall()
    broken = rows[0][0]
    of_rule = sharing.fired
    fails = "SELECT '' AS finding, error('it takes too much') AS message"
    monkeypatch.setattr(sharing, "fired", lambda rule: fails if rule.name == broken else of_rule(rule))
    with query.connect(folder) as connection:
        assert [str(error) for error in sharing.share_findings(connection)] == [
            "Invalid Input Error: it takes too much"
        ]
        assert connection.execute("FROM finding").fetchall() == [row for row in rows if row[0] != broken]
        told = f"SELECT is_judged, missing FROM finding_coverage WHERE finding = '{broken}'"
        assert connection.execute(told).fetchall() == [(False, "Invalid Input Error: it takes too much")]
    place = Path(shutil.copytree(folder, tmp_path / "a.case", ignore=shutil.ignore_patterns("kept")))
    done = perfcase("findings", place, "--explain")
    assert (done.returncode, done.stderr) == (5, "perfcase: Invalid Input Error: it takes too much\n")
    assert f"not judged: {broken} (Invalid Input Error: it takes too much)" in " ".join(done.stdout.split())
    assert not (place / "kept").exists()


def test_a_full_disk_is_told_from_too_little_memory() -> None:
    error = query.duckdb.OutOfMemoryException("Out of Memory Error: failed to offload data block of size 160.0 KiB")
    told = query.sql_error(error)
    assert "too little free disk space" in told.message
    assert "TMPDIR" in str(told.hint)


def test_what_only_rules_read_that_cannot_fire_is_not_worked_out() -> None:
    """The capture has no block requests."""
    with query.connect(imported(ROOT / "sample-captures" / "d-nagle" / "tcp.perfcase").folder) as connection:
        sharing.share(connection, sharing.FINDINGS)
        all_of_them = {name for (name,) in connection.execute(TEMPORARY).fetchall()}
    with query.connect(imported(ROOT / "sample-captures" / "d-nagle" / "tcp.perfcase").folder) as connection:
        sharing.share_findings(connection)
        made = {name for (name,) in connection.execute(TEMPORARY).fetchall()}
    assert all_of_them - made
    assert {"socket_answer", "workload_thread", *sharing.FINDINGS} <= made


def test_a_table_of_many_rows_stays_in_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read once stays there, too, but not what is asked for twice."""
    with query.connect(imported(ROOT / "sample-captures" / "d-nagle" / "tcp.perfcase").folder) as connection:
        made = [("recorder_thread",), ("syscall",), ("thread",), ("thread_name",)]
        rows = dict(connection.execute("FROM table_rows").fetchall())
        monkeypatch.setattr(sharing, "_TABLE_ROWS_MAX", rows["syscall"] - 1)
        for expected in ([name for name in made if name != ("syscall",)], made):
            sharing.forget(connection)
            sharing.share(connection, ["syscall_summary", "syscall_by_fd", "load_average"])
            assert connection.execute(TEMPORARY).fetchall() == expected
            monkeypatch.setattr(sharing, "_TABLE_ROWS_MAX", rows["syscall"])
        sharing.forget(connection)
        sharing.share(connection, ["load_average", "load_average"])
        assert ("load_average",) in connection.execute(TEMPORARY).fetchall()


def test_a_view_that_fails_is_left_to_its_reader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(MEMORY, "4G")  # for all rules in one plan
    with query.connect(_own("d-nagle/tcp.perfcase", tmp_path)) as connection:
        connection.execute("CREATE TEMP VIEW recorded_span AS SELECT error('no') AS table_name")
        sharing.share(connection, sharing.FINDINGS)
        assert ("socket_answer",) in connection.execute(TEMPORARY).fetchall()
        with pytest.raises(Exception, match="no"):
            connection.execute("FROM finding").fetchall()


def test_what_a_window_shares_is_of_that_window() -> None:
    """Each half of a capture has its own rows, also after the other one was asked."""
    case = store.open_case(imported(ROOT / "sample-captures" / "d-nagle" / "tcp.perfcase").folder)
    ((end_ns,),) = query.connect(case.folder).execute("SELECT duration_ns FROM capture").fetchall()
    halves = ((0, end_ns // 2), (end_ns // 2, end_ns))
    answers: list[list[list[tuple]]] = [[], []]
    for is_shared in (False, True):
        with open_window(case, *halves[0]) as window:
            for half in halves:
                sharing.forget(window)
                move(window, *half)
                if is_shared:
                    sharing.share(window, ["tcp_stalls", "socket_answer"])
                    made = window.execute(TEMPORARY).fetchall()
                    assert made == [("process",), ("socket_answer",), ("thread",)]
                answers[is_shared].append(window.execute("FROM socket_answer ORDER BY ALL").fetchall())
    assert answers[0] == answers[1]
    assert answers[0][0] != answers[0][1]


def test_what_has_no_time_is_made_once_for_all_windows() -> None:
    case = store.open_case(imported(ROOT / "sample-captures" / "d-nagle" / "tcp.perfcase").folder)
    ((end_ns,),) = query.connect(case.folder).execute("SELECT duration_ns FROM capture").fetchall()
    with open_window(case, 0, end_ns // 2) as window:
        sharing.share(window, [name for name in load_views() for _ in range(2)])
        before = {name for (name,) in window.execute(TEMPORARY).fetchall()}
        move(window, end_ns // 2, end_ns)
        sharing.forget(window)
        after = {name for (name,) in window.execute(TEMPORARY).fetchall()}
        assert {"stack_folded", "frame_label"} <= after
        assert {"thread", "thread_time", "recorder_overhead", "process"} <= before - after
        for name in after:
            assert window.execute(f"FROM temp.{name} EXCEPT ALL FROM main.{name}").fetchall() == [], name
