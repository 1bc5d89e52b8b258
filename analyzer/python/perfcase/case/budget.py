"""How much memory a question may take, and where it puts what does not fit.

``perfcase --memory 2G …`` or PERFCASE_MEMORY sets it. DuckDB writes what is larger to files of the user's own, and fails where a
question cannot be answered in parts. The budget is of its tables, sorts and joins; the program itself takes some 80 MB more.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from pathlib import Path

from perfcase.errors import PerfcaseError

MEMORY = "PERFCASE_MEMORY"
"""The variable that says how much memory a question may take."""
_DEFAULT_BYTES = 360_000_000
_THREAD_BYTES = 64 << 20
"""Each thread beyond the fourth has buffers of its own."""
_THREADS_IN_DEFAULT = 4
_LEAST_BYTES = 100 << 20
_SIZE = re.compile(r"([0-9]{1,15})([KMGT]?)(?:i?B)?", re.IGNORECASE)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SPILLED = "spill"


def parsed(text: str) -> int:
    """Return a size such as 500M or 2G in bytes.

    Raises:
        PerfcaseError: it is none, or too little for any question (usage).
    """
    found = _SIZE.fullmatch(text.strip())
    count = int(found[1]) * _UNITS[found[2].upper()] if found else 0
    if not found or not _LEAST_BYTES <= count < 1 << 62:
        raise PerfcaseError("usage", f"{text}: not a size of memory", "such as 500M or 2G, at least 100M")
    return count


def memory_bytes(threads: int) -> int:
    """Return how many bytes a question may take that runs on so many threads.

    Raises:
        PerfcaseError: what the variable says is no size (usage).
    """
    given = os.environ.get(MEMORY)
    return parsed(given) if given else _DEFAULT_BYTES + max(0, threads - _THREADS_IN_DEFAULT) * _THREAD_BYTES


def spill_folder() -> str:
    """Return the path of a folder that DuckDB makes when it first needs it, and removes at its end; empty where there is no place.

    It is in a folder that nobody else can read: what is written there is of the capture.
    """
    # Not /tmp by itself, which may be memory.
    named = os.environ.get("TMPDIR")
    base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    place = base / f"perfcase-{os.getuid()}" / _SPILLED if named else base / "perfcase" / _SPILLED
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = place.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            return ""
        if found.st_mode & 0o077:
            place.chmod(0o700)
        _remove_stale(place)
    except (OSError, RuntimeError):
        return ""
    return str(place / f"{os.getpid()}-{secrets.token_hex(8)}")


def disk_bytes(folder: str) -> int:
    """Return how much of the disk such a folder may take: half of what is free."""
    free = os.statvfs(Path(folder).parent)
    return free.f_bavail * free.f_frsize // 2


def _remove_stale(place: Path) -> None:
    """Remove what killed processes left."""
    for left in place.iterdir():
        pid = left.name.split("-")[0]
        if pid.isdecimal() and not Path("/proc", pid).exists():
            shutil.rmtree(left, ignore_errors=True)
