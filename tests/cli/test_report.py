"""The report: whole, on a real capture, line by line; on an empty one; and every view that it names is there to go on with."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from perfcase.cli.main import run
from tests.conftest import Golden
from tests.support.cli import succeed
from tests.support.fakecase import make_case
from tests.support.imports import placed
from tests.support.scale import scaled

ROOT = Path(__file__).parents[2]
SAMPLES = sorted((ROOT / "sample-captures").glob("*/x.perfcase"))


def test_report_of_a_recorded_capture(recorded: Callable[[str], Path], tmp_path: Path, golden: Golden) -> None:
    file = recorded("aarch64/offcpu.data")
    golden("report-aarch64-offcpu.txt", without_rules(succeed("report", file.name, cwd=tmp_path), file))


def test_report_of_a_capture_of_nothing_on_a_page_and_in_a_file(tmp_path: Path, golden: Golden) -> None:
    """In a file it has no colour."""
    case = make_case(tmp_path / "empty.case", {})
    told = succeed("report", "empty.case", cwd=tmp_path)
    golden("report-empty.txt", without_rules(told, case))
    assert succeed("report", "empty.case", "-o", "report.txt", cwd=tmp_path) == ""
    assert (tmp_path / "report.txt").read_text() == told


def without_rules(report: str, file: Path) -> str:
    """A report without the list of rules that were not judged, which every new rule changes. It is what finding_coverage has."""
    (judged, lacking) = re.findall(r"^  (\d+) rules judged, \d+ fired; not judged: (.*)$", report, re.MULTILINE)[0]
    rules = json.loads(succeed("findings", file, "--rules", "--format", "json", "--limit", "0"))
    assert int(judged) == sum(rule["is_judged"] for rule in rules)
    assert lacking.split(", ") == sorted(rule["finding"] for rule in rules if not rule["is_judged"])
    return report.replace(f"  {judged} rules judged", "  … rules judged").replace(lacking, "…")


@pytest.mark.parametrize("sample", SAMPLES[: scaled(2)], ids=lambda path: path.parent.name)
def test_what_the_report_says_to_run_runs(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    placed(sample, tmp_path)
    told = succeed("report", "x.perfcase", cwd=tmp_path)
    commands = re.findall(r"↳ perfcase (.*)", told)
    named = sorted(set(re.findall(r"↳ (?!perfcase )(\w+)\s*$", told, re.MULTILINE)))
    assert len(commands) >= 8
    assert {"load_average", "cpu_summary"} <= set(named)
    commands += [f"view {name} x.perfcase" for name in named]
    monkeypatch.chdir(tmp_path)
    for command in commands:
        assert run([*shlex.split(command), "--limit", "3"]) == 0, command
        # The report also names views that the capture cannot fill: they say why they are empty, what was not judged, or not followed.
        for said in capsys.readouterr().err.splitlines():
            is_empty = f"{command.split()[1]} has no rows: " in said
            is_part = command.startswith("view blame_") and ": not followed to its cause: " in said
            is_unjudged = command.startswith("findings ") and " was not judged: " in said
            assert is_empty or is_part or is_unjudged, (command, said)


def test_the_clock_of_counts_without_busy_time(tmp_path: Path) -> None:
    """perf stat of a command, two intervals: 6e9 cycles in 2 s of task-clock at 3 GHz, 1e9 in 1 s at 1 GHz: 7e9 in 3 s."""
    (tmp_path / "stat.csv").write_text(
        "     1.000000000,6000000000,,cycles,2000000000,100.00,,\n"
        "     1.000000000,2000.00,msec,task-clock,2000000000,100.00,2.000,CPUs utilized\n"
        "     2.000000000,1000000000,,cycles,1000000000,100.00,,\n"
        "     2.000000000,1000.00,msec,task-clock,1000000000,100.00,1.000,CPUs utilized\n"
    )
    told = succeed("report", "stat.csv", cwd=tmp_path)
    (line,) = (line.split() for line in told.splitlines() if line.rstrip().endswith("cycles/task-clock"))
    assert line == ["all", "2.33", "-", "-", "-", "-", "cycles/task-clock"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.parent.name)
def test_info_tells_of_sources_and_members_without_an_import(sample: Path, tmp_path: Path) -> None:
    shutil.copy(sample, tmp_path / "x.perfcase")
    told = succeed("info", "x.perfcase", "--members", cwd=tmp_path)
    for expected in ("recorded at", "kernel", "proc/snapshots", "perf/perf.data", "available"):
        assert expected in told
    assert [path.name for path in tmp_path.iterdir()] == ["x.perfcase"]
    succeed("import", "x.perfcase", cwd=tmp_path)
    again = succeed("info", "x.case", cwd=tmp_path)
    for line in again.split("\n\n")[0].splitlines():
        if not line.startswith(("capture", "clock")):
            assert line.split() in [other.split() for other in told.splitlines()], (
                "the tables say other than the manifest"
            )


def test_processes_of_one_name_that_failed_alike_are_told_apart(tmp_path: Path) -> None:
    """Three of ``ls`` had three equal lines."""
    pids = (70, 71)
    rows = {
        "capture": [{"capture_id": "a", "duration_ns": 10**9}],
        "process": [{"upid": pid, "pid": pid, "name": "ls"} for pid in pids],
        "thread": [{"utid": pid, "upid": pid, "pid": pid, "tid": pid, "comm": "ls"} for pid in pids],
        "syscall": [
            {"utid": pid, "ts_ns": at, "duration_ns": 1, "name": "lgetxattr", "ret": -61, "errno": 61, "errno_name": "ENODATA"}
            for pid in pids
            for at in range(5)
        ],
    }  # fmt: skip
    told = succeed("report", make_case(tmp_path / "x.case", rows))
    lines = [line.split() for line in told.splitlines() if "lgetxattr  ENODATA" in line]
    assert [line[:5] for line in lines[:2]] == [["ls", str(pid), "lgetxattr", "ENODATA", "5"] for pid in pids]
