"""A capture that goes to standard output, or into a named pipe: nothing else does, and it is never lost in silence."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.recorder.support import SHELLS, Capture, command, environment, path_without, run

pytestmark = pytest.mark.parametrize("shell", SHELLS)


@pytest.fixture
def quick(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment of a recorder that has fewer sources to start, and a place of its own for its raw data."""
    path = path_without("perf", "trace-cmd")
    return {"PATH": path, "PERFCASE_NO_TRACE_CMD": "1", "TMPDIR": str(tmp_path_factory.mktemp("raw data"))}


def started(shell: str, quick: dict[str, str], *words: str | Path, out: int = subprocess.PIPE) -> subprocess.Popen:
    """A recorder that writes to standard output, and records."""
    recorder = subprocess.Popen(
        command(shell, *words),
        env=environment(**quick),
        stdout=out,
        stderr=subprocess.PIPE,
        text=out != subprocess.PIPE,
    )
    assert recorder.stderr
    for line in recorder.stderr:
        if str(line).find("recording: ") >= 0:
            return recorder
    raise AssertionError("it does not record")


def left(quick: dict[str, str]) -> list[Path]:
    return list(Path(quick["TMPDIR"]).iterdir())


def test_standard_output_has_the_capture_and_nothing_else(shell: str, tmp_path: Path, quick: dict[str, str]) -> None:
    """What the recorded command prints goes to standard error."""
    done = subprocess.run(
        command(shell, "-o", "-", "--", "echo", "it ran"), env=environment(**quick), capture_output=True, timeout=60, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (tmp_path / "x").write_bytes(done.stdout)
    capture = Capture.read(tmp_path / "x")
    capture.check()
    assert capture.manifest["recorder"]["stopped_by"] == "target_exit"
    assert b"it ran\n" in done.stderr
    assert done.stderr.endswith(b"\nwrote the capture to standard output\n")
    assert left(quick) == []


def test_a_terminal_is_refused(shell: str, quick: dict[str, str]) -> None:
    terminal, side = pty.openpty()
    done = subprocess.run(
        command(shell, "-o", "-"),
        env=environment(**quick),
        stdout=side,
        stderr=subprocess.PIPE,
        timeout=20,
        check=False,
    )
    os.close(side)
    os.close(terminal)
    assert (done.returncode, b"-o -: standard output is a terminal" in done.stderr) == (2, True), done.stderr
    assert left(quick) == []


@pytest.mark.parametrize("told", ["SIGHUP", "SIGTERM"])
def test_a_reader_that_goes_ends_the_recording_and_keeps_what_there_is(
    shell: str, tmp_path: Path, quick: dict[str, str], told: str
) -> None:
    """An ssh that is broken off tells nobody: without this the recorder would go on for ever. With nohup too, which ignores SIGHUP."""
    usual = signal.signal(signal.SIGHUP, signal.SIG_DFL if told == "SIGHUP" else signal.SIG_IGN)
    recorder = started(shell, quick, "-o", "-", "--", "sleep", "60")
    signal.signal(signal.SIGHUP, usual)
    assert recorder.stdout
    recorder.stdout.close()
    assert recorder.stderr
    gone = time.monotonic()
    said = recorder.stderr.read().decode()
    assert recorder.wait(30) == 1, said
    assert time.monotonic() - gone < 30
    assert "writing the archive: Broken pipe" in said
    assert "could not write the capture to standard output: is its reader gone?" in said
    kept = re.search(r"what was recorded is in the folder (.*): perfcase-record --salvage packs it", said)
    assert kept, said
    assert run(shell, "-q", "--salvage", kept[1], "-o", tmp_path / "x").returncode == 0
    capture = Capture.read(tmp_path / "x")
    capture.check()
    assert capture.manifest["recorder"]["interrupted_by"] == told


def test_messages_that_nobody_reads_do_not_end_it(shell: str, tmp_path: Path, quick: dict[str, str]) -> None:
    recorder = started(shell, quick, "-o", str(tmp_path / "x"), "--", "sleep", "1")
    assert recorder.stderr
    recorder.stderr.close()
    recorder.wait(30)
    Capture.read(tmp_path / "x").check()


def test_what_the_command_leaves_behind_does_not_hold_the_reader(shell: str, quick: dict[str, str]) -> None:
    """A daemon that the recorded command started must not keep the pipe open."""
    with (Path(quick["TMPDIR"]) / "said").open("w") as said:
        before = time.monotonic()
        subprocess.run(
            command(shell, "-q", "-o", "-", "--", "sh", "-c", "setsid sleep 15 & exit 0"), env=environment(**quick),
            stdout=subprocess.PIPE, stderr=said, timeout=60, check=True,
        )  # fmt: skip
        assert time.monotonic() - before < 12


def test_a_named_pipe_takes_a_capture(shell: str, tmp_path: Path, quick: dict[str, str]) -> None:
    os.mkfifo(tmp_path / "-a pipe")
    recorder = subprocess.Popen(
        command(shell, "-q", "-o", "-a pipe", "--", "true"), cwd=tmp_path, env=environment(**quick)
    )
    (tmp_path / "x").write_bytes((tmp_path / "-a pipe").read_bytes())
    assert recorder.wait(30) == 0
    Capture.read(tmp_path / "x").check()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["-a pipe", "x"]


def test_a_pipe_that_nobody_reads_ends_on_a_signal(shell: str, tmp_path: Path, quick: dict[str, str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    recorder = started(shell, quick, "-o", tmp_path / "pipe", "--", "true", out=subprocess.DEVNULL)
    folder = tmp_path / "pipe.recording"
    end = time.monotonic() + 20
    while '"members":[]' in ((folder / "manifest.json").read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.3)
    recorder.send_signal(signal.SIGINT)
    time.sleep(0.3)
    recorder.send_signal(signal.SIGINT)
    assert recorder.wait(10) == 128 + signal.SIGINT
    assert recorder.stderr
    assert f"what was recorded is in the folder {folder}: perfcase-record --salvage packs it" in recorder.stderr.read()


def test_what_takes_the_place_of_a_pipe_is_not_written_to(shell: str, tmp_path: Path, quick: dict[str, str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "mine").write_text("mine")
    swap = 'rm "$0" && ln -s mine "$0"'
    done = run(shell, "-q", "-o", tmp_path / "pipe", "--", "sh", "-c", swap, tmp_path / "pipe", **quick)
    assert (done.returncode, f"{tmp_path}/pipe: is no longer a pipe" in done.stderr) == (1, True), done.stderr
    assert (tmp_path / "mine").read_text() == "mine"


def test_an_end_before_the_recording_leaves_nothing(shell: str, quick: dict[str, str]) -> None:
    done = run(shell, "-o", "-", "--pid", "4194305", **quick)
    assert (done.returncode, done.stdout, left(quick)) == (3, "", []), done.stderr
