"""A disk that fails at one write, flush or rename, or a kill before one: the command says where, and what is left is whole or not there."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import PERFCASE, Done, perfcase
from tests.support.failing import Disk, places, skip_if_unable
from tests.support.scale import scaled

DATA = Path(__file__).parents[1] / "data"
CAPTURE = DATA / "symbols" / "c.perfcase"
"""A small one, of few events: what an import writes is the same, and it takes a third of the time."""
PRIVATE = DATA / "captures" / "idle.perfcase"
"""One with all that a redaction writes."""
FAULT = 8
Failing = Callable[..., tuple[Done, int]]


@pytest.fixture
def failing(tmp_path: Path) -> Failing:
    """Runs a command beside a copy of the capture: it, and how many calls there were."""
    folder = tmp_path / "captures"
    folder.mkdir()
    disk = Disk(folder, tmp_path / "counters")

    def run(*words: str, at: int = 0, error: int = errno.EIO, is_killed: bool = False) -> tuple[Done, int]:
        for left in folder.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        shutil.copy({each.name: each for each in (CAPTURE, PRIVATE)}[words[1]], folder)
        disk.kill(at) if is_killed else disk.fail(at, error)
        command = [*disk.before, str(PERFCASE), *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        skip_if_unable(done.returncode, done.stderr)
        return done, disk.calls

    return run


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_import_is_whole_or_not_there(failing: Failing, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    whole, calls = failing("import", CAPTURE.name)
    assert whole.returncode == 0
    assert calls > 100
    report = perfcase("report", CAPTURE.name, cwd=folder).stdout
    codes = set()
    for at in places(calls, scaled(30, 2)):
        error = (errno.EIO, errno.ENOSPC)[at // 2 % 2]
        done, _ = failing("import", CAPTURE.name, at=at, error=error)
        codes.add(done.returncode)
        left = names(folder)
        if done.returncode == 0:
            # What failed was kept for later only, and is worked out again.
            assert left == ["c.case", "c.perfcase"], at
            assert perfcase("report", CAPTURE.name, cwd=folder).stdout == report, at
            continue
        assert (done.returncode, left, done.stdout) == (FAULT, ["c.perfcase"], ""), (at, done.stderr)
        assert done.stderr.count("\n") == 1, done.stderr
        assert os.strerror(error) in done.stderr
    assert codes == {0, FAULT}


def test_a_killed_import_is_done_once_more(failing: Failing, tmp_path: Path) -> None:
    """Whichever of its processes it was: the next command has the whole capture, and nothing else is left."""
    folder = tmp_path / "captures"
    _, calls = failing("import", CAPTURE.name, is_killed=True)
    report = perfcase("report", CAPTURE.name, cwd=folder).stdout
    for at in places(calls, scaled(30, 2)):
        done, _ = failing("import", CAPTURE.name, at=at, is_killed=True)
        assert done.returncode != 1, (at, done.stderr)
        assert perfcase("report", CAPTURE.name, cwd=folder).stdout == report, (at, done.stderr)
        assert names(folder) == ["c.case", "c.perfcase"], (at, done.returncode, done.stderr)


def test_what_a_kill_at_the_end_leaves_goes_with_the_next_command(tmp_path: Path) -> None:
    """The import is in its place already, so the next command uses it: its lock and the import before it are no use to anybody."""
    shutil.copy(CAPTURE, tmp_path)
    report = perfcase("report", CAPTURE.name, cwd=tmp_path).stdout
    old, lock = tmp_path / ".c.case.importing-old-1", tmp_path / ".c.case.lock"
    shutil.copytree(tmp_path / "c.case", old)
    with lock.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert perfcase("report", CAPTURE.name, cwd=tmp_path).stdout == report
        assert names(tmp_path) == [old.name, lock.name, "c.case", "c.perfcase"], "another command imports"
    assert perfcase("report", CAPTURE.name, cwd=tmp_path).stdout == report
    assert names(tmp_path) == ["c.case", "c.perfcase"]


def test_a_redaction_is_whole_or_not_there(failing: Failing, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    words = ("redact", PRIVATE.name, "-o", "out.perfcase")
    whole, calls = failing(*words)
    assert whole.returncode == 0
    for at in places(calls, scaled(30, 2)):
        done, _ = failing(*words, at=at)
        left = {*names(folder)} - {"idle.case", "idle.perfcase"}
        if done.returncode == 0:
            assert left == {"out.perfcase", "out.perfcase.key"}, at
            continue
        assert (done.returncode, left, done.stdout) == (FAULT, set(), ""), (at, done.stderr)
        assert os.strerror(errno.EIO) in done.stderr
        assert done.stderr.endswith(")\n"), "what to do"
