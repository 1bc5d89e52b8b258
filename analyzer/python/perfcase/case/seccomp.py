"""Refuse the system calls that analyses and imports do not need: programs, other processes, all sockets, rights of files.

Landlock restricts files and TCP; this filter restricts the rest (UDP, Unix sockets, io_uring, fork, exec, signals). It is a filter of seccomp(2)
in classic BPF, for all threads of the process, and cannot be removed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

# The numbers of each call in asm/unistd.h on x86_64 and arm64, which has some not at all.
_CALLS: dict[str, tuple[int, int | None]] = {
    # other programs and processes
    "execve": (59, 221), "execveat": (322, 281), "fork": (57, None), "vfork": (58, None), "clone": (56, 220),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "process_madvise": (440, 440),
    "kcmp": (312, 272), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    # signals
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424),
    # sockets and what else processes talk by
    "socket": (41, 198), "socketpair": (53, 199), "io_uring_setup": (425, 425), "shmget": (29, 194), "semget": (64, 190),
    "msgget": (68, 186), "mq_open": (240, 180),
    # what Landlock leaves open: who may do what with a file, and its times
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "lchown": (94, None), "fchown": (93, 55), "fchownat": (260, 54), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "setxattrat": (463, 463), "mknod": (133, None), "mknodat": (259, 33),
    "open_by_handle_at": (304, 265), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    # the system itself: of an import that root makes, too
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "sethostname": (170, 161), "setdomainname": (171, 162), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    "quotactl": (179, 60), "iopl": (172, None), "ioperm": (173, None), "delete_module": (176, 106), "vhangup": (153, 58),
    "sched_setscheduler": (144, 119), "sched_setparam": (142, 118), "sched_setattr": (314, 274), "ioprio_set": (251, 30),
    "setpriority": (141, 140), "sync": (162, 81),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "unshare": (272, 97), "setns": (308, 268),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsmount": (432, 432), "mount_setattr": (442, 442),
    "init_module": (175, 105), "finit_module": (313, 273), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "reboot": (169, 142), "syslog": (103, 116), "fanotify_init": (300, 262), "personality": (135, 92),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "seccomp": (317, 277),
}  # fmt: skip
# AUDIT_ARCH_*
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE3 = 435
_CLONE_THREAD = 0x10000
_X32 = 0x40000000

# linux/bpf_common.h, linux/seccomp.h
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_SET_MODE_FILTER, _GET_ACTION_AVAIL, _TSYNC = 1, 2, 1


def refuse() -> bool:
    """Reject these calls with EPERM from now on; new threads stay possible. Return False if this machine cannot.

    Wants PR_SET_NO_NEW_PRIVS to be set.
    """
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        return False
    program = b"".join(_program(_ARCHITECTURES[machine], numbers(machine), os.getpid()))
    code = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    return _seccomp(machine, _SET_MODE_FILTER, _TSYNC, described) == 0


def is_there() -> bool:
    """Return whether ``refuse`` works on this machine."""
    machine = platform.machine()
    return machine in _ARCHITECTURES and _seccomp(machine, _GET_ACTION_AVAIL, 0, struct.pack("=I", _ERRNO)) == 0


def numbers(machine: str) -> dict[str, int]:
    """Return the number of each call on a kind of machine."""
    column = list(_ARCHITECTURES).index(machine)
    return {name: found for name, both in _CALLS.items() if (found := both[column]) is not None}


def _seccomp(machine: str, operation: int, flags: int, argument: bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc.syscall(numbers(machine)["seccomp"], operation, flags, argument)


def _program(architecture: int, calls: dict[str, int], pid: int) -> list[bytes]:
    asked = {calls[name] for name in ("clone", "tgkill")}
    refused = [number for number in calls.values() if number not in asked]
    size = len(refused)
    # After the comparisons come: clone3, clone, tgkill, allow, is it a thread, is it this process, EPERM, ENOSYS, allow.
    # A jump counts from the next line.
    lines = [
        _line(_LOAD, _ARCH_AT),
        _line(_EQUAL, architecture, 1, 0),
        _line(_RETURN, _KILL),
        _line(_LOAD, _NUMBER_AT),
        _line(_AT_LEAST, _X32, size + 8, 0),
    ]
    lines += [_line(_EQUAL, number, size - at + 7, 0) for at, number in enumerate(refused)]
    lines += [
        # The C library takes clone where there is no clone3, whose flags a filter cannot see.
        _line(_EQUAL, _CLONE3, 8, 0),
        _line(_EQUAL, calls["clone"], 2, 0),
        _line(_EQUAL, calls["tgkill"], 3, 0),
        _line(_RETURN, _ALLOW),
        _line(_LOAD, _FIRST_ARGUMENT_AT),
        _line(_ANY_BIT, _CLONE_THREAD, 4, 2),
        # A process may end itself by a signal: what a crash was is seen by it.
        _line(_LOAD, _FIRST_ARGUMENT_AT),
        _line(_EQUAL, pid, 2, 0),
        _line(_RETURN, _ERRNO | errno.EPERM),
        _line(_RETURN, _ERRNO | errno.ENOSYS),
        _line(_RETURN, _ALLOW),
    ]
    return lines


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
