"""A folder that is written by one process at a time, and is whole or not there.

It is made under a hidden name beside its place and renamed. A process that is killed may leave a lock and such folders: the next command that uses
the place removes them.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import glob
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from perfcase.case import wholeness
from perfcase.errors import PerfcaseError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""A disk, a share of it or a file is as large as it may be."""
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
_CHILD_ENDS_S = 1
"""How long the child of a killed import may go on: the kernel kills it, too, but on a busy machine not at once."""


def working_folder(target: Path) -> Path:
    """Return where this process makes what comes to a place."""
    return target.parent / f".{target.name}.importing-{os.getpid()}"


def _lock_file(target: Path) -> Path:
    return target.parent / f".{target.name}.lock"


def unwritable(folder: Path, error: OSError, other: str = "name another folder with -o") -> PerfcaseError:
    """Return the error for a folder that cannot be written. ``other``: how to use another one."""
    hint = f"free space there, or {other}" if error.errno in FULL else other
    return PerfcaseError("environment", f"{folder}: cannot be written: {error.strerror or error}", hint)


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Allow one to write a place at a time. A second one waits, and then finds the result of the first."""
    path = _lock_file(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle = _acquire(path)
    except OSError as error:
        if error.errno not in _REFUSED:
            raise unwritable(target.parent, error) from error
        raise PerfcaseError(
            "not_permitted", f"{target.parent}: cannot be written: {error.strerror}", "name another folder with -o"
        ) from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _acquire(path: Path) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(handle, fcntl.LOCK_EX)
        if _is_at(path, handle):
            return handle
        os.close(handle)


def _is_at(path: Path, handle: int) -> bool:
    """Return whether this is the lock still: a holder removes it on its way out, and a lock on a removed file excludes nobody."""
    try:
        return os.fstat(handle).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def sweep(target: Path) -> None:
    """Remove what a process left that was killed when the place was whole already. It does nothing while another one writes there."""
    path = _lock_file(target)
    with suppress(OSError):
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, handle):
                remove_leftovers(target)
                path.unlink()
        finally:
            os.close(handle)


def exchange(one: Path, other: Path) -> None:
    """Exchange the names of two folders, atomically if the system can (renameat2, Linux 3.15)."""
    at_cwd, at_once = -100, 2
    libc = ctypes.CDLL(None, use_errno=True)
    renameat2 = getattr(libc, "renameat2", None)
    if renameat2 is None or renameat2(at_cwd, os.fsencode(one), at_cwd, os.fsencode(other), at_once) != 0:
        put_in_place(one, other)


def put_in_place(working: Path, target: Path) -> None:
    """Rename the finished import to its place; an older import of the same name goes away."""
    old = target.parent / f".{target.name}.importing-old-{os.getpid()}"
    if target.exists():
        target.rename(old)
    working.rename(target)
    wholeness.flush_one(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def remove_leftovers(target: Path) -> None:
    """Remove the leftovers of killed imports. The lock is held, so no other import runs; the child of a killed one may write for a moment."""
    for stale in target.parent.glob(f".{glob.escape(target.name)}.importing-*"):
        end = time.monotonic() + _CHILD_ENDS_S
        shutil.rmtree(stale, ignore_errors=True)
        while stale.exists() and time.monotonic() < end:
            time.sleep(0.02)
            shutil.rmtree(stale, ignore_errors=True)
