"""The filter refuses what it names and nothing else, on either architecture."""

from __future__ import annotations

import errno
import struct
import subprocess
import sys

import pytest

from perfcase_api import seccomp

REFUSED, ALLOWED, NO_SUCH = seccomp._ERRNO | errno.EPERM, seccomp._ALLOW, seccomp._ERRNO | errno.ENOSYS


def answer(machine: str, number: int, *, argument: int = 0, architecture: int | None = None) -> int:
    """What the kernel would do, by the rules of linux/bpf_common.h."""
    known, numbers = seccomp._ARCHITECTURES[machine]
    given = {0: number, 4: known if architecture is None else architecture, 16: argument}
    lines = [
        struct.unpack("=HBBI", line)
        for line in seccomp._program(known, dict(zip(seccomp._NAMES, numbers, strict=False)))
    ]
    at = loaded = 0
    while True:
        code, if_true, if_false, value = lines[at]
        at += 1
        if code == seccomp._RETURN:
            return value
        if code == seccomp._LOAD:
            loaded = given[value]
        else:
            is_so = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
            at += if_true if is_so else if_false


@pytest.mark.parametrize("machine", sorted(seccomp._ARCHITECTURES))
def test_each_call_has_its_answer(machine: str) -> None:
    named = dict(zip(seccomp._NAMES, seccomp._ARCHITECTURES[machine][1], strict=False))
    assert len(set(named.values())) == len(named) >= 28
    for number in range(500):
        is_named = number in named.values()
        expected = REFUSED if is_named else NO_SUCH if number == seccomp._CLONE3 else ALLOWED
        assert answer(machine, number) == expected, number
    assert answer(machine, named["clone"], argument=0x3D0F00) == ALLOWED, "a thread"
    assert answer(machine, named["clone"], argument=0x11) == REFUSED, "a process"
    assert answer(machine, 0, architecture=3) == seccomp._KILL
    assert answer(machine, 0x40000000 + 41) == REFUSED, "x32"


TRIED = """
import ctypes, os, socket, subprocess, threading
from perfcase_api import seccomp
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
assert seccomp.refuse()
for what in (
    lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM), lambda: socket.socket(socket.AF_UNIX), socket.socketpair,
    os.fork, lambda: os.kill(os.getppid(), 0), lambda: os.execv("/bin/true", ["true"]), lambda: subprocess.run(["/bin/true"]),
):
    try:
        what()
    except PermissionError:
        continue
    raise SystemExit("not refused")
threads = [threading.Thread(target=print, args=("thread",)) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def test_it_holds_here() -> None:
    done = subprocess.run([sys.executable, "-c", TRIED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("thread")) == (0, 2), done.stderr
