"""The filter refuses what it names and nothing else, on either architecture."""

from __future__ import annotations

import errno
import platform
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from perfcase.case import seccomp

REFUSED, ALLOWED, NO_SUCH = seccomp._ERRNO | errno.EPERM, seccomp._ALLOW, seccomp._ERRNO | errno.ENOSYS


PID = 4711
HEADERS = {
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
}
"""The numbers of aarch64 are the generic ones, which every machine's headers have; those of x86_64 only its own have."""


def answer(machine: str, number: int, *, argument: int = 0, architecture: int | None = None) -> int:
    """What the kernel would do, by the rules of linux/bpf_common.h."""
    known = seccomp._ARCHITECTURES[machine]
    given = {0: number, 4: known if architecture is None else architecture, 16: argument}
    lines = [struct.unpack("=HBBI", line) for line in seccomp._program(known, seccomp.numbers(machine), PID)]
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
    named = seccomp.numbers(machine)
    assert len(set(named.values())) == len(named) >= 50
    for number in range(500):
        is_named = number in named.values()
        expected = REFUSED if is_named else NO_SUCH if number == seccomp._CLONE3 else ALLOWED
        assert answer(machine, number) == expected, number
    assert answer(machine, named["clone"], argument=0x3D0F00) == ALLOWED, "a thread"
    assert answer(machine, named["clone"], argument=0x11) == REFUSED, "a process"
    assert answer(machine, named["tgkill"], argument=PID) == ALLOWED, "itself"
    assert answer(machine, named["tgkill"], argument=PID + 1) == REFUSED, "another process"
    assert answer(machine, 0, architecture=3) == seccomp._KILL
    assert answer(machine, 0x40000000 + 41) == REFUSED, "x32"


@pytest.mark.parametrize("machine", sorted({"aarch64", platform.machine()}))
def test_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    lines = re.findall(r"#define __NR3?2?6?4?_(\w+)\s+(\d+)", HEADERS[machine].read_text())
    known = {name: int(number) for name, number in lines}
    assert len(known) > 250
    for name, number in seccomp.numbers(machine).items():
        # Headers may be older than the call.
        assert known.get(name, number) == number, name
    if machine == "aarch64":
        absent = {name for name, (_, number) in seccomp._CALLS.items() if number is None}
        assert not absent & known.keys()


TRIED = """
import ctypes, os, platform, socket, subprocess, threading, time
from perfcase.case import seccomp
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
assert seccomp.is_there() and seccomp.refuse()
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    if libc.syscall(seccomp.numbers(platform.machine())[name], *arguments) != 0:
        raise OSError(ctypes.get_errno(), name)
call("tgkill", os.getpid(), os.getpid(), 0)
for what in (
    lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM), lambda: socket.socket(socket.AF_UNIX), socket.socketpair,
    os.fork, lambda: os.kill(os.getppid(), 0), lambda: call("tgkill", os.getppid(), os.getppid(), 0),
    lambda: call("rt_sigqueueinfo", os.getppid(), 0, ctypes.create_string_buffer(128)), lambda: os.chmod("/nowhere", 0o666),
    lambda: os.fchmod(0, 0o666), lambda: os.chown("/nowhere", 0, 0), lambda: os.setxattr("/nowhere", "user.x", b""),
    lambda: os.utime("/nowhere"), lambda: os.removexattr("/nowhere", "user.x"), lambda: os.nice(1), lambda: time.clock_settime(0, 0), lambda: os.execv("/bin/true", ["true"]), lambda: subprocess.run(["/bin/true"]),
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
