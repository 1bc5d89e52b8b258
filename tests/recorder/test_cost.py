"""What the recorder says that it cost is what its control group says."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.recorder.support import SHELLS, Capture, command, control_group, environment


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("without", ["", "1"], ids=["trace-cmd", "drained"])
def test_the_stated_cost_is_the_control_groups(shell: str, without: str, tmp_path: Path) -> None:
    target = subprocess.Popen(["sleep", "100"])
    options = ["-q", "--duration", "1", "--pid", str(target.pid), "-o", tmp_path / "x.perfcase"]
    words = ["sh", "-c", 'read go; exec "$@"', "sh", *command(shell, *options)]
    recorder = subprocess.Popen(words, stdin=subprocess.PIPE, env=environment(PERFCASE_NO_TRACE_CMD=without))
    try:
        with control_group(f"perfcase-cost-{os.getpid()}", recorder) as group:
            if not (group / "cpu.stat").exists():
                pytest.skip("control groups of version 1 do not say the time of all processes")
            recorder.communicate(b"\n", timeout=60)
            assert recorder.returncode == 0
            used_ns = int((group / "cpu.stat").read_text().split()[1]) * 1000
    finally:
        target.kill()
        target.wait()
    capture = Capture.read(tmp_path / "x.perfcase")
    capture.check()
    stated_ns = sum(entry["user_ns"] + entry["system_ns"] for entry in capture.manifest["overhead"])
    # Not in it: writing the archive and removing the folder. The shell's time has steps of 10 ms.
    assert 0.95 * used_ns - 20_000_000 <= stated_ns <= used_ns + 20_000_000
    phases = [entry["phase"] for entry in capture.manifest["overhead"]]
    assert (phases.count("before"), phases.count("after")) == (1, 2)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may record the processes of others")
def test_perf_record_stays_away_from_processes_that_run_already(tmp_path: Path) -> None:
    """Its poll no longer waits once one of their threads has ended: perf 6.1 then takes a whole CPU."""
    with subprocess.Popen(["sh", "-c", "while :; do sleep 0.01; done"]) as target:
        options = ["-q", "--duration", "1", "--pid", str(target.pid), "-o", tmp_path / "x.perfcase"]
        done = subprocess.run(command("dash", *options), env=environment(), capture_output=True, text=True, timeout=60)
        target.kill()
    assert done.returncode == 0, done.stderr
    source = Capture.read(tmp_path / "x.perfcase").source("perf")
    assert source["tool"] == "perfcase-helper"
    assert source["status"] != "missing"
