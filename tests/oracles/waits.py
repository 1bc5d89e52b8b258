"""A program of which it is known who waits for what. Each part ends by itself; each can be healthy.

    convoy: three processes take one lock in turn; the holder computes (healthy: each has a lock of its own)
    chain:  the first asks the second, which asks the third; the third sleeps (healthy: it answers at once)
    hog:    two processes want the one CPU that both are bound to (healthy: one of them only)

Its processes have names, which is how a test finds them.
"""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

TURNS = 10
HOLD_S = 0.01
SLEEP_S = 0.03


def named(name: str, work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    Path("/proc/self/comm").write_text(name)
    work()
    os._exit(0)


def compute(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def convoy(folder: str, healthy: bool) -> list[int]:
    def take(number: int) -> None:
        file = os.open(f"{folder}/{number if healthy else 'one'}", os.O_CREAT | os.O_RDWR)
        for _ in range(TURNS):
            fcntl.flock(file, fcntl.LOCK_EX)
            compute(HOLD_S)
            fcntl.flock(file, fcntl.LOCK_UN)

    return [named(f"convoy{number}", lambda number=number: take(number)) for number in range(3)]


def chain(healthy: bool) -> list[int]:
    asked, answered, passed, returned = (os.pipe() for _ in range(4))

    def first() -> None:
        for _ in range(TURNS):
            os.write(asked[1], b"?")
            os.read(answered[0], 1)

    def second() -> None:
        for _ in range(TURNS):
            os.read(asked[0], 1)
            os.write(passed[1], b"?")
            os.read(returned[0], 1)
            os.write(answered[1], b"!")

    def third() -> None:
        for _ in range(TURNS):
            os.read(passed[0], 1)
            time.sleep(0 if healthy else SLEEP_S)
            os.write(returned[1], b"!")

    return [named("first", first), named("second", second), named("third", third)]


def hog(healthy: bool) -> list[int]:
    def run(seconds: float) -> None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        compute(seconds)

    return [named("bound", lambda: run(0.2)), *([] if healthy else [named("hog", lambda: run(0.2))])]


def main() -> None:
    """Run the parts one after the other."""
    healthy = sys.argv[1:] == ["healthy"]
    with tempfile.TemporaryDirectory() as folder:
        for part in (lambda: convoy(folder, healthy), lambda: chain(healthy), lambda: hog(healthy)):
            for pid in part():
                os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
