"""A history reads the rows that imports keep of small views, and says what each capture itself says."""

from __future__ import annotations

import glob
import math
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import duckdb
import pytest

from perfcase.case import database, query, sharing
from perfcase.case import kept as case_kept
from perfcase.case.kept import have_findings
from perfcase.case.sharing import FINDINGS
from perfcase.catalogue.view import View
from perfcase.catalogue.views import load_views
from perfcase.fleet import condition, figures, metric, readings, rows
from perfcase.fleet.metric import Metric, Reading
from perfcase.report.writer import prepare
from tests.support.imports import SAMPLES, imported

AGGREGATIONS = ("sum", "level", "mean", "max", "min", "median", None)
MANY = {"call_path", "callees", "callers", "cpu_queue", "fd_call", "followed_state", "stack_entry", "syscall_log"}
"""Views with more rows than are kept."""
SOME = ("callers", "off_cpu_by_stack", "thread_time", "vm_summary")
SOURCES = ("d-nagle/pipe", "a-neighbours/alone")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Imported folders, as a server's import leaves them."""
    root = tmp_path_factory.mktemp("kept [rows]*")
    made = []
    for number, name in enumerate(SOURCES):
        folder = root / f"{number}.case"
        source = next(SAMPLES.glob(f"{name}.perfcase"))
        shutil.copytree(imported(source).folder, folder, ignore=shutil.ignore_patterns("kept"))
        with pytest.MonkeyPatch.context() as patched, query.connect(folder) as connection:
            patched.setattr(figures, "_OTHERS_S", math.inf)
            prepare(connection)
            figures.keep_all(connection, is_thorough=True)
        made.append(folder)
    return made


@pytest.fixture
def copies(folders: list[Path], tmp_path: Path) -> list[Path]:
    """Those of the first, three times: a test may change what is kept in one."""
    made = [tmp_path / f"{number}.case" for number in range(3)]
    for each in made:
        shutil.copytree(folders[0], each)
    return made


def duration_ns(connection: duckdb.DuckDBPyConnection) -> int | None:
    ((known,),) = connection.execute(figures.DURATION).fetchall()
    return known


def by_itself(folder: Path, wanted: Metric) -> Reading:
    with query.connect(folder) as connection:
        return metric.read(connection, wanted, duration_ns(connection))


def read(places: list[Path], wanted: Metric) -> dict[Path, Reading]:
    return rows.read_many(wanted, readings.kept_in(dict.fromkeys(places)))


def on_cpu(aggregation: str | None = "max", where: str | None = None) -> Metric:
    return metric.metric(load_views()["thread_time"], "on_cpu_ns", aggregation, where)


def file_of(folder: Path, view: str = "thread_time") -> Path:
    (path,) = (folder / "kept").glob(f"*-{view}.parquet")
    return path


def rewrite(path: Path, select: str) -> None:
    """Replace a kept file by what a SELECT makes of its rows, ``one``."""
    with duckdb.connect() as writer:
        writer.execute("CREATE TABLE one AS FROM read_parquet($1)", [str(path).replace("[", "[[]").replace("*", "[*]")])
        writer.execute("COPY (" + select + ") TO '" + str(path) + "' (FORMAT parquet)")


def wanted_of(view: View) -> list[Metric]:
    """Figures of a view: all aggregations of some columns, and conditions."""
    measures = [column.name for column in view.columns if column.unit]
    words = [column.name for column in view.columns if not column.unit]
    found = [metric.metric(view, None, "count", where) for where in (None, "false")]
    for measure in [*measures[:1], *measures[-1:]]:
        found += [metric.metric(view, measure, aggregation, None) for aggregation in AGGREGATIONS]
        found.append(metric.metric(view, measure, "level", f"{measure} > 3 -- and no more"))
        if words:
            found.append(metric.metric(view, measure, "sum", f"{words[0]}::VARCHAR LIKE '%a%' OR {measure} < 1000"))
    return found


