"""Runs a command under a seccomp filter, as a container does: the kernel compiles it, and its code is in no module."""

from __future__ import annotations

import ctypes
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
FIRST_ARGUMENT, ALLOW = 16, 0x7FFF0000
COMPARISONS = 400
"""The kernel remembers calls that a filter allows whatever their arguments are, so it compares one: with values that no call has."""


def main() -> None:
    """Allow every call, slowly."""
    steps = [(LOAD_WORD, 0, 0, FIRST_ARGUMENT)]
    steps += [(JUMP_IF_EQUAL, 0, 0, 0xDEAD0000 + number) for number in range(COMPARISONS)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in [*steps, (RETURN, 0, 0, ALLOW)]))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    prctl = ctypes.CDLL(None).prctl
    program = Program(len(steps) + 1, ctypes.addressof(code))
    # Where it is refused, the command runs without.
    if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
