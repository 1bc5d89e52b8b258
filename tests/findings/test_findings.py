"""Every rule of schema/findings: its form, and what it says of real captures, which the head of its test names; test_rules.py has the hand-worked rows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query
from perfcase.case.kept import have_findings
from perfcase.catalogue.rules import COLUMNS, MORE_COLUMNS, SEVERITIES, load_rules
from perfcase.catalogue.schema import load_catalogue, load_tables
from perfcase.catalogue.views import load_views, parsed, referenced_names
from perfcase.cli.main import COMMANDS
from perfcase.errors import FOUND
from tests.support import viewtest
from tests.support.cli import perfcase
from tests.support.fakecase import make_case
from tests.support.imports import imported

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RULES = load_rules()
NAMES = sorted(RULES)
IDLE = "tests/data/captures/idle.perfcase"


def head(name: str) -> dict[str, str]:
    """``# key: text`` lines that a rule's test begins with: the captures that fire it and do not, and why one is missing."""
    lines = takewhile(
        lambda line: line.startswith("#"), (HERE / f"{name}.test").read_text(encoding="utf-8").splitlines()
    )
    return dict(found.groups() for line in lines if (found := re.fullmatch(r"# (fires|silent|unseen): (.+)", line)))


HEADS = {name: head(name) for name in NAMES}
MADE = re.compile(r" \(made: .+\)$")
"""What stands in for a recording: no recording, or not as it was recorded."""


def captures(kind: str) -> list[tuple[str, str]]:
    return [(name, MADE.sub("", told[kind])) for name, told in HEADS.items() if kind in told]


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_has_cases_that_fire_and_cases_that_do_not(name: str) -> None:
    queries = [
        q
        for path in (HERE / f"{name}.test", *HERE.glob(f"{name}.*.test"))
        for case in viewtest.parse(path)
        for q in case.queries
        if re.search(rf"\b{name}\b", q.sql)
    ]
    assert [q for q in queries if q.rows]
    assert [q for q in queries if not q.rows]


def test_every_test_is_of_a_rule() -> None:
    paths = [path.stem for path in HERE.glob("*.test")]
    assert sorted(stem for stem in paths if "." not in stem) == NAMES
    assert {stem.split(".")[0] for stem in paths} == set(NAMES)
    seen = {n for n, told in HEADS.items() if all(k in told and not MADE.search(told[k]) for k in ("fires", "silent"))}
    assert sorted(set(NAMES) - seen) == sorted(name for name, told in HEADS.items() if "unseen" in told)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_case(tmp_path_factory.mktemp("empty") / "empty.case", {})


