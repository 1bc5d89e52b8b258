"""Somebody traces the system calls of a server and leaves the tracer attached: each call stops the server twice.

Source: ptrace(2), PTRACE_SYSCALL; brendangregg.com, "strace Wow Much Syscall": a server over a hundred times slower.
"""

import ctypes
import os
import time
from pathlib import Path

from programs import redis, redis_client

CAUSE = "watcher traces redis-server with ptrace: it stops at each system call"
NAMED = r"redis-server.*(traced|traces|ptrace).*watcher|watcher.*(traced|traces|ptrace).*redis-server"
BLAMED = r"^(client|redis-server) .*(watcher|traced)"
MOVED = r"watcher|traced"

SEIZE, SYSCALL, ALL_THREADS = 0x4206, 24, 0x40000000


def play(scene):
    redis(scene)
    names = Path("/proc").glob("[0-9]*/comm")
    number = next(int(name.parent.name) for name in names if name.read_text() == "redis-server\n")
    redis_client(scene, "client", "GET", "key:42", count=4)
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

    def watch() -> None:
        if not scene.is_bad:
            time.sleep(1)
            return
        for thread in Path(f"/proc/{number}/task").iterdir():
            if ptrace(SEIZE, int(thread.name), None, 1):  # 1: a stop at a system call is told from SIGTRAP
                os.write(2, b"ptrace failed\n")
            os.kill(number, 18)
        while True:
            thread, status = os.waitpid(-1, ALL_THREADS)
            signal = os.WSTOPSIG(status)
            ptrace(SYSCALL, thread, None, 0 if signal & 0x7F == 5 else signal)

    scene.fork("watcher", watch)
    with scene.recording():
        time.sleep(1)
