"""Servers that need not load first: a process that has loaded what a server needs, and each server of the tests is a copy of it.

To load it takes 0.7 s of a CPU, and the tests start fifty servers. What is copied has one thread and no connection.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

from tests.support import borrowed

ROOT = Path(__file__).parents[2]
MESSAGE_MAX = 1 << 16
PRELOAD = ""
"""What malloc they have: tests/conftest.py sets it."""


class Copy:
    """A server, with the part of ``subprocess.Popen`` that tests use."""

    def __init__(
        self, words: Sequence[str], bounds: Mapping[str, Mapping[str, float]], log: IO[str], *, imports: bool = False
    ) -> None:
        """Runs perfcase with these words; ``bounds`` and ``imports`` as ``tests.api.conftest.start`` has them."""
        self.returncode: int | None = None
        self._told, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            order = json.dumps(
                {"words": list(words), "bounds": bounds, "imports": imports, "environment": dict(os.environ)}
            )
            socket.send_fds(_loaded(), [order.encode()], [log.fileno(), theirs.fileno()])
        self.pid = int(self._told.recv(MESSAGE_MAX))

    def poll(self) -> int | None:
        """How it ended, if it did."""
        return self._ended(0)

    def wait(self, timeout: float) -> int:
        """Waits until it has ended."""
        code = self._ended(timeout)
        assert code is not None, "the server did not end"
        return code

    def send_signal(self, number: int) -> None:
        """Sends it a signal, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kills it."""
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout: float) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], timeout)[0]:
            self.returncode = int(self._told.recv(MESSAGE_MAX) or b"-9")
            self._told.close()
        return self.returncode


@cache
def _loaded() -> socket.socket:
    """The process that is copied: it ends with this one, as the socket does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.servers", str(theirs.fileno())],
            cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=os.environ | {"LD_PRELOAD": PRELOAD},
        )  # fmt: skip
    atexit.register(ours.close)
    return ours


def _main(orders: socket.socket) -> None:
    _load()
    # Who follows a server is not waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        order, handles, _, _ = socket.recv_fds(orders, MESSAGE_MAX, 2)
        if not order:
            return
        if os.fork() == 0:
            orders.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _follow(json.loads(order), *handles)
        for handle in handles:
            os.close(handle)


def _follow(order: dict, log: int, told: int) -> None:
    """Starts the server, and tells its number and how it ended."""
    with socket.socket(fileno=told) as teller:
        pid = os.fork()
        if pid == 0:
            teller.close()
            code = 70
            with contextlib.suppress(BaseException):
                os.dup2(log, 2)
                os.close(log)
                code = _serve(order)
            os._exit(code)
        os.close(log)
        teller.send(str(pid).encode())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        # The test may have ended.
        with contextlib.suppress(OSError):
            teller.send(str(code).encode())
    os._exit(0)


def _serve(order: dict) -> int:
    from dataclasses import replace

    from perfcase.cli.main import run
    from perfcase_api import serving

    os.environ.clear()
    os.environ.update(order["environment"])
    if not order["imports"]:
        borrowed.borrow()
    usual = serving.serve

    def bounded(settings: serving.Settings, say: object) -> None:
        bounds = {name: replace(getattr(settings, name), **given) for name, given in order["bounds"].items()}
        usual(replace(settings, **bounds), say)

    serving.serve = bounded
    return run(order["words"])


def _load() -> None:
    from perfcase.cli import serve_command  # noqa: F401
    from perfcase.cli.main import build_app
    from perfcase_api import serving  # noqa: F401

    build_app()
    borrowed.state()


if __name__ == "__main__":
    _main(socket.socket(fileno=int(sys.argv[1])))
