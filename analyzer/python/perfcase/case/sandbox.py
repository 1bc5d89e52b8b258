"""The restrictions of a process of an analysis or import, before it opens a capture or runs a user's SQL.

The server's processes and the child of an import on the command line (perfcase.case.enclosed) have the same ones.
Landlock allows only the named folders to read, some to write, and no TCP. seccomp allows no sockets, programs and processes.
Limits bound memory, time and files. If the kernel has no Landlock, an analysis cannot write any file: queries that need a
scratch file fail. SQL is also restricted by the connection itself (perfcase.case.query); these restrictions are the second line of
defence.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import perfcase
from perfcase.case import seccomp

_PACKAGE = Path(perfcase.__file__).parent
OWN = tuple(
    dict.fromkeys(
        Path(path)
        for path in (*sys.path, sys.prefix, sys.base_prefix, *_PACKAGE.glob("_*"), "/usr/lib", "/lib", "/lib64",
                     "/usr/share/zoneinfo", "/dev/null", "/proc/self", "/proc/meminfo", "/sys/fs/cgroup", "/etc/ld.so.cache")
        if str(path)
    )
)  # fmt: skip
"""Code and its data, which a clone has behind links, and what libraries read when they are used first."""


def environment() -> dict[str, str]:
    """Return what such a process gets of the environment: where code and the cache are, and how much memory a question may take: no secrets."""
    kept = {name: os.environ[name] for name in ("HOME", "XDG_CACHE_HOME", "PERFCASE_MEMORY") if name in os.environ}
    path = os.pathsep.join(path for path in sys.path if path)
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONPATH": path, **kept}


_OPEN_FILES = 16_384
"""A table of a capture is a file, and a capture may have thousands."""

# linux/landlock.h; the numbers of the calls are the same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_FS_RIGHTS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NET_TCP = 0b11
_SCOPES = 0b11
"""Abstract unix sockets, and signals to processes outside (ABI 6)."""
_TRUNCATE_ABI = 3
_PATH_BENEATH = 1
_PR_SET_PDEATHSIG, _PR_SET_NAME, _PR_SET_NO_NEW_PRIVS = 1, 15, 38

_is_fenced = False


def missing() -> list[str]:
    """Return which limits this machine cannot enforce, and what a hostile capture could do for that reason."""
    problems = []
    abi = _abi()
    if abi < 1:
        problems.append(
            "this kernel has no Landlock: an import that was taken over reads and writes all that the server's user may; analyses"
            " that need a scratch file fail (Linux 5.13 or later, landlock among the security modules: lsm=)"
        )
    elif abi < _TRUNCATE_ABI:
        problems.append("this kernel's Landlock does not refuse to cut files short (Linux 6.2 or later does)")
    if not seccomp.is_there():
        problems.append(
            "this machine has no seccomp filter that perfcase knows: a process that was taken over can start programs, send signals"
            " and use the network (x86_64 or arm64, CONFIG_SECCOMP_FILTER)"
        )
    return problems


def end_with(parent: int) -> None:
    """End this process when its parent, the process with this number, ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(os.EX_TEMPFAIL)


def be_called(name: str) -> None:
    """Set the name of this process in the kernel, for tools such as ps: at most 15 bytes."""
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def limit(*, memory_bytes: int, cpu_seconds: int, file_bytes: int) -> None:
    """Limit this process from now on. What grows a file beyond ``file_bytes`` fails with EFBIG."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    # SIGXCPU at the first says why it ended; at the second nobody can hold it off.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Fence(NamedTuple):
    """What holds of the restrictions."""

    files: bool
    calls: bool


def fence(readable: Iterable[Path], *writable: Path, listable: Iterable[Path] = ()) -> Fence:
    """Restrict this process to these files and folders to read, and these folders to write. Return what the kernel enforces.

    Below ``listable`` it sees the names of files and folders only. It must have one thread only: Landlock holds for the thread that asks and for those that it starts.
    """
    global _is_fenced
    _is_fenced = True
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return Fence(files=False, calls=False)
    calls = seccomp.refuse()
    return Fence(_fence_files(libc, readable, writable, listable), calls)


def is_fenced() -> bool:
    """Return whether this process has given up its rights, so that it can start no other."""
    return _is_fenced


def foreign(folder: Path) -> Path | None:
    """Return what a process that was taken over may have put below a folder to lead a reader elsewhere: a link, a pipe."""
    made = [folder, *folder.rglob("*")]
    return next((path for path in made if path.is_symlink() or not (path.is_file() or path.is_dir())), None)


def _fence_files(
    libc: ctypes.CDLL, readable: Iterable[Path], writable: Iterable[Path], listable: Iterable[Path]
) -> bool:
    abi = _abi()
    if abi < 1:
        return False
    rights = (1 << _FS_RIGHTS_BY_ABI[min(abi, 5)]) - 1
    fields = (rights, _NET_TCP, _SCOPES)[: 3 if abi >= 6 else 2 if abi >= 4 else 1]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        return False
    try:
        for path in readable:
            _allow(libc, ruleset, path, _READ_FILE | _READ_DIR)
        for path in listable:
            _allow(libc, ruleset, path, _READ_DIR)
        for path in writable:
            _allow(libc, ruleset, path, rights & ~_EXECUTE)
        return libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)


def _abi() -> int:
    """Return the version of this kernel's Landlock; below 1: it has none."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc.syscall(_CREATE_RULESET, None, 0, 1)


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        # For a file the kernel takes only the rights that files have.
        rule = struct.pack("=Qi", rights if path.is_dir() else rights & _READ_FILE, handle)
        if libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))
    finally:
        os.close(handle)
