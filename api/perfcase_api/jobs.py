"""Runs analyses in processes of their own, a few at a time: bounded, stoppable, and nobody's keep anybody else waiting.

A process serves one job and ends. It is a copy of one that has loaded everything (nursery): no job waits for Python to load.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from perfcase.errors import EXIT_CODES
from perfcase_api.errors import ApiError
from perfcase_api.nursery import Child, Nursery
from perfcase_api.settings import Limits

_T = TypeVar("_T")

_CHUNK = 1 << 16
_STDERR_MAX = 1 << 16
_KIND = {code: kind for kind, code in EXIT_CODES.items()}


class Job:
    """A running analysis. Its output comes by ``output``; a failure before the first byte is an ApiError."""

    def __init__(self, process: Child, limits: Limits) -> None:
        self._process = process
        self._limits = limits
        self._deadline = asyncio.get_running_loop().time() + limits.job_seconds
        self._said = asyncio.create_task(self._read_stderr())

    async def output(self) -> AsyncIterator[bytes]:
        """What the command wrote. Ends with an ApiError if it failed, took too long or wrote too much."""
        total = 0
        try:
            # One wait at a time, and no timeout around all: the first bytes are read by another task than the rest.
            while chunk := await self._in_time(self._process.stdout.read(_CHUNK)):
                total += len(chunk)
                if total > self._limits.job_output_bytes:
                    raise ApiError("too_large", f"the answer is larger than {self._limits.job_output_bytes:,} bytes",
                                   "ask for fewer rows or columns")  # fmt: skip
                yield chunk
            code = await self._in_time(self._process.wait())
        except TimeoutError:
            raise ApiError(
                "timeout",
                f"stopped after {self._limits.job_seconds:g} s",
                "ask for less, or import the capture yourself",
            ) from None
        if code:
            raise await self._failure(code)

    async def _in_time(self, work: Awaitable[_T]) -> _T:
        return await asyncio.wait_for(work, max(0.0, self._deadline - asyncio.get_running_loop().time()))

    async def notes(self) -> str:
        """What the command said on standard error beside its output."""
        return (await self._said).decode("utf-8", "replace")

    async def end(self) -> None:
        """Kills what still runs."""
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        self._said.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._said
        self._process.close()

    async def _failure(self, code: int) -> ApiError:
        text = (await self.notes()).strip().splitlines()
        message = text[-1].removeprefix("perfcase: ") if text else ""
        if code < 0:
            # Out of memory beyond what DuckDB notices, or of CPU time.
            return ApiError("sql", "the analysis was stopped: it took more memory or time than it may", "ask for less")
        return ApiError(_KIND.get(code, "internal"), message or "the analysis failed")

    async def _read_stderr(self) -> bytes:
        kept = bytearray()
        while chunk := await self._process.stderr.read(_CHUNK):
            kept += chunk[: _STDERR_MAX - len(kept)]
        return bytes(kept)


class Jobs:
    """The processes of a server."""

    def __init__(self, workers: int, limits: Limits, folder: Path, scratch: Path) -> None:
        """``folder``: where the processes work, so that what they print names captures and not where the store is.

        ``scratch``: where each gets a folder of its own; what a kill left there goes.
        """
        self._scratch = scratch
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True, mode=0o700)
        self._limits = limits
        self._slots = asyncio.Semaphore(workers)
        self._nursery = Nursery(folder)
        self._of_user: dict[str, asyncio.Semaphore] = {}
        self._starting: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Loads everything ahead of the first job."""
        self._starting = asyncio.create_task(self._nursery.start())

    @asynccontextmanager
    async def run(self, user: str, arguments: Sequence[str], readable: Sequence[Path]) -> AsyncIterator[Job]:
        """Runs a command line of perfcase that may read these folders; it is killed when the block is left."""
        mine = self._of_user.setdefault(user, asyncio.Semaphore(self._limits.jobs_per_user))
        async with mine, self._slots:
            process = await self._nursery.child()
            job = Job(process, self._limits)
            scratch = tempfile.mkdtemp(dir=self._scratch)
            try:
                order = {
                    "arguments": list(arguments),
                    "readable": [str(path) for path in readable],
                    "scratch": scratch,
                    "scratch_bytes": self._limits.job_output_bytes,
                    "memory_bytes": self._limits.job_memory_bytes,
                    "cpu_seconds": max(1, int(self._limits.job_seconds * (os.cpu_count() or 1))),
                }
                # Arguments may be longer than a pipe is wide.
                await asyncio.to_thread(process.order, json.dumps(order).encode() + b"\n")
                yield job
            finally:
                await job.end()
                await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def close(self) -> None:
        """Ends all processes."""
        if self._starting is not None:
            with contextlib.suppress(ApiError):
                await self._starting
        await self._nursery.close()
