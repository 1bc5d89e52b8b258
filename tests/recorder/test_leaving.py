"""Every wait ends: on a signal, on a second one at once, and when the command will not; and what the command is started with."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.recorder.support import SHELLS, Capture, command, environment, helper, path_without, run

pytestmark = pytest.mark.parametrize("shell", SHELLS)
STUBBORN = ["sh", "-c", "trap '' TERM INT; while :; do sleep 0.1; done"]


@pytest.fixture
def quick() -> dict[str, str]:
    """An environment of a recorder that has fewer sources to start."""
    path = path_without("perf", "trace-cmd")
    return {"PATH": path, "PERFCASE_NO_TRACE_CMD": "1"}


def started(
    shell: str, folder: Path, quick: dict[str, str], *words: str, preparation: Callable[[], object] | None = None
) -> subprocess.Popen[str]:
    """A recorder that records."""
    recorder = subprocess.Popen(
        command(shell, "-o", folder / "x.perfcase", *words), env=environment(**quick), preexec_fn=preparation,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    end = time.monotonic() + 20
    while not (folder / "x.perfcase.recording" / "manifest.json").exists() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.3)
    return recorder


def test_a_second_signal_leaves_at_once(shell: str, tmp_path: Path, quick: dict[str, str]) -> None:
    recorder = started(shell, tmp_path, quick, "--", "sh", "-c", f"echo $$; {STUBBORN[2]}")
    assert recorder.stdout
    assert recorder.stderr
    stubborn = int(recorder.stdout.readline())
    recorder.send_signal(signal.SIGINT)
    time.sleep(0.7)
    before = time.monotonic()
    recorder.send_signal(signal.SIGTERM)
    assert recorder.wait(20) == 128 + signal.SIGTERM
    assert time.monotonic() - before < 2
    end = time.monotonic() + 5
    while Path(f"/proc/{stubborn}").exists():
        assert time.monotonic() < end, "the command goes too"
        time.sleep(0.02)
    folder = tmp_path / "x.perfcase.recording"
    assert f"what was recorded is in the folder {folder}: perfcase-record --salvage packs it" in recorder.stderr.read()
    assert (folder / "manifest.json").exists()


def test_a_command_that_ignores_sigterm_is_killed(shell: str, tmp_path: Path, quick: dict[str, str]) -> None:
    done = run(shell, "--duration", "0.3", "-o", tmp_path / "x", "--", *STUBBORN, **quick)
    assert done.returncode == 0, done.stderr
    assert "the command did not end on SIGTERM within 5 s: it was killed" in done.stderr
    assert Capture.read(tmp_path / "x").manifest["recorder"]["target"]["exit_status"] == 128 + signal.SIGKILL


def test_a_pause_ends_on_a_signal(shell: str) -> None:
    pause = subprocess.Popen([helper(), "pause", "60000000000"])
    time.sleep(0.1)
    pause.terminate()
    assert pause.wait(5) == 1


def test_sigint_is_heard_in_the_background(shell: str, tmp_path: Path, quick: dict[str, str]) -> None:
    """A script's background job starts with SIGINT ignored, which a shell cannot undo."""
    ignore = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)  # noqa: E731
    recorder = started(shell, tmp_path, quick, "--", "sleep", "20", preparation=ignore)
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate(timeout=15)
    assert (recorder.returncode, "stopped by SIGINT" in said) == (128 + signal.SIGINT, True), said
    assert Capture.read(tmp_path / "x.perfcase").manifest["recorder"]["interrupted_by"] == "SIGINT"


@pytest.mark.parametrize("ignored", [[], [signal.SIGINT, signal.SIGHUP]], ids=["heard", "ignored"])
def test_the_command_is_started_as_its_user_would(
    shell: str, ignored: list[signal.Signals], tmp_path: Path, quick: dict[str, str]
) -> None:
    """Its umask, its environment (the recorder's own variables have common names) and the signals it ignores."""
    variables = {**quick, "LC_ALL": "C.UTF-8", "output": "mine", "note": "mine too"}

    def prepare() -> None:
        os.umask(0o027)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    show = "umask; grep SigIgn /proc/self/status; env | grep -v SHLVL | sort"
    alone = subprocess.run(
        ["sh", "-c", show], env=environment(**variables), preexec_fn=prepare, capture_output=True, text=True, check=True
    ).stdout
    beside = subprocess.run(
        command(shell, "-q", "-o", tmp_path / "x", "--", "sh", "-c", show), env=environment(**variables),
        preexec_fn=prepare, capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip
    if ignored:  # Ctrl-C and Ctrl-\\ go together
        alone = re.sub(r"(SigIgn:.*)\n", lambda line: f"SigIgn:\t{int(line[1].split()[1], 16) | 4:016x}\n", alone)
    assert beside == alone


def test_a_name_does_not_reach_the_terminal_as_a_command(shell: str, tmp_path: Path, quick: dict[str, str]) -> None:
    """A user who names a file chooses what root's terminal would obey."""
    name = "\x1b]0;title\x07\x1b[31mred\r\x9b ü"
    done = run(shell, "-o", tmp_path / name, "--", "true", **quick)
    assert done.returncode == 0
    assert "?]0;title??[31mred?? ü (" in done.stderr
    refused = run(shell, name)
    raw = subprocess.run([helper(), "members", tmp_path / name, "x"], capture_output=True, text=True, check=False)
    for text in (done.stderr, refused.stderr, raw.stderr):
        assert text
        assert not set(text) & {"\x1b", "\x07", "\r", "\x9b"}


def test_a_check_that_is_interrupted_leaves_nothing(shell: str, tmp_path: Path) -> None:
    """Between the temporary folder and its name."""
    tools, scratch, began = tmp_path / "bin", tmp_path / "tmp", tmp_path / "began"
    tools.mkdir()
    scratch.mkdir()
    real = shutil.which("mktemp")
    (tools / "mktemp").write_text(f'#!/bin/sh\nfolder=$({real} "$@")\n: >{began}\nsleep 0.3\necho "$folder"\n')
    (tools / "mktemp").chmod(0o755)
    checking = subprocess.Popen(
        command(shell, "--check"), env=environment(PATH=f"{tools}:{os.environ['PATH']}", TMPDIR=str(scratch)),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    end = time.monotonic() + 20
    while not began.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    os.killpg(checking.pid, signal.SIGINT)
    assert checking.wait(20) == 130
    assert list(scratch.iterdir()) == []


def test_a_check_ends_where_a_tool_that_is_tried_does_not(shell: str, tmp_path: Path) -> None:
    tools, scratch, began = tmp_path / "bin", tmp_path / "tmp", tmp_path / "began"
    tools.mkdir()
    scratch.mkdir()
    loop = f'[ "$1" = stat ] || exit 1\ntrap "" TERM INT\n: >{began}\nwhile :; do sleep 0.1; done\n'
    (tools / "perf").write_text(f"#!/bin/sh\n{loop}")
    (tools / "perf").chmod(0o755)
    checking = subprocess.Popen(
        command(shell, "--check"), env=environment(PATH=f"{tools}:{os.environ['PATH']}", TMPDIR=str(scratch)),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    end = time.monotonic() + 20
    while not began.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    checking.send_signal(signal.SIGINT)
    assert checking.wait(10) == 130
    assert list(scratch.iterdir()) == []
