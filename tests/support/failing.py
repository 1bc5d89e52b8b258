"""A disk of which one call fails, for a command and all that it starts: failing.c."""

from __future__ import annotations

import errno
import struct
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.support.alone import BUILD, alone
from tests.support.scale import SCALE

UNABLE = 99
_COUNTERS = struct.Struct("5q")
_BYTES = 4096


@cache
def _program() -> Path:
    source, program = Path(__file__).with_suffix(".c"), BUILD / "failing"
    with alone("failing"):
        if not program.is_file() or program.stat().st_mtime < source.stat().st_mtime:
            subprocess.run(
                ["cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", source, "-o", program], check=True
            )
    return program


class Disk:
    """The files below a folder, as commands find them that are started with ``before``."""

    def __init__(self, below: Path, counters: Path) -> None:
        self._counters = counters
        self.before = [str(_program()), str(below), str(counters)]
        self.fail(0)

    def fail(self, at: int, error: int = errno.EIO, *, length: int = 1) -> None:
        """Counts from 0, and lets this call fail (0: none). Error 0: it never happens, as the command is killed before."""
        self._set(0, at, error, length, 0)

    def kill(self, at: int) -> None:
        """Counts from 0, removals of files too, and kills the command before this call (0: none)."""
        self._set(0, at, 0, 1, 1)

    def fail_next(self, after: int, error: int, *, length: int = 1) -> None:
        """Counts on, for a command that runs: so many calls from now on one fails."""
        self._set(self.calls, self.calls + after, error, length, 0)

    def _set(self, *counters: int) -> None:
        # In its place: who answers has the file in memory.
        with self._counters.open("r+b" if self._counters.exists() else "wb") as file:
            file.write(_COUNTERS.pack(*counters).ljust(_BYTES, b"\0"))

    @property
    def calls(self) -> int:
        """How many calls there were."""
        return _COUNTERS.unpack_from(self._counters.read_bytes())[0]

    @property
    def failed(self) -> str:
        """The path of the call that failed; empty where none did."""
        return self._counters.read_bytes()[_COUNTERS.size :].rstrip(b"\0").decode()


def skip_if_unable(code: int, said: str) -> None:
    """Skips a test where the kernel tells nobody of calls."""
    if code == UNABLE and said.startswith("failing: seccomp"):
        pytest.skip(f"no calls can fail here: {said.strip()}")


def places(calls: int, tries: int) -> list[int]:
    """So many of the calls, the first and the last but one among them, in the long tier all first and last ones: that is where
    locks, renames and flushes are."""
    spread = range(1, calls + 1, max(1, calls // tries))
    return sorted({*spread, calls - 1, *({2, calls} if SCALE >= 1 else {})})
