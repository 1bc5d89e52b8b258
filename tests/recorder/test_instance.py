"""The private ftrace instance: a live recorder keeps it, a dead one's goes, and tracing that ends early is said."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recorder.support import SHELLS, TRACEFS, Capture, helper, run

pytestmark = pytest.mark.skipif(
    TRACEFS is None or os.geteuid() != 0, reason="tracefs is not mounted, or not ours to use"
)


@pytest.fixture
def instance() -> Iterator[Path]:
    assert TRACEFS
    path = TRACEFS / "instances" / f"perfcase-test-{os.getpid()}"
    yield path
    if path.exists():
        path.rmdir()


def own(instance: Path, folder: Path, *command: str | Path) -> subprocess.Popen[str]:
    """A source that has this instance."""
    words = [helper(), "run", "x", folder / "cost", folder / "log", folder / "pid", instance, *command]
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True)


def sweep(*prefix: str) -> None:
    assert TRACEFS
    subprocess.run([*prefix, helper(), "sweep", TRACEFS / "instances"], check=True, timeout=20)


def wait_for(condition: object, what: str) -> None:
    end = time.monotonic() + 10
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, what
        time.sleep(0.01)


def test_a_live_instance_is_nobodys_to_remove(instance: Path, tmp_path: Path) -> None:
    """Another PID namespace knows nothing of the owner's process."""
    owner = own(instance, tmp_path, "sleep", "60")
    wait_for((tmp_path / "pid").exists, "the source began")
    sweep()
    if subprocess.run(["unshare", "-p", "-f", "-m", "true"], capture_output=True, check=False).returncode == 0:
        sweep("unshare", "-p", "-f", "-m", "--mount-proc")
    assert (instance / "tracing_on").read_text() == "1\n"
    owner.kill()
    owner.wait()
    sweep()
    assert not instance.exists()


def test_it_goes_with_its_source(instance: Path, tmp_path: Path) -> None:
    owner = own(instance, tmp_path, "test", "-d", instance)
    assert owner.wait(10) == 0
    assert not instance.exists()


def test_readers_that_a_tool_left_behind_are_ended(instance: Path, tmp_path: Path) -> None:
    """A trace-cmd that was killed leaves a reader for each CPU, which keeps the instance busy."""
    left = 'cat "$0"/per_cpu/cpu0/trace_pipe_raw >/dev/null & echo $! >"$1"; sleep 0.1; kill -9 $$'
    owner = own(instance, tmp_path, "sh", "-c", left, instance, tmp_path / "reader")
    _, said = owner.communicate(timeout=20)
    assert (owner.returncode, said) == (128 + 9, "")
    assert not instance.exists()
    reader = int((tmp_path / "reader").read_text())
    wait_for(lambda: not Path(f"/proc/{reader}").exists(), "the reader ended")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_source_that_ends_early_is_said(shell: str, tmp_path: Path) -> None:
    out = tmp_path / "x.perfcase"
    kill = (
        'sleep 0.3; for name in ftrace proc; do kill -9 "$(cat "$0/$name.pid")"; done; '
        'until [ -s "$0/ftrace.cost" ] && [ -s "$0/proc.cost" ]; do sleep 0.05; done; sleep 1.2'
    )
    done = run(shell, "-o", out, "--", "sh", "-c", kill, f"{out}.recording/.state", PERFCASE_NO_TRACE_CMD="1")
    assert done.returncode == 0, done.stderr
    capture = Capture.read(out)
    capture.check()
    end = capture.manifest["clock"]["anchors"][1]["monotonic_ns"]
    for name in ("ftrace", "proc"):
        source = capture.source(name)
        assert source["status"] == "degraded"
        assert "s before the recording did" in source["reason"]
        assert 1_200_000_000 < end - source["ended_monotonic_ns"] < 20_000_000_000
        assert f"{name}: ended " in done.stderr
    assert capture.source("process")["ended_monotonic_ns"] == end


@pytest.mark.parametrize("shell", SHELLS)
def test_tracing_that_somebody_switched_off_is_said(shell: str, tmp_path: Path) -> None:
    out = tmp_path / "x.perfcase"
    switch = f"for file in {TRACEFS}/instances/perfcase-$PPID-*/tracing_on; do echo 0 >$file; done"
    assert run(shell, "-q", "-o", out, "--", "sh", "-c", switch, PERFCASE_NO_TRACE_CMD="1").returncode == 0
    source = Capture.read(out).source("ftrace")
    assert (source["status"], source["ended_monotonic_ns"]) == ("degraded", None)
    assert "something else on this host switched its tracing off" in source["reason"]
