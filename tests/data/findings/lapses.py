"""For some seconds, what a program does that has one fault, or has it not: zombies, reaped, storm, calm, again, kept."""

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections import deque

END = time.monotonic() + (1 if sys.argv[1] in ("storm", "calm") else 3)


def named(name: str) -> None:
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)


def children(is_reaped: bool) -> None:
    while time.monotonic() < END:
        child = os.fork()
        if not child:
            os._exit(0)
        if is_reaped:
            os.waitpid(child, 0)
        time.sleep(0.05)


def signals(pause_s: float) -> None:
    signal.signal(signal.SIGUSR1, lambda *_: None)
    worker = os.getpid()
    if os.fork() == 0:
        named("ticker")
        while time.monotonic() < END:
            os.kill(worker, signal.SIGUSR1)
            time.sleep(pause_s)
        os._exit(0)
    ours, _theirs = socket.socketpair()
    ours.settimeout(0.1)
    while time.monotonic() < END:
        with contextlib.suppress(TimeoutError):
            ours.recv(1)
    os.wait()


def tunnel(name: str) -> int:
    """Open a network device of tun(4), without a head before each packet."""
    file = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(file, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1001))
    return file


def up(name: str, address: str) -> None:
    subprocess.run(["ip", "addr", "add", address, "dev", name], check=True)
    subprocess.run(["ip", "link", "set", name, "up"], check=True)


def carry(near: int) -> None:
    """Hold each packet between two network namespaces back for 10 ms, and answer in the other one."""
    ctypes.CDLL(None).unshare(0x40000000)
    far = tunnel("far")
    up("far", "10.8.0.2/24")
    if os.fork() == 0:
        named("server")
        door = socket.create_server(("10.8.0.2", 9000))
        while True:
            link, _ = door.accept()
            while link.recv(100):
                link.sendall(b"ok")
            link.close()
    due = deque()
    while True:
        wait = max(0, due[0][0] - time.monotonic()) if due else None
        for end in select.select([near, far], [], [], wait)[0]:
            due.append((time.monotonic() + 0.01, far if end == near else near, os.read(end, 65536)))
        while due and due[0][0] <= time.monotonic():
            _, end, packet = due.popleft()
            os.write(end, packet)


def questions(is_kept: bool) -> None:
    near = tunnel("near")
    up("near", "10.8.0.1/24")
    if os.fork() == 0:
        named("wire")
        carry(near)
    time.sleep(0.5)
    link = None
    while time.monotonic() < END:
        link = link or socket.create_connection(("10.8.0.2", 9000))
        link.sendall(b"hello")
        link.recv(100)
        if not is_kept:
            link.close()
            link = None
    os.killpg(0, signal.SIGKILL)


WORK = {
    "zombies": lambda: children(False),
    "reaped": lambda: children(True),
    "storm": lambda: signals(0.0002),
    "calm": lambda: signals(0.01),
    "again": lambda: questions(False),
    "kept": lambda: questions(True),
}
named("worker")
WORK[sys.argv[1]]()
