"""Redactions that are killed, and several at once: nothing is left but what is whole."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from perfcase.redaction.pseudonyms import Pseudonyms
from tests.support import private_capture
from tests.support.cli import PERFCASE, perfcase


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a capture, imported, and the redacted one."""
    private_capture.write(tmp_path / "x.perfcase")
    assert perfcase("redact", tmp_path / "x.perfcase", "-o", tmp_path / "out.perfcase").returncode == 0
    return tmp_path


def _hidden(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name.startswith(".")}


def _kill_one(folder: Path) -> set[str]:
    """Kill a redaction when its private folder is there; what it left behind."""
    words = ["redact", folder / "x.perfcase", "-o", folder / "out.perfcase"]
    running = subprocess.Popen([PERFCASE, *words], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not list(folder.glob(".perfcase-redact-*/members/host")):
        assert running.poll() is None
        assert time.monotonic() < end
        time.sleep(0.001)
    running.send_signal(signal.SIGKILL)
    running.wait()
    return _hidden(folder)


def test_what_a_killed_one_left_is_removed_by_the_next(folder: Path) -> None:
    before = (folder / "out.perfcase").read_bytes()
    (folder / ".perfcase-redact-notes").write_text("of the user")
    living = folder / ".perfcase-redact-living"
    living.mkdir()
    lock = os.open(living, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    ours = {".perfcase-redact-notes", ".perfcase-redact-living"}
    left = _kill_one(folder)
    assert len([name for name in left - ours if name.startswith(".perfcase-redact-")]) == 1
    # OUT is the old one, whole.
    assert (folder / "out.perfcase").read_bytes() == before
    assert perfcase("redact", folder / "x.perfcase", "-o", folder / "other.perfcase").returncode == 0
    assert {name for name in _hidden(folder) if not name.endswith(".lock")} == ours
    os.close(lock)
    assert perfcase("redact", folder / "x.perfcase", "-o", folder / "out.perfcase").returncode == 0
    assert _hidden(folder) == {".perfcase-redact-notes"}
    assert (folder / "out.perfcase").read_bytes() == before


def test_two_at_once_with_one_key_know_the_values_of_both(folder: Path) -> None:
    key = folder / "shared.key"
    running = [
        subprocess.Popen([PERFCASE, "redact", folder / "x.perfcase", "-o", folder / f"{name}.perfcase", "--key", key])
        for name in ("one", "two")
    ]
    assert [each.wait(120) for each in running] == [0, 0]
    assert (folder / "one.perfcase").read_bytes() == (folder / "two.perfcase").read_bytes()
    assert b"db-prod-17" in Pseudonyms.read(key).values.values()
    assert _hidden(folder) == set()
