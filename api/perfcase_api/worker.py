"""The process that loads everything, and forks a child for each analysis and import.

``python -m perfcase_api.worker SOCKET`` uses the protocol of perfcase_api.nursery. A child reads one line of JSON from standard
input: ``{"analysis", "readable", "memory_bytes", "cpu_seconds", "scratch", "scratch_bytes"}``, gives up its rights, writes the
answer to standard output (perfcase_api.analysing), and ends with the exit code that the command line has for the same error. With
``"check"`` in place of ``"analysis"`` it looks at an upload that arrives (perfcase_api.checking). ``{"import", "folder", "limits"}`` is
an import (perfcase_api.import_worker).
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

from perfcase.case import sandbox

READY = b"ready\n"
"""Written to standard error when everything is loaded."""
MESSAGE_MAX = 100
"""Bytes of a message."""


def main() -> None:
    """Fork children until the server goes away."""
    # The server's own signals (Ctrl-C in a terminal) are not ours: it ends us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A write beyond RLIMIT_FSIZE shall fail, not kill.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _load()
    # What is loaded stays shared: the collector would write to every object of it.
    gc.collect()
    gc.freeze()
    server = socket.socket(fileno=int(sys.argv[1]))
    os.write(2, READY)
    children: dict[int, int] = {}
    waiting = select.poll()
    waiting.register(server, select.POLLIN)
    while True:
        for handle, _ in waiting.poll():
            if handle != server.fileno():
                waiting.unregister(handle)
                pid = children.pop(handle)
                os.close(handle)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                server.send(f"end {pid} {code}".encode())
                continue
            message, pipes, _, _ = socket.recv_fds(server, MESSAGE_MAX, 3)
            if message == b"fork":
                handle, pid = _fork(server, pipes, children)
                children[handle] = pid
                waiting.register(handle, select.POLLIN)
                server.send(f"pid {pid}".encode())
            elif message:
                number = int(message.split()[1])
                if number in children.values():
                    os.kill(number, signal.SIGKILL)
            else:
                return


def _fork(server: socket.socket, pipes: list[int], others: dict[int, int]) -> tuple[int, int]:
    """Return a child with these ends of pipes as its standard input, output and error; its pidfd and its number."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            sandbox.end_with(parent)
            for number, pipe in enumerate(pipes):
                os.dup2(pipe, number)
            for handle in (server.fileno(), *pipes, *others):
                os.close(handle)
            _work()
        finally:
            os._exit(70)
    for pipe in pipes:
        os.close(pipe)
    return os.pidfd_open(pid), pid


def _work() -> None:
    """Run one job."""
    line = sys.stdin.buffer.readline()
    if not line:
        return
    job = json.loads(line)
    if "import" in job:
        _import(job)
        return
    tempfile.tempdir = os.environ["TMPDIR"] = job["scratch"]
    fence = sandbox.fence([Path(path) for path in job["readable"]] + [*sandbox.OWN], Path(job["scratch"]))
    sandbox.limit(
        memory_bytes=job["memory_bytes"],
        cpu_seconds=job["cpu_seconds"],
        file_bytes=job["scratch_bytes"] if fence.files else 0,
    )
    code = _check(job["check"]) if "check" in job else _analyse(job["analysis"])
    sys.stdout.flush()
    # Not sys.exit: threads of DuckDB need not be waited for, nobody will miss what they do.
    os._exit(code)


def _import(job: dict[str, Any]) -> None:
    from perfcase_api import import_worker

    # What it writes there nobody reads: it says on standard output how it ended.
    with open(os.devnull, "wb") as nothing:  # noqa: PTH123 - a file descriptor is what it is for
        os.dup2(nothing.fileno(), 2)
    import_worker.run(Path(job["import"]), Path(job["folder"]), job["name"], job["limits"])
    sys.stdout.flush()
    os._exit(0)


def _analyse(order: dict[str, Any]) -> int:
    from perfcase_api import analysing

    return analysing.answer(order)


def _check(arguments: list) -> int:
    from perfcase.errors import EXIT_CODES, PerfcaseError
    from perfcase_api import checking

    try:
        sys.stdout.write(checking.look(*arguments))
    except PerfcaseError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_CODES[error.kind]
    return 0


def _load() -> None:
    """Load what every analysis needs, so that the first one does not wait for it."""
    from importlib import import_module

    import duckdb

    from perfcase.case import database, parsed, sharing, store
    from perfcase.catalogue import schema, views
    from perfcase.diff import collect
    from perfcase.operations.request import fields_of
    from perfcase_api.analysing import OPERATIONS

    for name in OPERATIONS:
        fields_of(import_module(f"perfcase.operations.{name}").Request)
    schema.load_tables()
    views.load_views()
    database.views_hash()
    import_module("perfcase_api.import_worker")
    store.import_core()
    duckdb.connect().execute("SELECT 1").fetchall()
    parsed.read_before([*sharing.statements(), *collect.statements(views.load_views().values())])


if __name__ == "__main__":
    main()
