"""Runs the command line as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PERFCASE = Path(sys.executable).parent / "perfcase"


def perfcase(*arguments: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs perfcase; text of both streams and the exit code."""
    return subprocess.run(
        [PERFCASE, *map(str, arguments)],
        cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def succeed(*arguments: object, cwd: Path | None = None) -> str:
    """Standard output of a run that must succeed and say nothing on standard error."""
    done = perfcase(*arguments, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def fail(code: int, *arguments: object) -> str:
    """The one line of an error that must have this exit code."""
    done = perfcase(*arguments)
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("perfcase: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    return done.stderr.removeprefix("perfcase: ").rstrip("\n")
