"""perfcase view --set: the parameters of a view, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query
from perfcase.catalogue.schema import quote
from perfcase.catalogue.views import load_views, parameters
from tests.support.cli import fail, succeed
from tests.support.fakecase import make_case
from tests.support.imports import SAMPLES, imported


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    calls = [
        {"utid": 1, "name": name, "ts_ns": n, "exit_ts_ns": n + ns, "duration_ns": ns, "ret": 0, "pairing": "strict"}
        for n, (name, ns) in enumerate([("read", 5_000_000), ("write", 50_000_000)])
    ]  # fmt: skip
    rows = {
        "thread": [{"utid": 1, "tid": 7}],
        "syscall": calls,
        "source": [{"source_id": 0, "name": "ftrace", "is_syscall_source": True}],
    }
    return make_case(tmp_path_factory.mktemp("set") / "x.case", rows)


def names(case: Path, *options: str) -> list[str]:
    return sorted(row["name"] for row in json.loads(succeed("view", "slow_syscalls", case, "-f", "json", *options)))


def test_a_threshold(case: Path) -> None:
    assert names(case) == ["write"]
    assert names(case, "--set", "slow_syscall_ns=1e6") == ["read", "write"]
    assert names(case, "--set", "slow_syscall_ns=60000000", "--where", "tid = 7") == []


def test_what_is_no_parameter(case: Path) -> None:
    assert fail(2, "view", "slow_syscalls", case, "--set", "case_dir=1").endswith(
        "slow_syscalls has no parameter case_dir (it has slow_syscall_ns)"
    )
    assert fail(2, "view", "thread_time", case, "--set", "x=1").endswith("thread_time has no parameter x (it has none)")
    for value in ("slow_syscall_ns", "slow_syscall_ns=", "slow_syscall_ns=1; DROP", "slow_syscall_ns=inf",
                  "slow_syscall_ns=1e19", f"slow_syscall_ns={2**63}", f"slow_syscall_ns={'9' * 400}", f"slow_syscall_ns={'9' * 5000}"):  # fmt: skip
        assert fail(2, "view", "slow_syscalls", case, "--set", value).endswith("not NAME=NUMBER (a number below 2^63)")


@pytest.mark.parametrize("number", ["-9223372036854775808", "-1", "0", "0.5", "9223372036854775807"])
def test_every_number_is_one(number: str) -> None:
    """A view answers whatever its parameter is: nothing overflows."""
    views = load_views()
    asked = [(name, parameter) for name in views for parameter in parameters({name: views[name]}, name)]
    assert len(asked) >= 30
    failed = {}
    with query.connect(imported(SAMPLES / "d-nagle" / "pipe.perfcase").folder) as connection:
        for name, parameter in asked:
            connection.execute(f"SET VARIABLE {parameter} = {number}").fetchall()
            try:
                connection.execute(f"SELECT * FROM {quote(name)}").fetchall()
            except duckdb.Error as error:
                failed[name, parameter] = str(error).splitlines()[0]
            connection.execute(f"RESET VARIABLE {parameter}").fetchall()
    assert failed == {}


def test_every_parameter_is_told_in_the_header() -> None:
    views = load_views()
    for name in views:
        own = parameters({name: views[name]}, name)
        header = views[name].path.read_text(encoding="utf-8").partition("\nWITH ")[0]
        assert [parameter for parameter in own if parameter not in header] == [], name
