"""Every command that reads a capture, on one sample: it answers, and says nothing else. What they answer, their own tests hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfcase.cli.main import COMMANDS
from tests.support.cli import perfcase
from tests.support.imports import SAMPLES, placed

FILE = "tcp.perfcase"
ASKED = {
    "import": ([FILE], "imported before"),
    "info": ([FILE], "kernel"),
    "report": ([FILE], "Threads: running, waiting for a CPU, sleeping"),
    "findings": ([FILE], "critical  "),
    "diff": ([FILE, "--a", "0s..1s", "--b", "1s..2s", "--view", "thread_time"], "What changed most"),
    "summary": ([FILE, "--to", "md", "-o", "-"], "# "),
    "sql": ([FILE, "SELECT count(*) > 0 AS many FROM thread"], "true"),
    "view": (["thread_time", FILE], "order-client"),
    "views": (["thread_time"], "on_cpu_ns"),
    "tables": (["thread"], "utid"),
    "events": ([FILE, "--limit", "1"], ": "),
    "annotate": (["__traceiter_sched_switch", FILE], "sample_count"),
    "flamegraph": ([FILE, "--off-cpu", "-o", "-"], "<svg"),
    "export": ([FILE, "--to", "folded"], ";"),
    "history": ([".", "--format", "json"], FILE),
}
ELSEWHERE = {"fleet", "record", "symbolize", "redact", "reveal", "attach", "open", "serve"}
"""Commands that need a host, a cluster, other files or a key, or are a server."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return placed(SAMPLES / "d-nagle" / FILE, tmp_path_factory.mktemp("sample")).parent


@pytest.mark.parametrize("command", ASKED)
def test_it_answers(command: str, folder: Path) -> None:
    arguments, expected = ASKED[command]
    done = perfcase(command, *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
    said = ("not in the folded export: ", "no instruction's text: ")
    notes = [line for line in done.stderr.splitlines() if not any(text in line for text in said)]
    assert notes == []


def test_rows_are_rows(folder: Path) -> None:
    done = perfcase("view", "thread_time", FILE, "--format", "json", cwd=folder)
    assert {"order-client"} <= {row["comm"] for row in json.loads(done.stdout)}


def test_no_command_is_left_out() -> None:
    assert sorted([*ASKED, *ELSEWHERE]) == sorted(COMMANDS)
