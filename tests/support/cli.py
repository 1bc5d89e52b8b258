"""Runs the command line as a user does."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from perfcase.cli.main import run

PERFCASE = Path(sys.executable).parent / "perfcase"
Done = subprocess.CompletedProcess[str]


def perfcase(*arguments: object, cwd: Path | None = None, **environment: str) -> Done:
    """Runs perfcase in this process: text of both streams and the exit code.

    For most tests: to start Python and load DuckDB takes longer than the command. Where the process is the point, ``process``.
    """
    words = list(map(str, arguments))
    if words[:1] == ["record"]:  # becomes the recorder
        return process(*arguments, cwd=cwd, **environment)
    code, out, err = run_here(words, cwd, **environment)
    return Done(words, code, out.decode(), err.decode())


def run_here(words: Sequence[str], cwd: Path | None = None, **environment: str) -> tuple[int, bytes, bytes]:
    """Runs perfcase in this process: the exit code, and the bytes of both streams."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    with chdir(cwd or "."), _changed(environment), redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        code = run(list(words))
    out, err = (stream.buffer.getvalue() for stream in streams)  # type: ignore[attr-defined]
    return code, out, err


def process(*arguments: object, cwd: Path | None = None, **environment: str) -> Done:
    """Runs perfcase in a process of its own."""
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


@contextmanager
def _changed(environment: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
