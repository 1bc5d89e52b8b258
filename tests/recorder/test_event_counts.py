"""perfcase-helper counts events where perf is absent: what perf stat counts of the same command at the same time."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.recorder.events import held, let_go, wait_for
from tests.recorder.support import control_group, helper

EVENTS = ["context-switches", "cpu-migrations", "page-faults", "task-clock"]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root counts other processes")
WORK = """
import os, subprocess, threading, time
for _ in range(100):
    time.sleep(0.002)
subprocess.run(["/bin/true"])
thread = threading.Thread(target=time.sleep, args=(0.01,))
thread.start()
thread.join()
sum(range(3_000_000))
"""


def start(folder: Path, scope: str, *, group: str = "", interval_ns: int = 50_000_000) -> subprocess.Popen:
    (folder / "groups").write_text("".join(f"{event}\n" for event in EVENTS))
    files = [folder / "groups", folder / "zero", folder / "ready"]
    counting = subprocess.Popen([helper(), "counts", folder / "counts.csv", scope, group, str(interval_ns), *files])
    wait_for(folder / "ready", "ready", counting)
    return counting


def end(counting: subprocess.Popen) -> None:
    counting.send_signal(signal.SIGINT)
    assert counting.wait(timeout=30) == 0


def lines(path: Path) -> list[list[str]]:
    return [line.strip().split(",") for line in path.read_text().splitlines() if line.strip() and line[0] != "#"]


def totals(path: Path) -> dict[str, float]:
    """The sum of each event over all intervals."""
    found: Counter[str] = Counter()
    for _time, value, _unit, event, *_rest in lines(path):
        found[event] += 0 if value[0] == "<" else float(value)
    return dict(found)


@needs_root
@pytest.mark.skipif(not shutil.which("perf"), reason="perf is not installed")
def test_it_counts_what_perf_stat_counts(tmp_path: Path) -> None:
    """A command with a child and a thread."""
    theirs = tmp_path / "theirs.csv"
    with held(sys.executable, "-c", WORK) as target:
        words = ["perf", "stat", "-I", "50", "-x,", "-e", ",".join(EVENTS), "-p", str(target.pid), "-o", theirs]
        perf = subprocess.Popen(words)
        counting = start(tmp_path, str(target.pid))
        # its first line: it counts
        deadline = time.monotonic() + 30
        while not theirs.exists() or "task-clock" not in theirs.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        let_go(target)
        target.wait(timeout=30)
        end(counting)
        perf.send_signal(signal.SIGINT)
        perf.wait(timeout=30)
    ours, expected = totals(tmp_path / "counts.csv"), totals(theirs)
    assert list(ours) == EVENTS
    assert ours.pop("task-clock") == pytest.approx(expected.pop("task-clock"), rel=0.05)
    assert ours == expected
    assert ours["context-switches"] > 100


@needs_root
def test_the_host_is_counted_by_cpu(tmp_path: Path) -> None:
    """Each interval has each CPU that is on; a clock runs on each as long as the interval. Nothing of the host is kept but sums."""
    counting = start(tmp_path, "all", interval_ns=200_000_000)
    time.sleep(0.7)
    end(counting)
    cpus = [f"CPU{cpu}" for cpu in sorted(os.sched_getaffinity(0))]
    rows = lines(tmp_path / "counts.csv")
    moments = sorted({row[0] for row in rows}, key=float)
    assert len(moments) >= 3
    for moment in moments:
        assert {(row[1], row[4]) for row in rows if row[0] == moment} >= {
            (cpu, name) for cpu in cpus for name in EVENTS
        }
    elapsed_ms = float(moments[-1]) * 1000
    clock_ms = sum(float(row[2]) for row in rows if row[1] == cpus[0] and row[4] == "task-clock")
    assert clock_ms == pytest.approx(elapsed_ms, rel=0.1)
    assert abs(int((tmp_path / "zero").read_text()) - time.monotonic_ns()) < 60e9


@needs_root
def test_a_control_group_is_counted_and_named(tmp_path: Path) -> None:
    """A name with what ends a field or a line is not taken for that."""
    target = subprocess.Popen(["sh", "-c", "while :; do sleep 0.01; done"])
    with control_group(f"perfcase-counts-{os.getpid()}", target) as group:
        counting = start(tmp_path, f"cgroup={group}", group="a,b\nc", interval_ns=300_000_000)
        time.sleep(0.7)
        end(counting)
    rows = lines(tmp_path / "counts.csv")
    assert {(len(row), row[4]) for row in rows} == {(9, "a?b?c")}
    assert totals(tmp_path / "counts.csv")["context-switches"] > 5


def test_what_cannot_be_counted_is_said(tmp_path: Path) -> None:
    known = subprocess.run([helper(), "counts", "-", *EVENTS], capture_output=True, text=True, check=True)
    assert set(known.stdout.split()) <= set(EVENTS)
    refused = subprocess.run([helper(), "counts", "-", "page-turns"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr) == (
        1,
        "perfcase-helper: page-turns: not an event that can be counted without perf\n",
    )
    (tmp_path / "groups").write_text("context-switches\n")
    gone = subprocess.Popen(["true"])
    gone.wait()
    files = [
        tmp_path / "counts.csv",
        str(gone.pid),
        "",
        "100000000",
        *(tmp_path / name for name in ("groups", "zero", "ready")),
    ]
    refused = subprocess.run([helper(), "counts", *files], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr) == (1, "perfcase-helper: there is none of these processes any more\n")
