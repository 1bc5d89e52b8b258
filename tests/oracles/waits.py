"""A program of which it is known who waits for what. Each part ends by itself; each can be healthy.

    convoy: three processes take one lock in turn; the holder computes (healthy: each has a lock of its own)
    chain:  the first asks the second, which asks the third; the third sleeps (healthy: it answers at once)
    held:   a process answers what another may write only when its own client says more (healthy: the client says it at once)
    stream: a process answers when a copy has what it sent: the sender of the copy's stream waits for the reply to it, and the copy sleeps first
            (healthy: the copy replies at once)
    pages:  a process sends its answers in two parts, the second when there is room for it, and holds what another wants until its client, who
            has all of it, says more
    hog:    two processes want the one CPU that both are bound to (healthy: one of them only)

Its processes have names, which is how a test finds them.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
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
            if not healthy:  # A sleep of no time is a sleep all the same: a timer ends it, late on a busy machine.
                time.sleep(SLEEP_S)
            os.write(returned[1], b"!")

    return [named("first", first), named("second", second), named("third", third)]


def _locking(
    path: str, answer: Callable[[socket.socket, bytes], object], asks: dict[str, Callable], names: tuple[str, str]
) -> list[int]:
    """Two servers with one lock, of a file: from begin to commit, or for a select. Each has a client of its own."""
    listening = [socket.create_server(("127.0.0.1", 0)) for _ in names]

    def serve(server: socket.socket) -> None:
        client, _ = server.accept()
        file = os.open(path, os.O_CREAT | os.O_RDWR)
        while line := client.recv(100):
            fcntl.flock(file, fcntl.LOCK_UN if line == b"commit" else fcntl.LOCK_EX)
            if line == b"select":
                fcntl.flock(file, fcntl.LOCK_UN)
            answer(client, line)

    servers = [named(name, partial(serve, server)) for name, server in zip(names, listening, strict=True)]
    clients = [named(name, partial(ask, server)) for (name, ask), server in zip(asks.items(), listening, strict=True)]
    for server in listening:
        server.close()
    return [*clients, *servers]


def held(folder: str, healthy: bool) -> list[int]:
    def ask(server: socket.socket, lines: list[bytes], pause_s: float) -> None:
        with socket.create_connection(server.getsockname()) as connection:
            end = time.monotonic() + TURNS * 6 * SLEEP_S
            while time.monotonic() < end:
                for line in lines:
                    connection.send(line)
                    connection.recv(100)
                    if line != b"begin":
                        time.sleep(0.001)
                    elif pause_s > 0:
                        time.sleep(pause_s)

    asks = [
        partial(ask, lines=[b"begin", b"commit"], pause_s=0 if healthy else SLEEP_S),
        partial(ask, lines=[b"select"], pause_s=0),
    ]
    return _locking(
        f"{folder}/row", socket.socket.send, dict(zip(("lazy", "web"), asks, strict=True)), ("holder", "waiter")
    )


def stream(healthy: bool) -> list[int]:
    asked, answered, told, done, ready = (os.pipe() for _ in range(5))
    listening = socket.create_server(("127.0.0.1", 0))
    address = listening.getsockname()

    def ask() -> None:
        for _ in range(TURNS):
            os.write(asked[1], b"?")
            os.read(answered[0], 1)

    def commit() -> None:
        for _ in range(TURNS):
            os.read(asked[0], 1)
            for record in (b"1", b"2"):
                os.write(told[1], record)
                time.sleep(0.002)
            os.read(done[0], 1)
            os.write(answered[1], b"!")

    def send() -> None:
        connection, _ = listening.accept()
        os.write(ready[1], b".")
        while True:
            for readable in select.select([told[0], connection], [], [])[0]:
                if readable is connection:
                    if not connection.recv(100):
                        return
                    os.write(done[1], b".")
                elif record := os.read(told[0], 1):
                    connection.send(record)

    def copy() -> None:
        with socket.create_connection(address) as connection:
            for _ in range(TURNS):
                while b"2" not in connection.recv(100):
                    pass
                if not healthy:
                    time.sleep(SLEEP_S)
                connection.send(b"have it")

    parts = [named(*each) for each in (("commits", commit), ("sender", send), ("copy", copy))]
    listening.close()
    os.read(ready[0], 1)  # On a busy machine the first answer would wait for the connection.
    return [named("asker", ask), *parts]


def pages(folder: str) -> list[int]:
    def answer(client: socket.socket, _: bytes) -> None:
        client.send(b"one")
        select.select([], [client], [])
        client.send(b"two")

    def ask(server: socket.socket, lines: list[bytes], pause_s: float) -> None:
        with socket.create_connection(server.getsockname()) as connection:
            end = time.monotonic() + TURNS * 6 * SLEEP_S
            while time.monotonic() < end:
                for line in lines:
                    connection.send(line)
                    answer = b""
                    while len(answer) < 6:
                        answer += connection.recv(100)
                    time.sleep(pause_s if line == b"begin" else 0.001)

    asks = [partial(ask, lines=[b"begin", b"commit"], pause_s=SLEEP_S), partial(ask, lines=[b"select"], pause_s=0)]
    return _locking(f"{folder}/page", answer, dict(zip(("reader", "other"), asks, strict=True)), ("pager", "waits"))


def hog(healthy: bool) -> list[int]:
    def run(seconds: float) -> None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        compute(seconds)

    return [named("bound", lambda: run(0.2)), *([] if healthy else [named("hog", lambda: run(0.2))])]


def main() -> None:
    """Run the parts one after the other: all of them (faulty, healthy), or the one that is named."""
    (kind,) = sys.argv[1:]
    healthy = kind == "healthy"
    with tempfile.TemporaryDirectory() as folder:
        parts = {
            "convoy": lambda: convoy(folder, healthy),
            "chain": lambda: chain(healthy),
            "held": lambda: held(folder, healthy),
            "stream": lambda: stream(healthy),
            "pages": lambda: pages(folder),
            "hog": lambda: hog(healthy),
        }
        for name, part in parts.items():
            if kind in ("faulty", "healthy", name):
                for pid in part():
                    os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
