"""What a user writes in SQL is bounded before DuckDB parses it, and an error says what is allowed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from perfcase.case import sql_bounds
from perfcase.errors import PerfcaseError
from perfcase.fleet.condition import is_of_columns
from tests.support.cli import fail, succeed
from tests.support.fakecase import make_case

SOON_S = 5.0
"""An answer takes a tenth of it, and took four times as much before there were bounds."""
PEAK_MIB = 500
"""It takes a third of it, and took 1,500 before there were bounds."""
TOO_DEEP = "brackets are in brackets more than 100 deep; 100 are allowed (see whether each is closed; a part of it can be a WITH)"
WITH_TOO_DEEP = (
    "a WITH is in the brackets of a WITH more than 4 deep; 4 are allowed"
    " (one WITH can have many parts: WITH a AS (…), b AS (SELECT … FROM a) SELECT … FROM b)"
)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_case(tmp_path_factory.mktemp("bounds") / "x.case", {"thread": [{"utid": 1, "tid": 7}]})


def peak_mib(*words: str | Path) -> int:
    """The MiB that a command of its own takes: not those of the process that began it, which getrusage(2) counts."""
    code = (
        "import re, sys, pathlib, perfcase.cli.main as m\n"
        "try:\n    sys.argv = ['perfcase', *sys.argv[1:]]; m.main()\n"
        "finally:\n    print(int(re.search(r'VmHWM:\\s+(\\d+)', pathlib.Path('/proc/self/status').read_text())[1]) // 1024)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=False, timeout=120
    )
    return int(told.stdout.split()[-1])


def test_open_brackets_cost_nothing(case: Path) -> None:
    """3,000 took 22 s and 1.5 GB."""
    for words in (("view", "thread", case, "--where", "(" * 3000), ("sql", case, "SELECT " + "(" * 3000)):
        assert peak_mib(*words) < PEAK_MIB, words[0]


@pytest.mark.parametrize("opened", ["(", "[", "{'a': ", "abs(", "(SELECT ", "CASE WHEN ("])
def test_what_is_too_deep(case: Path, opened: str) -> None:
    deep = opened * 110
    assert fail(5, "sql", case, f"SELECT {deep}").endswith(TOO_DEEP)
    assert fail(5, "view", "thread", case, "--where", deep).endswith(TOO_DEEP)


@pytest.mark.parametrize(
    "words",
    [
        ("view", "thread"),
        ("history", "--view", "thread_time", "--measure", "on_cpu_ns", "--agg", "sum"),
        ("flamegraph", "--off-cpu", "-o", "-"),
    ],
)
def test_each_condition_is_bounded(case: Path, words: tuple[str, ...]) -> None:
    for deep, wanted in (("(" * 3000, TOO_DEEP), ("(WITH q AS (" * 30, WITH_TOO_DEEP)):
        begin = time.monotonic()
        assert wanted in fail(5, *words, case, "--where", deep)
        assert time.monotonic() - begin < SOON_S


def test_a_with_in_the_brackets_of_a_with(case: Path) -> None:
    """Eight of them, in 96 characters, took 24 s; ten take half an hour, and nothing ends it."""
    for tail in ("", "SELECT 1", "SELECT 1 1" + ") SELECT 1" * 20):
        assert fail(5, "sql", case, "WITH q AS (" * 20 + tail).endswith(WITH_TOO_DEEP), tail
        assert fail(5, "sql", case, "with Q as materialized(" * 20 + tail).endswith(WITH_TOO_DEEP), tail
    deepest = "WITH q AS (" * 4 + "SELECT 1 AS one" + ") FROM q" * 4
    assert succeed("sql", case, deepest, "-f", "csv").split() == ["one", "1"]
    side_by_side = "WITH " + ", ".join(f"a{n} AS (WITH b AS (SELECT {n} AS n) FROM b)" for n in range(50)) + " FROM a49"
    assert succeed("sql", case, side_by_side, "-f", "csv").split() == ["n", "49"]


def test_what_is_allowed(case: Path) -> None:
    """As deep as is said; brackets and words in strings, names and comments are none."""
    deepest = "(" * 100 + "tid" + ")" * 100
    assert succeed("sql", case, f"SELECT {deepest} AS tid FROM thread", "-f", "csv").split() == ["tid", "7"]
    assert succeed("view", "thread", case, "-f", "csv", "--where", f"{deepest} = 7").count("\n") == 2
    many = "(" * 3000
    for harmless in (f"'{many}'", f"/* {many} */ 1", f"1 -- {many}\n", f"$x${many}$x$", f"E'\\'{many}'", f"'é{many}'",
                     "'" + "with " * 3000 + "'", "[" + "(1)," * 3000 + "(1)]"):  # fmt: skip
        assert succeed("sql", case, f"SELECT count({harmless}) AS n", "-f", "csv").split() == ["n", "1"]
    assert succeed("sql", case, f'SELECT 1 AS "{many}"', "-f", "csv").split() == [many, "1"]


def test_text_that_hides_brackets_from_a_simple_reader() -> None:
    """Strings end where DuckDB ends them."""
    for hidden in ("SELECT E'\\'' || ", "SELECT '''' || ", "SELECT $$ ' $$ || ", "SELECT 1 /* /* */ */ + ",
                   "SELECT é, '(' || ", 'SELECT "a""" || '):  # fmt: skip
        with pytest.raises(PerfcaseError, match="more than 100 deep"):
            sql_bounds.check(hidden + "(" * 200)


def test_what_is_too_long(case: Path) -> None:
    long = "tid IN (" + ", ".join(map(str, range(3000))) + ")"
    assert fail(2, "view", "thread", case, "--where", long).endswith(
        f"where: {len(long):,} characters; 10,000 are allowed (make it shorter)"
    )
    assert succeed("sql", case, f"SELECT tid FROM thread WHERE {long}", "-f", "csv").split() == ["tid", "7"]
    assert "sql: 100,007 characters; 100,000 are allowed" in fail(2, "sql", case, "SELECT " + "1" * 100_000)


def test_deep_and_long_statements_are_answered_or_refused(case: Path) -> None:
    """None takes long, or ends in another error than one of SQL."""
    for sql in (
        "SELECT " + "CASE WHEN 1=1 THEN " * 2000 + "1" + " END" * 2000,
        "SELECT " + "NOT " * 20_000 + "true",
        "SELECT " + "- " * 40_000 + "1",
        "SELECT 1" + " + 1" * 20_000,
        "SELECT " + "x," * 20_000,
        ";".join(["SELECT 1"] * 10_000),
        "SELECT * FROM thread " + " ".join(f"JOIN t{n} USING (a)" for n in range(4000)),
        "FROM thread" + " JOIN thread" * 7000,
    ):
        begin = time.monotonic()
        fail(5, "sql", case, sql)
        assert time.monotonic() - begin < SOON_S, sql[:40]


def test_a_query_in_the_place_of_the_file(case: Path) -> None:
    """It is longer than a name may be: that is no fault of perfcase."""
    told = fail(6, "sql", "SELECT " + "tid, " * 2000, case)
    assert told.endswith("…: no such file: no name is so long (FILE comes first)")
    assert len(told) < 200


def test_a_condition_of_a_history_is_not_parsed_where_it_is_too_deep() -> None:
    begin = time.monotonic()
    assert not is_of_columns("(" * 900, {"tid"})
    assert not is_of_columns("(WITH q AS (" * 60, {"tid"})
    assert is_of_columns("(" * 50 + "tid = 1" + ")" * 50, {"tid"})
    assert time.monotonic() - begin < SOON_S