@pytest.mark.long("more than 2 min")
def test_every_view_says_what_each_capture_says(folders: list[Path]) -> None:
    """All that is kept, and all that has no rows; of a view of many rows nothing is kept."""
    answered, many = compared(folders, load_views())
    assert answered > 3000
    assert {name for folder, name in many if folder == "0.case"} == set()
    assert {name for _, name in many} == MANY


def test_views_say_what_each_capture_says(folders: list[Path]) -> None:
    """One of each kind: of many rows, with lists, of threads, of times. The long test has all of them."""
    answered, many = compared(folders, SOME)
    assert answered > 100
    assert {name for _, name in many} == MANY.intersection(SOME)


def compared(folders: list[Path], names: Iterable[str]) -> tuple[int, set[tuple[str, str]]]:
    """Compare figures of kept rows with those of each capture: how many there were, and where nothing is kept."""
    views = load_views()
    kept = readings.kept_in(dict.fromkeys(folders))
    differing, answered, many = [], 0, set()
    connections = [query.connect(folder) for folder in folders]
    for name in names:
        view = views[name]
        asked = wanted_of(view)
        known = [rows.read_many(each, kept) for each in asked]
        for folder, connection in zip(folders, connections, strict=True):
            if name in FINDINGS:
                have_findings(connection)
            else:
                sharing.make(connection, name)
            for wanted, found in zip(asked, known, strict=True):
                if folder not in found:
                    if not (wanted.where and "SELECT" in wanted.where):
                        many.add((folder.name, name))
                    continue
                now = metric.read(connection, wanted, duration_ns(connection))
                answered += 1
                # A sum of fractions depends on the order of the rows.
                near = None not in (now.value, found[folder].value) and now.value == pytest.approx(
                    found[folder].value, rel=1e-12
                )
                if now != found[folder] and not (near and now.row_count == found[folder].row_count):
                    differing.append((folder.name, wanted.describe(), now, found[folder]))
    for connection in connections:
        connection.close()
    assert differing == []
    return answered, many


@pytest.mark.parametrize("where", [None, "comm LIKE 'p%'"])
def test_no_capture_is_opened(folders: list[Path], monkeypatch: pytest.MonkeyPatch, where: str | None) -> None:
    expected = [by_itself(folder, on_cpu("mean", where)) for folder in folders]
    monkeypatch.setattr(metric, "read", None)
    monkeypatch.setattr(query, "connect", None)
    assert [*read(folders, on_cpu("mean", where)).values()] == expected