@pytest.fixture(scope="module")
def nothing(empty: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with query.connect(empty) as connection:
        yield connection


@pytest.mark.parametrize("name", NAMES)
def test_form(name: str, nothing: duckdb.DuckDBPyConnection) -> None:
    rule = RULES[name]
    cursor = nothing.execute(f"SELECT * FROM (\n{rule.sql}\n)")
    columns = {column[0]: str(column[1]) for column in cursor.description}
    assert list(columns)[: len(COLUMNS)] == list(COLUMNS)
    assert columns.items() <= (COLUMNS | MORE_COLUMNS).items()
    assert ("about" in columns) == bool(rule.about)
    assert cursor.fetchall() == [], "it fires on nothing"
    assert nothing.execute(rule.evidence).fetchall() == []
    assert not set(rule.evidence) & set('"$`\\!'), "the report quotes it for a shell"
    if rule.judged_when:
        assert nothing.execute(rule.judged_when).fetchall() in ([(False,)], [(None,)], [])
    known = {*load_tables(), *load_catalogue(), *load_views()}
    assert name not in known
    steps = {entry["key"] for entry in (parsed(rule.view())["node"].get("cte_map") or {}).get("map", ())}
    assert "threshold" in steps, "the thresholds stand in the first step"
    assert not steps & known, "a step must not hide a view: the view finding holds all rules"
    for told in re.findall(r"perfcase (\w+)(?: (\w+))?", " ".join(rule.next)):
        assert told[0] in COMMANDS, told
        assert told[0] != "view" or told[1] in known, told
    assert sorted(rule.sources) == sorted(referenced_names(rule.view())), (
        "the header's 'source' is not what the SELECT reads"
    )
    assert known.issuperset(rule.sources)


def test_nothing_is_judged_on_nothing_and_it_says_why(empty: Path, nothing: duckdb.DuckDBPyConnection) -> None:
    rows = nothing.execute("SELECT finding, is_judged, missing FROM finding_coverage").fetchall()
    assert [row[0] for row in rows] == NAMES
    assert [row for row in rows if row[1] is not False or not row[2]] == []
    done = perfcase("findings", empty)
    assert done.returncode == 0
    assert "0 rules judged, 0 fired" in done.stdout
    assert done.stdout.count("not judged: ") >= 1


@pytest.mark.parametrize(("name", "capture"), captures("fires"))
def test_a_real_capture_fires_it(name: str, capture: str) -> None:
    with query.connect(imported(ROOT / capture).folder) as connection:
        rows = connection.execute(f"SELECT * FROM (\n{RULES[name].sql}\n)").fetchall()
        assert rows
        assert {row[0] for row in rows} <= set(SEVERITIES)
        assert [row for row in rows if not row[1] or not row[2]] == []
        assert connection.execute(RULES[name].evidence).fetchone()


@pytest.mark.parametrize(("name", "capture"), captures("silent"))
def test_a_real_capture_does_not_fire_it(name: str, capture: str) -> None:
    with query.connect(imported(ROOT / capture).folder) as connection:
        assert connection.execute(f"SELECT * FROM (\n{RULES[name].sql}\n)").fetchall() == []
        judged = connection.execute("SELECT is_judged FROM finding_coverage WHERE finding = ?", [name]).fetchall()
        assert judged == [(True,)], "a rule without data proves nothing if it does not fire"


def test_it_tells_a_stall_of_200_ms() -> None:
    with query.connect(imported(ROOT / "tests/data/findings/stall200.perfcase.xz").folder) as connection:
        rows = connection.execute(f"SELECT severity, message FROM (\n{RULES['delayed_ack'].sql}\n)").fetchall()
    assert rows == [
        (
            "critical",
            "25 of 25 exchanges that were written in several pieces waited 202.9 ms on average for the answer, as long as"
            " an acknowledgement that is delayed by 200 ms (or a segment that was lost): 5.07 s, 89.1 % of the time of"
            " 1 socket to 10.9.0.2:7777; the last piece went out by sendto",
        )
    ]


def test_who_was_only_woken_did_not_wait_for_a_cpu() -> None:
    """A perf.data of one process saw another one get a CPU once, a second after it was woken. It ran all that time."""
    with query.connect(imported(ROOT / "tests/data/findings/woken.data.xz").folder) as connection:
        have_findings(connection)  # a rule at a time, as the commands do: all in one plan take much memory
        assert connection.execute("SELECT * FROM finding").fetchall() == []
        asked = "SELECT sum(duration_ns) FROM followed_state WHERE state LIKE 'runnable%'"
        levels = "SELECT sum(waiting_count * duration_ns) FROM cpu_level"
        assert connection.execute(f"{asked} UNION ALL {levels}").fetchall() == [(236105,)] * 2


def test_nothing_fires_on_an_idle_machine() -> None:
    with query.connect(imported(ROOT / IDLE).folder) as connection:
        have_findings(connection)  # a rule at a time, as the commands do: all in one plan take much memory
        assert connection.execute("SELECT * FROM finding").fetchall() == []
        judged = connection.execute("SELECT count(*) FILTER (is_judged) FROM finding_coverage").fetchone()[0]
    assert judged >= 7


def test_exit_codes_and_the_view() -> None:
    case = imported(ROOT / HEADS["cpu_saturation"]["fires"]).folder
    done = perfcase("findings", case, "--format", "csv")
    assert done.returncode == 0
    assert done.stdout.startswith(
        "finding,severity,subject,message,cost_ns,score,follows_from,title,means,next,evidence\n"
    )
    assert perfcase("findings", case, "--fail-on", "warning").returncode == FOUND
    assert perfcase("findings", case, "--fail-on", "critical").returncode == 0
    assert perfcase("findings", case, "--rules").returncode == 0
    told = perfcase("findings", case).stdout
    for line in re.findall(r"↳ perfcase (sql .*)", told):
        assert perfcase(*shlex.split(line), "--limit", "1").returncode == 0, line


def test_fail_on_counts_what_is_as_severe_only(empty: Path) -> None:
    assert perfcase("findings", empty, "--fail-on", "note").returncode == 0
    assert perfcase("findings", empty, "--fail-on", "fatal").returncode == 2
