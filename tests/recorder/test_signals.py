"""A signal at any moment: the host is as before, nothing runs on, and what was recorded is a capture."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import jsonschema
import pytest

from tests.recorder.support import (
    SCHEMA,
    SHELLS,
    TRACEFS,
    Capture,
    command,
    environment,
    helper,
    host_settings,
    processes_that_mention,
    run,
)
from tests.support.scale import scaled

RUNS_PER_SHELL_AND_SIGNAL = scaled(6)
# from before the first line of the script to well into the packing
LATEST_S = 4.0


def assert_host_is_as_before(before: dict[str, str], pid: int, folder: Path) -> None:
    end = time.monotonic() + 5
    # something else on this machine may change a setting for a moment; the recorder may not for good
    while host_settings() != before and time.monotonic() < end:
        time.sleep(0.2)
    assert host_settings() == before
    if TRACEFS:
        assert not (TRACEFS / "instances" / f"perfcase-{pid}").exists()
    end = time.monotonic() + 5
    while processes_that_mention(str(folder)) and time.monotonic() < end:
        time.sleep(0.05)
    assert processes_that_mention(str(folder)) == []


def start(shell: str, folder: Path, *options: str) -> subprocess.Popen[str]:
    # the workload's words name the folder, so that it is found if it is left behind
    words = ["--", "sh", "-c", f"while :; do sleep 0.05; done; : {folder}"]
    return subprocess.Popen(
        command(shell, "-o", folder / "x.perfcase", "--duration", "2", *options, *words),
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("shell", SHELLS)
def test_a_source_that_is_missing_has_no_files(shell: str, tmp_path: Path) -> None:
    """A signal can end the wait for a sampler that has written already: the capture calls it missing."""
    late = tmp_path / "helper"
    late.write_text(f'#!/bin/sh\n[ "$1" != ready ] || {{ sleep 0.5; exit 1; }}\nexec {helper()} "$@"\n')
    late.chmod(0o755)
    done = run(shell, "-o", tmp_path / "x.perfcase", "--", "true", PERFCASE_HELPER=str(late))
    assert done.returncode == 0, done.stderr
    capture = Capture.read(tmp_path / "x.perfcase")
    capture.check()
    missing = {source["name"] for source in capture.manifest["sources"] if source["status"] == "missing"}
    assert missing >= {"proc", "process"}
    assert not [name for name in capture.names if name.startswith(("proc/", "process/"))]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_signal_while_the_members_are_listed(shell: str, tmp_path: Path) -> None:
    """The manifest is written once more then: what it has of the first time is no member."""
    slow = tmp_path / "helper"
    told = tmp_path / "told"
    slow.write_text(
        f'#!/bin/sh\n[ "$1" != members ] || [ -e {told} ] || {{ : >{told}; kill -TERM $PPID; sleep 0.3; }}\nexec {helper()} "$@"\n'
    )
    slow.chmod(0o755)
    done = run(shell, "-o", tmp_path / "x.perfcase", "--", "true", PERFCASE_HELPER=str(slow))
    assert told.exists()
    assert done.returncode == 0, done.stderr
    assert "SIGTERM: the recording is over" in done.stderr
    capture = Capture.read(tmp_path / "x.perfcase")
    capture.check()
    assert "manifest.json.new" not in capture.names


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("turn", range(RUNS_PER_SHELL_AND_SIGNAL))
def test_interrupted_at_a_random_moment(shell: str, number: signal.Signals, turn: int, tmp_path: Path) -> None:
    # the runs share the time out among them, each at a random moment of its part
    part = LATEST_S / RUNS_PER_SHELL_AND_SIGNAL
    moment_s = random.Random(f"{shell} {number.name} {turn}").uniform(turn * part, (turn + 1) * part)
    before = host_settings()
    recorder = start(shell, tmp_path)
    time.sleep(moment_s)
    recorder.send_signal(number)
    _, said = recorder.communicate(timeout=60)
    assert_host_is_as_before(before, recorder.pid, tmp_path)
    left = sorted(path.name for path in tmp_path.iterdir())
    if not left:
        # so early that nothing was recorded
        assert recorder.returncode in (128 + number, -number), said
        assert moment_s < 1
        return
    assert left == ["x.perfcase"], said
    capture = Capture.read(tmp_path / "x.perfcase")
    capture.check()
    assert [knob["restored"] for knob in capture.manifest["knobs"]] == [True] * len(capture.manifest["knobs"])
    if recorder.returncode == 128 + number:
        assert capture.manifest["recorder"]["interrupted_by"] == number.name
        assert capture.manifest["recorder"]["stopped_by"] == "signal"
        assert f"stopped by {number.name}" in said
    else:
        # it was packing already: the recording is whole
        assert recorder.returncode == 0, said
        assert capture.manifest["recorder"]["stopped_by"] == "duration"


@pytest.mark.parametrize("shell", SHELLS)
def test_interrupted_while_recording_keeps_every_source(shell: str, tmp_path: Path) -> None:
    recorder = start(shell, tmp_path, "--duration", "60", "--interval", "0.1", "--stacks", "all")
    manifest = tmp_path / "x.perfcase.recording" / "manifest.json"
    end = time.monotonic() + 20
    while not manifest.exists() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(1)
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate(timeout=60)
    assert recorder.returncode == 128 + signal.SIGINT, said
    capture = Capture.read(tmp_path / "x.perfcase")
    capture.check()
    for source in capture.manifest["sources"]:
        if source["name"] in ("perf", "ftrace", "proc", "pmc") and source["status"] != "missing":
            assert source["event_count"] is None or source["event_count"] > 5, source


@pytest.mark.parametrize("shell", SHELLS)
def test_killed_outright_leaves_a_folder_that_is_a_capture(shell: str, tmp_path: Path) -> None:
    before = host_settings()
    recorder = start(shell, tmp_path, "--duration", "60")
    staging = tmp_path / "x.perfcase.recording"
    end = time.monotonic() + 20
    while not (staging / "manifest.json").exists() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.5)
    recorder.kill()
    recorder.wait(timeout=60)
    # its children end by themselves, but the command: that is not the recorder's
    end = time.monotonic() + 10
    while len(running := processes_that_mention(str(tmp_path))) > 1 and time.monotonic() < end:
        time.sleep(0.05)
    assert len(running) == 1
    assert running[0].startswith("sh -c")
    manifest = json.loads((staging / "manifest.json").read_text())
    os.kill(manifest["recorder"]["target"]["pids"][0], signal.SIGKILL)
    assert_host_is_as_before(before, recorder.pid, tmp_path)
    jsonschema.Draft202012Validator(SCHEMA).validate(manifest)
    assert manifest["recorder"]["stopped_by"] == "unfinished"
    assert (staging / "proc" / "snapshots").stat().st_size > 0