def shorter(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def zeroed(path: Path) -> None:
    """All but the end, which says what there is."""
    whole = path.read_bytes()
    end = int.from_bytes(whole[-8:-4], "little") + 8
    path.write_bytes(whole[:4] + bytes(len(whole) - 4 - end) + whole[-end:])


def grown(path: Path) -> None:
    rewrite(path, f"SELECT one.* FROM one, range({case_kept.FEW_ROWS_MAX} // (SELECT count(*) FROM one) + 1)")


def grown_very_much(path: Path) -> None:
    rewrite(path, "SELECT one.* FROM (FROM one LIMIT 1) AS one, range(5_000_000)")


def large(path: Path) -> None:
    rewrite(
        path,
        "SELECT * REPLACE (md5(range::VARCHAR) || md5((range + 1)::VARCHAR) AS comm) FROM (FROM one LIMIT 1), range(9000)",
    )


STRANGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "cut": shorter,
    "zeroed": zeroed,
    "another type": lambda path: rewrite(path, "SELECT * REPLACE (on_cpu_ns > 0 AS on_cpu_ns) FROM one"),
    "another name": lambda path: rewrite(path, "SELECT * RENAME (on_cpu_ns AS other_ns) FROM one"),
    "one more": lambda path: rewrite(path, "SELECT *, 1 AS more FROM one"),
    "no rows": lambda path: rewrite(path, "FROM one LIMIT 0"),
    "many rows": grown,
    "very many rows": grown_very_much,
    "large": large,
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("how", STRANGE)
def test_a_strange_file_is_left_out_alone(copies: list[Path], how: str, place: int) -> None:
    """Also as the first one, whose types are those of all for DuckDB."""
    before = read(copies, on_cpu())
    assert len(before) == 3
    STRANGE[how](file_of(copies[place]))
    del before[copies[place]]
    assert read(copies, on_cpu()) == before


def test_rows_that_a_file_does_not_speak_of_are_not_read(copies: list[Path]) -> None:
    path = file_of(copies[0])
    grown_very_much(path)
    whole = path.read_bytes()
    said = varint(2 * 5_000_000)
    at = whole.index(said, len(whole) - 8 - int.from_bytes(whole[-8:-4], "little"))
    path.write_bytes(whole[:at] + b"\x82" + b"\x80" * (len(said) - 2) + b"\0" + whole[at + len(said) :])
    with duckdb.connect() as connection:
        asked = "SELECT num_rows FROM parquet_file_metadata($1)"
        assert connection.execute(asked, [glob.escape(str(path))]).fetchall() == [(1,)]
    with query.connect(copies[0]) as connection:
        assert not rows._Rows(connection, on_cpu())._fetch([case_kept.kept_of_all(copies[0])])


def varint(value: int) -> bytes:
    """A number as Thrift's compact protocol has it: seven bits a byte, the last one without a mark."""
    return bytes([value & 127 | 128]) + varint(value >> 7) if value > 127 else bytes([value])


def test_rows_of_other_tables_are_not_read(copies: list[Path]) -> None:
    (copies[1] / "tables" / "thread.parquet").touch()
    assert read(copies, on_cpu()).keys() == {copies[0], copies[2]}


def test_no_other_file_can_be_read(copies: list[Path]) -> None:
    """A condition is the user's: it reads nothing but the rows that are asked for."""
    template = database.template_at_hand()
    assert template
    one, other = file_of(copies[0]), file_of(copies[0], "finding")
    with query.over_files(template, [one]) as connection:
        asked = "SELECT count(*) FROM read_parquet($1)"
        connection.execute(asked, [glob.escape(str(one))]).fetchall()
        for path in (other, copies[0] / "tables" / "thread.parquet", copies[1] / "tables" / "capture.parquet"):
            with pytest.raises(duckdb.PermissionException):
                connection.execute(asked, [glob.escape(str(path))]).fetchall()


def test_an_unknown_duration_is_asked_for(copies: list[Path]) -> None:
    (path,) = (copies[1] / "kept").glob("*-recorded.json")
    path.write_text('{"thread_time": -1}')
    wanted = on_cpu("sum")
    assert wanted.is_per_second
    assert read(copies, wanted).keys() == {copies[0], copies[2]}
    assert read(copies, on_cpu("max")).keys() == {*copies}


def test_findings_that_no_rule_makes_are_left_out(folders: list[Path], tmp_path: Path) -> None:
    copies = [tmp_path / f"{number}.case" for number in range(3)]
    for each in copies:
        shutil.copytree(folders[1], each)
    wanted = metric.metric(load_views()["finding"], None, "count", "severity <> 'note'")
    before = read(copies, wanted)
    assert all(before[place].row_count for place in copies)
    file_of(copies[1], "finding_coverage").unlink()
    rewrite(file_of(copies[2], "finding"), "SELECT * REPLACE ('awful' AS severity) FROM one")
    assert read(copies, wanted) == {copies[0]: before[copies[0]]}


COLUMNS = ("comm", "on_cpu_ns", "is_open")
PLAIN = [
    "comm = 'java'", "comm IN ('a', 'b') AND NOT on_cpu_ns BETWEEN 1 AND 2", "comm LIKE 'a%' -- all of them", "on_cpu_ns::DOUBLE / 2 > 1e9",
    "regexp_matches(lower(comm), 'a|b')", "CASE WHEN is_open THEN on_cpu_ns END IS NULL", "is_open) AND (is_open", "coalesce(comm, '') <> ''",
    "comm = ') UNION SELECT (1'", "comm[1] = 'j'", "on_cpu_ns > 2 * 10 ** 6 /* much */",
]  # fmt: skip
NOT_PLAIN = [
    "on_cpu_ns > (SELECT avg(on_cpu_ns) FROM thread_time)", "EXISTS (FROM thread)", "comm IN (SELECT comm FROM thread)",
    "true) UNION SELECT * FROM thread_time WHERE (true", "1) UNION SELECT 1 --", "true) LIMIT (1", "true) ORDER BY (1", "true) GROUP BY (1",
    "true) QUALIFY (true", "true) USING SAMPLE (1", "true); SELECT (1", "true) -- \n; DROP TABLE x; SELECT (1",
    "EXISTS (FROM read_csv('/etc/passwd'))", "EXISTS (FROM '/etc/passwd')", "read_text('/etc/passwd') IS NOT NULL",
    "getvariable('case_dir') LIKE '%1%'", "current_setting('threads') > 1", "random() > 0.5", "now() > '2020-01-01'", "current_date > '2020-01-01'",
    "getenv('HOME') = ''", "count(*) > 1", "row_number() OVER () > 1", "COLUMNS(*) > 1", "* > 1", "#1 > 1", "$1 > 1", "nothing = 1",
    '"number of the capture" = 0', '"no row of the view"', "filename = 'x'", "file_row_number = 1", "rowid = 1", "thread_time.comm = 'x'",
    "json_serialize_plan('FROM x') = ''", "error('x')", "comm = 'a", "(", "((" * 20, "list_filter([1], x -> x > 1) = []",
]  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_an_expression_over_columns(text: str) -> None:
    assert condition.is_of_columns(text, COLUMNS)


@pytest.mark.parametrize("text", NOT_PLAIN, ids=range(len(NOT_PLAIN)))
def test_what_is_more_than_an_expression_over_columns(folders: list[Path], text: str) -> None:
    """The captures themselves are asked, and say what is wrong with it."""
    assert not condition.is_of_columns(text, COLUMNS)
    assert text == "" or read(folders, on_cpu("max", text)) == {}


@pytest.mark.parametrize(
    "where", ["sum = 'x'", "comm > INTERVAL 1 DAY", "comm + 1 > 2", "comm::INTEGER > 1", "substr(on_cpu_ns)"]
)
def test_what_is_wrong_is_asked_and_said(folders: list[Path], where: str) -> None:
    assert not any(reading.row_count for reading in read(folders, on_cpu("max", where)).values())


def test_a_capture_for_which_a_condition_fails_says_so(copies: list[Path]) -> None:
    rewrite(file_of(copies[1]), "SELECT * REPLACE ('7' AS comm) FROM one")
    assert read(copies[1:2] * 2, on_cpu("max", "comm::INTEGER = 7")) == {}
    assert read(copies, on_cpu("max", "comm::INTEGER = 7")) == {}


def test_conditions_of_readings_are_answered_by_the_captures(copies: list[Path]) -> None:
    """A history of both: rows that are kept, and a capture whose rows are not."""
    from perfcase.fleet import captures

    wanted = on_cpu("median", "on_cpu_ns > 1000")
    file_of(copies[0]).unlink()
    fleet = captures.load([copies[0]])
    (found,) = readings.read_all(wanted, {each.name: each for each in fleet.captures}, lambda *_: None).values()
    assert found == by_itself(copies[0], wanted)
    assert read(copies[1:], wanted) == dict.fromkeys(copies[1:], found)


@pytest.mark.parametrize("where", ["nothing = 1", "cpu = 'all'", "1 = "])
def test_a_wrong_condition_is_said_where_no_capture_has_rows(folders: list[Path], where: str) -> None:
    view = load_views()["pmcarch"]
    assert set(read(folders, metric.metric(view, None, "count", None))) == set(folders)
    assert read(folders, metric.metric(view, None, "count", where)) == {}
