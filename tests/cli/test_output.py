"""Results in every format, exactly; hostile text; errors and their exit codes."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query
from perfcase.cli.main import COMMANDS, build_app
from perfcase.errors import EXIT_CODES
from tests.support.cli import PERFCASE, fail, perfcase, succeed
from tests.support.fakecase import make_case

HOSTILE = "a\x1b[2J\x1b]0;owned\x07[red]b[/red]\n\u202ec"


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    threads = [
        {"utid": 1, "tid": 10, "pid": 10, "comm": "plain"},
        {"utid": 2, "tid": 11, "pid": 10, "comm": HOSTILE},
        {"utid": 3, "tid": 12, "pid": None, "comm": None},
    ]
    return make_case(tmp_path_factory.mktemp("case") / "x.case", {"thread": threads})


SQL = "SELECT utid, comm, utid / 4 AS share, [utid, NULL] AS list, utid > 1 AS flag FROM thread ORDER BY utid"


def test_table(case: Path) -> None:
    lines = [line.rstrip() for line in succeed("sql", case, SQL).splitlines()]
    assert lines[0].split() == ["utid", "comm", "share", "list", "flag"]
    assert lines[2].split() == ["1", "plain", "0.25", "[1,", "null]", "false"]
    assert lines[3].startswith("   2   a\\e[2J\\e]0;owned\\x07[red]b[/red]\\n\\u202ec   ")
    assert lines[4].split() == ["3", "NULL", "0.75", "[3,", "null]", "true"]
    assert lines[5] == "3 rows"


def test_csv(case: Path) -> None:
    assert succeed("sql", case, SQL, "--format", "csv") == (
        "utid,comm,share,list,flag\n"
        '1,plain,0.25,"[1, null]",false\n'
        f'2,"{HOSTILE}",0.5,"[2, null]",true\n'
        '3,,0.75,"[3, null]",true\n'
    )


def test_json(case: Path) -> None:
    assert json.loads(succeed("sql", case, SQL, "-f", "json")) == [
        {"utid": 1, "comm": "plain", "share": 0.25, "list": [1, None], "flag": False},
        {"utid": 2, "comm": HOSTILE, "share": 0.5, "list": [2, None], "flag": True},
        {"utid": 3, "comm": None, "share": 0.75, "list": [3, None], "flag": True},
    ]
    numbers = "SELECT 'nan'::DOUBLE AS a, 1.5::DECIMAL(4, 2) AS b, 1 AS a, 'x'::BLOB AS c"
    assert json.loads(succeed("sql", case, numbers, "-f", "json")) == [{"a": None, "b": 1.5, "a_1": 1, "c": "78"}]
    assert json.loads(succeed("sql", case, "SELECT 1 WHERE false", "-f", "json")) == []


def test_parquet_and_arrow(case: Path, tmp_path: Path) -> None:
    with query.connect(case) as connection:
        expected = connection.execute(SQL).fetchall()
    succeed("sql", case, SQL, "-f", "parquet", "-o", tmp_path / "x.parquet")
    assert duckdb.connect().sql(f"FROM '{tmp_path}/x.parquet'").fetchall() == expected
    from nanoarrow import ArrayStream

    piped = subprocess.run([PERFCASE, "sql", case, SQL, "-f", "arrow"], capture_output=True, check=True).stdout
    array = ArrayStream.from_readable(io.BytesIO(piped)).read_all()
    assert [tuple(row.values()) for row in array.to_pylist()] == [tuple(row) for row in expected]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.parquet"]


def test_output_replaces_a_file_only_when_all_went_well(case: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    out.write_text("old")
    fail(5, "sql", case, "SELECT error('no') FROM thread", "-f", "csv", "-o", out)
    assert out.read_text() == "old"
    assert succeed("sql", case, "SELECT 1 AS a", "-f", "csv", "-o", out) == ""
    assert out.read_text() == "a\n1\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def on_a_terminal(*arguments: object) -> bytes:
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "300"}
    child = subprocess.Popen([PERFCASE, *map(str, arguments)], stdout=theirs, stderr=theirs, stdin=theirs, env=env)
    os.close(theirs)
    seen = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
    child.wait()
    os.close(ours)
    return seen


def test_a_terminal_never_sees_what_a_thread_calls_itself(case: Path) -> None:
    for fmt in ("table", "csv", "json"):
        seen = on_a_terminal("view", "thread", case, "--format", fmt)
        assert b"plain" in seen
        assert b"\x1b[2J" not in seen
        assert b"\x1b]0;owned" not in seen
        assert "\u202e".encode() not in seen
        assert b"[red]b[/red]" in seen


def test_colour_is_for_terminals_only(case: Path) -> None:
    assert b"\x1b[" in on_a_terminal("report", case)
    assert "\x1b" not in succeed("report", case)
    assert b"is binary" in on_a_terminal("view", "thread", case, "--format", "parquet")


def test_view_takes_a_condition_an_order_and_a_limit(case: Path) -> None:
    told = succeed("view", "thread", case, "-w", "utid > 1 -- all", "--order", "utid DESC", "-n", "1", "-f", "csv")
    assert [line.split(",")[0] for line in told.splitlines()] == ["utid", "3"]
    assert "3 rows" in succeed("view", "thread", case)


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("COPY thread TO '/tmp/perfcase-escape'", "COPY is not allowed"),
        ("ATTACH '/tmp/perfcase-escape.db'", "ATTACH is not allowed"),
        ("SELECT 1; SELECT 2", "expected one statement, found 2"),
        ("", "expected one statement, found 0"),
        ("EXPLAIN ANALYZE COPY thread TO '/tmp/perfcase-escape'", "EXPLAIN is not allowed"),
        ("SET enable_external_access = true", "SET is not allowed"),
        ("INSTALL httpfs", "not allowed"),
        ("CREATE TABLE t AS SELECT 1", "CREATE is not allowed"),
        ("SELECT * FROM read_text('/etc/passwd')", "Permission Error"),
        ("SELECT * FROM read_csv('/etc/passwd')", "Permission Error"),
        ("FROM glob('/etc/*')", "Permission Error"),
        ("SELECT nothing FROM thread", 'column "nothing" not found'),
        ("SELEC 1", "syntax error"),
    ],
)
def test_sql_reads_the_capture_and_nothing_else(case: Path, sql: str, told: str) -> None:
    assert told in fail(5, "sql", case, sql)
    assert not list(Path("/tmp").glob("perfcase-escape*"))


def test_sql_from_standard_input(case: Path) -> None:
    done = subprocess.run(
        [PERFCASE, "sql", case, "-", "-f", "csv"], input="SELECT 7 AS a", capture_output=True, text=True
    )
    assert done.stdout == "a\n7\n"


def test_names_that_do_not_exist_are_met_with_those_that_do(case: Path) -> None:
    assert fail(6, "view", "thread_tim", case).startswith("there is no view thread_tim (did you mean thread_time")
    assert "did you mean thread_state" in fail(6, "tables", "thread_stat")
    assert "perfcase views lists them" in fail(6, "views", "zzzz")
    assert "see perfcase --help" in fail(2, "nonsense")
    assert "see perfcase sql --help" in fail(2, "sql")


def test_every_command_teaches_by_example() -> None:
    for command in COMMANDS:
        if command != "record":  # the recorder's own
            assert f"Example: perfcase {command} " in succeed(command, "--help").replace("\n  ", " ")
    told = succeed("--help").replace("\n  ", " ")
    for code in EXIT_CODES.values():
        assert f"{code} " in told


def test_the_list_of_commands_loads_none_of_them() -> None:
    """To load them all takes longer than a question to a capture; and it says what it would say then."""
    loaded = "sys.stderr.write(' '.join(name for name in sys.modules if name.endswith('_command') or name == 'duckdb'))"
    for words in ([], ["--help"], ["-h"], ["--version"]):
        code = f"import sys\nfrom perfcase.cli.main import run\ncode = run({words})\n{loaded}\nsys.exit(code)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stderr == ""
        with redirect_stdout(io.StringIO()) as whole:
            build_app()(args=words, prog_name="perfcase", standalone_mode=False)
        assert done.stdout == whole.getvalue()
        assert words == ["--version"] or all(f"  {command} " in done.stdout for command in COMMANDS)


def test_a_fault_of_ours_is_one_line_too(case: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.case"
    (broken / "tables").mkdir(parents=True)
    (broken / "import.json").write_text("[]")
    assert "import the capture again" in fail(3, "report", broken)
    done = perfcase("views", PYTHONPATH=str(tmp_path), COLUMNS="x")
    assert done.returncode == 0


def test_a_reader_that_has_seen_enough_ends_us_without_a_word(case: Path) -> None:
    script = f"{PERFCASE} sql {case} 'FROM range(1000000)' -f csv | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGPIPE, "range\n", "")


def test_a_dash_is_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: Callable[[str], Path]
) -> None:
    """Every command that writes a table or a page: ``-o -`` makes no file with this name."""
    file = str(sample("d-nagle/tcp"))
    monkeypatch.chdir(tmp_path)
    for command in (
        ["view", "thread", file], ["sql", file, "SELECT 1"], ["findings", file, "-f", "csv"], ["report", file],
        ["history", file], ["diff", file, "--a", "0s..1s", "--b", "1s..2s", "--view", "thread_time"],
    ):  # fmt: skip
        done = perfcase(*command, "-o", "-")
        assert done.returncode == 0
        assert done.stdout.strip()
    assert list(tmp_path.iterdir()) == []
