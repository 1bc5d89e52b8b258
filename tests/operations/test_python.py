"""A capture in Python returns what the commands print."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import perfcase
from perfcase.errors import PerfcaseError
from tests.support.cli import run_here, succeed


@pytest.fixture(scope="module")
def file(sample: Callable[[str], Path]) -> Path:
    return sample("d-nagle/tcp")


def rows(*command: object) -> list[dict]:
    """Return what a command prints as JSON."""
    code, out, said = run_here(list(map(str, [*command, "--format", "json"])))
    assert code == 0, said
    return json.loads(out)


def as_rows(relation: object) -> list[dict]:
    names = relation.columns  # type: ignore[attr-defined]
    return [dict(zip(names, row, strict=True)) for row in relation.fetchall()]  # type: ignore[attr-defined]


def test_it_is_a_connection_too(file: Path) -> None:
    with perfcase.open(file) as case:
        assert (
            case.sql("SELECT count(*) FROM thread").fetchall() == case.execute("SELECT count(*) FROM thread").fetchall()
        )
        assert case.table("thread").columns == case.connection.table("thread").columns
        assert {"sql", "findings", "fetchall"} <= set(dir(case))
        assert isinstance(case, perfcase.Case)
        with pytest.raises(AttributeError):
            case.nothing()


def test_findings_and_views(file: Path) -> None:
    with perfcase.open(file) as case:
        assert as_rows(case.findings()) == rows("findings", file)
        assert as_rows(case.findings(rules=True, limit=3)) == rows("findings", file, "--rules", "--limit", 3)
        found = case.view("tcp_stalls", where="comm = 'order-client'", order="ts_ns", limit=2)
        printed = rows("view", "tcp_stalls", file, "-w", "comm = 'order-client'", "--order", "ts_ns", "-n", 2)
        assert as_rows(found.project("utid, ts_ns, gap_ns")) == [
            {name: row[name] for name in ("utid", "ts_ns", "gap_ns")} for row in printed
        ]
        whole = case.view("slow_syscalls").fetchall()
        more = case.view("slow_syscalls", settings=["slow_syscall_ns=1"])
        assert as_rows(more) == rows("view", "slow_syscalls", file, "--set", "slow_syscall_ns=1", "-n", 0)
        assert len(more.fetchall()) > len(whole)
        assert case.view("slow_syscalls").fetchall() == whole
        with pytest.raises(PerfcaseError, match="did you mean thread_time"):
            case.view("thread_tim")
        with pytest.raises(PerfcaseError, match="nothing"):
            case.findings(nothing=1)


def test_pages_and_pictures(file: Path, tmp_path: Path) -> None:
    part = ["--only", "process=order-client"]
    with perfcase.open(file, only=["process=order-client"]) as case:
        assert case.report() == succeed("report", file, *part)
        assert case.summary() == succeed("summary", file, *part, "--to", "md", "-o", "-")
        assert case.flamegraph(off_cpu=True) == succeed("flamegraph", file, *part, "--off-cpu", "-o", "-")
        assert case.info() == json.loads(succeed("info", file, "--json"))
        assert case.export("csv", tmp_path / "out", view=["thread"]) == tmp_path / "out"
    run_here(["export", str(file), *part, "--to", "csv", "--view", "thread", "-o", str(tmp_path / "printed")])
    made, printed = ((tmp_path / name / "tables" / "thread.csv").read_text() for name in ("out", "printed"))
    assert made == printed


def test_diffs(file: Path, sample: Callable[[str], Path]) -> None:
    pipe = sample("d-nagle/pipe")
    view = ["--view", "thread_time"]
    with perfcase.open(file) as a, perfcase.open(pipe) as b:
        whole = rows("diff", file, pipe, *view, "--limit", 5)["differences"]
        assert [row["score"] for row in as_rows(a.diff(b, view="thread_time", limit=5))] == [
            row["score"] for row in whole
        ]
        assert as_rows(a.diff(pipe, view="thread_time", limit=1))[0]["key"] == whole[0]["key"]
        parts = rows("diff", file, "--a", "0s..1s", "--b", "1s..2s", *view)["differences"]
        found = as_rows(a.diff(a_window="0s..1s", b_window="1s..2s", view="thread_time"))
        assert [row["score"] for row in found] == [row["score"] for row in parts]
        with pytest.raises(PerfcaseError, match="nothing to compare with"):
            a.diff()
        first, second = (perfcase.open(file, only=[f"window={part}"]) for part in ("0s..1s", "1s..2s"))
        assert as_rows(first.diff(second, view="thread_time")) == found
        with pytest.raises(PerfcaseError, match="are different parts"):
            a.diff(perfcase.open(pipe, only=["process=order-client"]))


def test_history(file: Path) -> None:
    asked = {"view": "thread_time", "measure": "switch_count"}
    printed = rows("history", file, "--view", asked["view"], "-m", asked["measure"])
    assert as_rows(perfcase.history(file, **asked)) == printed
    assert as_rows(perfcase.history([file])) == rows("history", file)
    with pytest.raises(PerfcaseError, match="no such folder"):
        perfcase.history(file / "nothing")
    with pytest.raises(PerfcaseError, match="needs a folder"):
        perfcase.history([])


def test_a_query_of_the_findings_works_them_out_a_rule_at_a_time(file: Path) -> None:
    """All rules in one plan need more memory than a connection may have."""
    asked = "SELECT finding, subject FROM finding"
    with perfcase.open(file) as case:
        assert case.sql(asked).fetchall() == case.findings().project("finding, subject").fetchall() != []
        assert case.execute(f"{asked} WHERE severity = $1", ["critical"]).fetchall() == [
            row[1:] for row in case.findings().project("severity, finding, subject").fetchall() if row[0] == "critical"
        ]
        assert (
            len(case.connection.execute("SELECT * FROM duckdb_tables() WHERE table_name = 'finding'").fetchall()) == 1
        )
