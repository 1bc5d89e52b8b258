"""Processes for analyses and imports that start at once: one process loads everything, and each job is a fork of it.

A fork takes 2 ms; to start Python and load DuckDB takes half a second of a CPU. The forked process has one
thread and no connection. ``Nursery`` is the end of the server, ``perfcase_api.worker`` the other end. The server sends
``fork`` (with three ends of pipes for the child) and ``kill PID`` on a socket, and gets ``pid PID`` and ``end PID CODE``. The parent
kills its children, because only the parent knows that a pid still belongs to its child.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections import deque
from pathlib import Path

from perfcase.case import sandbox
from perfcase_api.errors import ApiError
from perfcase_api.worker import MESSAGE_MAX, READY

Pipe = tuple[asyncio.StreamReader, asyncio.ReadTransport]


class Child:
    """A process that waits for its order, with the part of asyncio's Process that a job needs."""

    def __init__(self, nursery: Nursery, stdin: int, output: Pipe, error: Pipe) -> None:
        self.stdout, self.stderr = output[0], error[0]
        self.pid = 0
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._nursery = nursery
        self._stdin: int | None = stdin
        self._transports = output[1], error[1]

    @property
    def returncode(self) -> int | None:
        """None while it runs; below 0: the signal that ended it."""
        return self.ended.result() if self.ended.done() else None

    def order(self, line: bytes) -> None:
        """Send the one line of input. A pipe takes 64 KiB at once. If the process has ended, its exit code says so."""
        assert self._stdin is not None
        pipe, self._stdin = self._stdin, None
        with contextlib.suppress(OSError), os.fdopen(pipe, "wb") as writer:
            writer.write(line)

    def close(self) -> None:
        """Close the pipes. A process without a job ends then."""
        for transport in self._transports:
            transport.close()
        if self._stdin is not None:
            self.order(b"")

    def kill(self) -> None:
        """End it."""
        self._nursery.say(f"kill {self.pid}")

    async def wait(self) -> int:
        """Wait until it ends, and return how."""
        return await asyncio.shield(self.ended)


class Nursery:
    """The server's end of the process that is copied; it is started with the first job, and again if it was killed."""

    def __init__(self, folder: Path) -> None:
        """Keep the settings. ``folder`` is the working folder of the processes, so that their output names captures and not the store."""
        self._folder = folder
        self._lock = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._socket: socket.socket | None = None
        self._asked: deque[Child] = deque()
        self._children: dict[int, Child] = {}

    async def child(self, line_max: int = 1 << 16) -> Child:
        """Return a new process; ``line_max``: bytes of what it may write before that is read."""
        async with self._lock:
            await self._start()
            assert self._socket is not None
            near, far = zip(*(os.pipe() if number else os.pipe()[::-1] for number in range(3)), strict=True)
            try:
                readers = [await _reader(pipe, line_max) for pipe in near[1:]]
                child = Child(self, near[0], *readers)
                socket.send_fds(self._socket, [b"fork"], far)
                self._asked.append(child)
            finally:
                for pipe in far:
                    os.close(pipe)
        try:
            await asyncio.shield(child.started)
        except asyncio.CancelledError:
            child.close()
            raise
        return child

    def say(self, message: str) -> None:
        """Send a message without an answer. If the process is gone, do nothing."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.send(message.encode())

    async def close(self) -> None:
        """End it and all of its children."""
        async with self._lock:
            self._lose()
            if self._process is not None:
                await self._process.wait()

    async def start(self) -> None:
        """Start it ahead of the first job."""
        async with self._lock:
            await self._start()

    async def _start(self) -> None:
        if self._socket is not None:
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # -P: the working directory, where all captures are, is none of the folders that code comes from.
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "perfcase_api.worker", str(theirs.fileno()),
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
                env=sandbox.environment(), cwd=self._folder, pass_fds=[theirs.fileno()],
            )  # fmt: skip
        assert self._process.stderr is not None
        line = await self._process.stderr.readline()
        if line != READY:
            ours.close()
            more = (line + await self._process.stderr.read()).decode("utf-8", "replace").strip().splitlines()
            raise ApiError("environment", f"the process for analyses did not start: {more[-1] if more else '-'}")
        ours.setblocking(False)
        self._socket = ours
        asyncio.get_running_loop().add_reader(ours, self._heard, ours)

    def _heard(self, ours: socket.socket) -> None:
        while True:
            try:
                words = ours.recv(MESSAGE_MAX).split()
            except BlockingIOError:
                return
            except OSError:
                words = []
            if not words:
                self._lose()
                return
            if words[0] == b"pid":
                child = self._asked.popleft()
                child.pid = int(words[1])
                self._children[child.pid] = child
                child.started.set_result(None)
            else:
                self._children.pop(int(words[1])).ended.set_result(int(words[2]))

    def _lose(self) -> None:
        """Close the connection to a dead process. The kernel kills its children."""
        if self._socket is None:
            return
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        self._socket = None
        for child in self._asked:
            child.started.set_result(None)
        for child in (*self._asked, *self._children.values()):
            child.ended.set_result(-signal.SIGKILL)
        self._asked.clear()
        self._children.clear()


async def _reader(pipe: int, line_max: int) -> Pipe:
    reader = asyncio.StreamReader(line_max)
    loop = asyncio.get_running_loop()
    opened = os.fdopen(pipe, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), opened)
    return reader, transport
