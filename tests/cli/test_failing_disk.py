"""A disk that fails at one write, flush or rename: whatever it was, the command says where, and what is left is whole or not there.

tests/support/failing.c counts the calls that write below a folder, and lets one of them fail.
"""

from __future__ import annotations

import errno
import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import Done, perfcase, process
from tests.support.scale import scaled

SUPPORT = Path(__file__).parents[1] / "support"
CAPTURE = Path(__file__).parents[1] / "data" / "captures" / "idle.perfcase"
FAULT = 8
Failing = Callable[..., tuple[Done, int]]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("failing") / "failing.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", SUPPORT / "failing.c", "-o", made, "-ldl"], check=True)
    return made


@pytest.fixture
def failing(library: Path, tmp_path: Path) -> Failing:
    """Runs a command beside a copy of the capture: it, and how many calls there were."""
    folder, count = tmp_path / "captures", tmp_path / "count"

    def run(*words: str, at: int = 0, error: int = errno.EIO) -> tuple[Done, int]:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copy(CAPTURE, folder)
        count.write_bytes(bytes(8))
        told = {"BELOW": folder, "AT": at, "ERRNO": error, "COUNT": count}
        shim = {f"FAILING_{name}": str(value) for name, value in told.items()}
        done = process(*words, cwd=folder, LD_PRELOAD=str(library), **shim)
        return done, struct.unpack("q", count.read_bytes())[0]

    return run


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def places(calls: int, tries: int) -> list[int]:
    """So many of the calls, the first and the last ones among them: that is where locks, renames and flushes are."""
    spread = range(1, calls + 1, max(1, calls // tries))
    return sorted({*spread, 1, 2, calls - 1, calls})


def test_an_import_is_whole_or_not_there(failing: Failing, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    whole, calls = failing("import", CAPTURE.name)
    assert whole.returncode == 0
    assert calls > 100
    report = perfcase("report", CAPTURE.name, cwd=folder).stdout
    codes = set()
    for at in places(calls, scaled(30)):
        error = (errno.EIO, errno.ENOSPC)[at // 2 % 2]
        done, _ = failing("import", CAPTURE.name, at=at, error=error)
        codes.add(done.returncode)
        left = names(folder)
        if done.returncode == 0:
            # What failed was kept for later only, and is worked out again.
            assert left == ["idle.case", "idle.perfcase"], at
            assert perfcase("report", CAPTURE.name, cwd=folder).stdout == report, at
            continue
        assert (done.returncode, left, done.stdout) == (FAULT, ["idle.perfcase"], ""), (at, done.stderr)
        assert done.stderr.count("\n") == 1, done.stderr
        assert os.strerror(error) in done.stderr
    assert codes == {0, FAULT}


def test_a_redaction_is_whole_or_not_there(failing: Failing, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    words = ("redact", CAPTURE.name, "-o", "out.perfcase")
    whole, calls = failing(*words)
    assert whole.returncode == 0
    for at in places(calls, scaled(30)):
        done, _ = failing(*words, at=at)
        left = {*names(folder)} - {"idle.case", "idle.perfcase"}
        if done.returncode == 0:
            assert left == {"out.perfcase", "out.perfcase.key"}, at
            continue
        assert (done.returncode, left, done.stdout) == (FAULT, set(), ""), (at, done.stderr)
        assert os.strerror(errno.EIO) in done.stderr
        assert done.stderr.endswith(")\n"), "what to do"
