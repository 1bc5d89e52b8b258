"""The folder of a store: a lock for one server, and reserved space for operations that must not fail.

On a full disk a user must still be able to sign in and to delete. A file of a few MiB reserves space for that. It is removed when the disk is
full, and made again when there is space.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfcase.errors import PerfcaseError

RESERVE_BYTES = 16 << 20
"""Size of the file that is kept. What arrives or is imported stops when twice as much is free."""
_LOW_BYTES = 8 << 20
"""Less than this free: the catalogue could soon not be written."""


@contextmanager
def locked(store: Path) -> Iterator[None]:
    """Hold the lock of the store: only this process serves it. The lock ends with the process."""
    store.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(store / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PerfcaseError(
                "usage", f"{store}: another server uses this store", "end that one, or give another --store"
            ) from None
        yield
    finally:
        os.close(handle)


def free_bytes(folder: Path) -> int:
    """Return what a process without special rights may still write there."""
    stat = os.statvfs(folder)
    return stat.f_bavail * stat.f_frsize


def is_full(folder: Path) -> bool:
    """Return whether uploads and imports must stop, so that everything else goes on."""
    return free_bytes(folder) < 2 * RESERVE_BYTES


def used(folder: Path) -> tuple[int, int]:
    """Return bytes and number of the files below a folder, which may change meanwhile."""
    total = count = 0
    for place, folders, names in os.walk(folder):
        count += len(folders) + len(names)
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(f"{place}/{name}").st_blocks * 512
    return total, count


class Reserve:
    """The file that makes room on a full disk."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "reserve"

    def tend(self) -> None:
        """Free the reserve if the disk is full, and fill it again when there is space. Call this before a write that must not fail."""
        free = free_bytes(self._path.parent)
        if free < _LOW_BYTES:
            self._path.unlink(missing_ok=True)
        elif free > 4 * RESERVE_BYTES and not self._path.exists():
            with contextlib.suppress(OSError), self._path.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)
