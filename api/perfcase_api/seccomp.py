"""System calls that no analysis and no import needs, refused: programs, processes, sockets of any kind, other processes.

Landlock knows files and TCP; this is for the rest (UDP, Unix sockets, io_uring, fork, exec, signals). A filter of seccomp(2)
in classic BPF, for all threads of the process and for good.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

_NAMES = (
    "socket", "socketpair", "execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev", "kill", "tkill",
    "pidfd_send_signal", "pidfd_open", "pidfd_getfd", "io_uring_setup", "bpf", "perf_event_open", "userfaultfd", "unshare",
    "setns", "mount", "open_by_handle_at", "init_module", "finit_module", "reboot", "add_key", "request_key", "keyctl",
    "clone", "seccomp", "fork", "vfork",
)  # fmt: skip
# AUDIT_ARCH_*, then the numbers of asm/unistd.h in the order of the names. arm64 has neither fork nor vfork.
_ARCHITECTURES = {
    "x86_64": (0xC000003E, (41, 53, 59, 322, 101, 310, 311, 62, 200, 424, 434, 438, 425, 321, 298, 323, 272, 308, 165, 304,
                            175, 313, 169, 248, 249, 250, 56, 317, 57, 58)),
    "aarch64": (0xC00000B7, (198, 199, 221, 281, 117, 270, 271, 129, 130, 424, 434, 438, 425, 280, 241, 282, 97, 268, 40, 265,
                             105, 273, 142, 217, 218, 219, 220, 277)),
}  # fmt: skip
_CLONE3 = 435
_CLONE_THREAD = 0x10000
_X32 = 0x40000000

# linux/bpf_common.h, linux/seccomp.h
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_SET_MODE_FILTER, _TSYNC = 1, 1


def refuse() -> bool:
    """Refuses them with EPERM from now on; new threads stay possible. False where this machine cannot.

    Wants PR_SET_NO_NEW_PRIVS to be set.
    """
    known = _ARCHITECTURES.get(platform.machine())
    if known is None:
        return False
    architecture, numbers = known
    program = b"".join(_program(architecture, dict(zip(_NAMES, numbers, strict=False))))
    code = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    seccomp = dict(zip(_NAMES, numbers, strict=False))["seccomp"]
    return libc.syscall(seccomp, _SET_MODE_FILTER, _TSYNC, described) == 0


def _program(architecture: int, numbers: dict[str, int]) -> list[bytes]:
    clone = numbers["clone"]
    refused = [number for name, number in numbers.items() if name != "clone"]
    size = len(refused)
    # After the comparisons come: clone3, clone, allow, is it a thread, EPERM, ENOSYS. A jump counts from the next line.
    lines = [
        _line(_LOAD, _ARCH_AT),
        _line(_EQUAL, architecture, 1, 0),
        _line(_RETURN, _KILL),
        _line(_LOAD, _NUMBER_AT),
        _line(_AT_LEAST, _X32, size + 5, 0),
    ]
    lines += [_line(_EQUAL, number, size - at + 4, 0) for at, number in enumerate(refused)]
    lines += [
        # The C library takes clone where there is no clone3, whose flags a filter cannot see.
        _line(_EQUAL, _CLONE3, 5, 0),
        _line(_EQUAL, clone, 1, 0),
        _line(_RETURN, _ALLOW),
        _line(_LOAD, _FIRST_ARGUMENT_AT),
        _line(_ANY_BIT, _CLONE_THREAD, 2, 0),
        _line(_RETURN, _ERRNO | errno.EPERM),
        _line(_RETURN, _ERRNO | errno.ENOSYS),
        _line(_RETURN, _ALLOW),
    ]
    return lines


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
