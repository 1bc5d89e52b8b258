"""Call the core in a child process that can read what it is given, write its folder, and do nothing else (perfcase.case.sandbox).

A capture is an untrusted file. What it does to the process that reads it, it does to a process without rights; a crash of it
is a message. The child is a copy of this process if this has one thread, which takes some milliseconds. A copy of a process with threads may
wait for locks for ever, so there the child is a new interpreter (enclosed_child). A process that is enclosed
itself, as the server's, calls the core directly.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from perfcase.case import database, enclosed_child, facts, sandbox
from perfcase.errors import PerfcaseError

Progress = Callable[[str, int, tuple[int, int] | None], None]

SYSTEM = tuple(map(Path, ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store")))
"""Where links of a folder with debug files lead to: programs that everyone can read."""
_START = "from perfcase.case.enclosed_child import main; main()"
_LINE_MAX = 64 << 20
"""Bytes of what the child says at once."""
_SCRATCH = "perfcase-import-"
_YOUNG_S = 60
_MEMORY = ("memory allocation of", "MemoryError", "Cannot allocate memory", "os error 12")


@dataclass
class Job:
    """One call of the core."""

    call: str
    arguments: list[Any]
    about: Path
    """The file or folder that messages name."""
    readable: list[Path]
    writable: list[Path]
    listable: list[Path] = field(default_factory=list)
    """Folders of which it sees the names."""
    fence: list[bool] = field(default_factory=lambda: [True, True])
    """Once it runs: whether files are restricted, and system calls."""

    @property
    def unenclosed(self) -> str | None:
        """Return what this machine could not restrict, for people."""
        lacking = [name for name, holds in zip(("Landlock", "seccomp"), self.fence, strict=True) if not holds]
        return (
            f"the capture was read with all rights of the user: no {' and no '.join(lacking)} here" if lacking else None
        )


def import_job(file: Path, working: Path, given: dict[str, Any], is_generated: Callable[[str], object]) -> Job:
    """Return the job that imports FILE. ``is_generated``: tells files that name generated code by their names."""
    places = [Path(place) for place in given["debug_dirs"]]
    readable = [file, *places, *(SYSTEM if places else ())]
    if "kallsyms" in given:
        readable.append(Path(given["kallsyms"]))
    listable = []
    if file.is_file():
        readable += _beside(file, is_generated)
        listable.append(file.resolve().parent)
    return Job("import_capture", [str(file), str(working), given], file, readable, [working], listable)


def symbolize_job(folder: Path, made: Path, debug_dirs: Sequence[Path]) -> Job:
    """Return the job that names the functions of an import."""
    places = [str(place) for place in debug_dirs]
    return Job("symbolize", [str(folder / "tables"), str(made), places], folder, [folder, *debug_dirs, *SYSTEM], [made])


@contextmanager
def begun(job: Job) -> Iterator[Callable[[Progress | None], Any]]:
    """Start the call. What it gives waits for the end and returns the result. No thread may be started before this.

    Raises:
        PerfcaseError: the core's own; or the process crashed (internal), or was killed (environment).
    """
    if sandbox.is_fenced():
        yield lambda progress: _here(job, progress)
        return
    with _scratch() as (scratch, base), os.fdopen(os.memfd_create("perfcase"), "rb") as errors:
        order = {
            "call": job.call,
            "arguments": job.arguments,
            "has_progress": job.call == "import_capture",
            "readable": [str(path) for path in job.readable],
            "listable": [str(path) for path in job.listable],
            "writable": [str(path) for path in (*job.writable, *([scratch] if scratch else []))],
            "scratch": str(scratch) if scratch else None,
            "parent": os.getpid(),
        }
        try:
            child = (_Copy if _has_one_thread() else _New)(order, errors.fileno())
        except OSError as error:
            reason = f"{job.about}: cannot be read in a process of its own: {error.strerror}"
            raise PerfcaseError("environment", reason, "are there too many processes?") from error
        with child.output:
            try:
                yield lambda progress: _listen(job, child, errors, progress, (str(scratch), base))
            finally:
                child.end()


def _here(job: Job, progress: Progress | None) -> Any:  # noqa: ANN401 - what the core returns
    from perfcase import _core

    more = [progress] if job.call == "import_capture" else []
    return getattr(_core, job.call)(*job.arguments, *more)


class _Copy:
    """A copy of this process."""

    def __init__(self, order: dict[str, Any], errors: int) -> None:
        output, theirs = os.pipe()
        # A Ctrl-C in the copy must not run what this process does then: the copy would remove its folder.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._pid = os.fork()
            if self._pid == 0:
                try:
                    nothing = os.open(os.devnull, os.O_RDWR)
                    for number, handle in enumerate((nothing, theirs, errors)):
                        if number != 2 or not os.environ.get("PERFCASE_DEBUG"):
                            os.dup2(handle, number)
                    os.closerange(3, 1 << 30)
                    enclosed_child.work(order)
                finally:
                    os._exit(70)
        except OSError:
            os.close(output)
            raise
        finally:
            os.close(theirs)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.output = os.fdopen(output, "rb")
        self._code: int | None = None

    def wait(self) -> int:
        """Return how it ended; below 0: the signal."""
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return self._code

    def end(self) -> None:
        """Kill it, if it is there."""
        if self._code is None:
            os.kill(self._pid, signal.SIGKILL)
            self.wait()


class _New:
    """A new interpreter."""

    def __init__(self, order: dict[str, Any], errors: int) -> None:
        said = None if os.environ.get("PERFCASE_DEBUG") else errors
        # -S: its path is this one's, so nothing is looked for.
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-P", "-c", _START],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, env=sandbox.environment(),
        )  # fmt: skip
        assert self._process.stdin
        assert self._process.stdout
        self.output: IO[bytes] = self._process.stdout
        with suppress(BrokenPipeError), self._process.stdin as stdin:
            stdin.write(json.dumps(order).encode() + b"\n")

    def wait(self) -> int:
        """Return how it ended; below 0: the signal."""
        return self._process.wait()

    def end(self) -> None:
        """Kill it, if it is there."""
        self._process.kill()
        self._process.wait()


def _has_one_thread() -> bool:
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:
        # A root without /proc. The threads of DuckDB and of numpy are not Python's.
        return threading.active_count() == 1 and sys.modules.keys().isdisjoint(("_duckdb", "duckdb", "numpy"))


def _listen(
    job: Job, child: _Copy | _New, errors: IO[bytes], progress: Progress | None, scratch: tuple[str, str]
) -> Any:  # noqa: ANN401 - what the core returns
    """Follow the child to its end. It is untrusted: it may say anything."""
    while line := child.output.readline(_LINE_MAX):
        try:
            ((what, value),) = json.loads(line).items()
            if what == "fence":
                job.fence = [value[0] is True, value[1] is True]
            elif what == "now":
                now = str(value[0])[:100], int(value[1]), value[2] and (int(value[2][0]), int(value[2][1]))
            elif what == "error":
                kind, message, hint = value
                if not isinstance(message, str) or not isinstance(hint, str | None):
                    raise TypeError(message)
                said = PerfcaseError(kind, message, hint)
            elif what == "fault":
                said = _fault(job, str(value))
            elif what != "result" or (job.call == "import_capture" and not _is_summary(value)):
                raise ValueError(what)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
            raise _fault(job, "its process said what none says") from error
        if what == "now" and progress:
            progress(*now)
        elif what == "result":
            if foreign := next(filter(None, map(sandbox.foreign, job.writable)), None):
                raise _fault(job, f"its process made {foreign.name}, which is neither file nor folder")
            return value
        elif what in ("error", "fault"):
            # Its place to decompress is of this one process; people know the folder that it is in.
            texts = [text and text.replace(*scratch) for text in (said.message, said.hint)]
            raise PerfcaseError(said.kind, str(texts[0]), texts[1])
    code = child.wait()
    errors.seek(0)
    raise _death(job, code, errors.read(1 << 20).decode("utf-8", "replace").strip())


def _is_summary(value: dict[str, Any]) -> bool:
    """Return whether this is what the core says of an import. Names of tables are those of files."""
    tables, issues = value["tables"], value["issues"]
    texts = ("severity", "kind", "message")
    return (
        isinstance(value["capture_id"], str)
        and facts.told(value) is not None
        and all("/" not in name and type(rows) is int and rows >= 0 for name, rows in tables.items())
        and database.are_columns(value["other_columns"])
        and all(type(issue["count"]) is int and all(isinstance(issue[key], str) for key in texts) for issue in issues)
        and all(issue["byte_offset"] is None or type(issue["byte_offset"]) is int for issue in issues)
    )


def _fault(job: Job, what: str) -> PerfcaseError:
    if any(text in what for text in _MEMORY):
        return PerfcaseError(
            "environment", f"{job.about}: there is not enough memory to read it", "is there a limit, as of ulimit -v?"
        )
    first = what.splitlines()[0] if what else "-"
    return PerfcaseError(
        "internal", f"{job.about}: perfcase failed to read it, and keeps nothing of it: {first}", "PERFCASE_DEBUG=1 shows more; please report it, with the file if you may"
    )  # fmt: skip


def _death(job: Job, code: int, said: str) -> PerfcaseError:
    """Return the error for a process that ended without a result."""
    if code == -signal.SIGKILL:
        reason = f"{job.about}: the process that read it was killed, most likely because this machine ran out of memory"
        return PerfcaseError("environment", reason, "dmesg says so; read it where there is more memory")
    if code == -signal.SIGXCPU:
        return PerfcaseError(
            "environment",
            f"{job.about}: to read it took more CPU time than is allowed",
            "is there a limit, as of ulimit -t?",
        )
    if code == -signal.SIGBUS:
        reason = f"{job.about}: it could not be read to its end: it was cut meanwhile, its disk failed, or that of TMPDIR is full"
        return PerfcaseError("environment", reason, "copy it to another disk, and try again")
    if code == -signal.SIGTERM:
        return PerfcaseError("interrupted", f"{job.about}: the process that read it was ended")
    how = f"crashed ({signal.Signals(-code).name})" if -code in set(signal.Signals) else f"ended with exit code {code}"
    last = said.splitlines()[-1] if said else ""
    return _fault(job, f"its process {how}{': ' if last else ''}{last}")


@contextmanager
def _scratch() -> Iterator[tuple[Path | None, str]]:
    """Make a folder for what is decompressed, in the one that the core would use; None where that cannot be written.

    A lock says that it is in use: what a killed import left is removed by the next one.
    """
    base = os.environ.get("TMPDIR") or "/tmp"
    try:
        folder = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=base))
    except OSError:
        yield None, base
        return
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        _remove_stale(folder)
        yield folder, base
    finally:
        # Files in it have no names; one that a taken-over process made stays no longer than it.
        _remove(folder)
        os.close(handle)


def _remove_stale(own: Path) -> None:
    for left in own.parent.glob(f"{_SCRATCH}*"):
        with suppress(OSError):
            found = left.lstat()
            # One that was just made may not be locked yet.
            if left == own or found.st_uid != os.getuid() or found.st_mtime > time.time() - _YOUNG_S:
                continue
            handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(left)
            finally:
                os.close(handle)


def _remove(folder: Path) -> None:
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)


def _beside(file: Path, is_one: Callable[[str], object]) -> list[Path]:
    """Return files that belong to a bare recording by their names, in the folders where the core looks for them."""
    folder = file.resolve().parent
    agents = [place for agent in (".debug/jit", "jit") for place in _listed(folder / agent)]
    places = [folder, folder / "tmp", *agents]
    found = [path for place in places for path in _listed(place) if is_one(path.name)]
    return [path for path in found if path.resolve().is_relative_to(folder)]


def _listed(folder: Path) -> Sequence[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return ()
