"""Run analyses in their own processes, a few at a time. They have limits, can be stopped, and do not block other users.

A process serves one job and ends. It is a copy of one that has loaded everything (nursery): no job waits for Python to load.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from perfcase.case.query import MEMORY_SHORT
from perfcase.errors import EXIT_CODES
from perfcase_api import checking
from perfcase_api.analysing import READ
from perfcase_api.checking import Checked
from perfcase_api.errors import ApiError, of_disk
from perfcase_api.line import USUAL, Line
from perfcase_api.nursery import Child, Nursery
from perfcase_api.settings import Limits
from perfcase_api.shared import Shared

_T = TypeVar("_T")

_CHUNK = 1 << 16
_STDERR_MAX = 1 << 16
_IN_MEMORY = 1 << 20
"""Bytes of an answer that wait for their reader in memory; more go into a file."""
PATIENCE = 10
"""What only waits, for a disk that does not answer, is stopped after so many times the CPU time that it may use."""
_CHECKS = 2
"""Uploads that are looked at at once; they do not wait for analyses."""
_CHECK_S, _CHECK_BYTES_PER_S = 60.0, 20 << 20
_KIND = {code: kind for kind, code in EXIT_CODES.items()}


KEPT_BYTES_MAX = 32 << 20
"""An answer that is larger is not kept."""
Keep = Callable[[bytes], Awaitable[None]]
"""Called with a whole answer, before any of its readers sees its end."""


class Job:
    """A running analysis. Its output comes by ``output``, to each reader from its beginning; a failure before the first byte is an ApiError.

    The output is taken as fast as it comes, and waits here for who reads it: the process is gone, and its place given to the next,
    however slowly a client reads.
    """

    def __init__(
        self, process: Child, limits: Limits, scratch: Path, ended: Callable[[], None], keep: Keep | None = None
    ) -> None:
        """Keep the process; ``ended`` is called once, when it is gone."""
        self._process = process
        self._limits = limits
        self._deadline = asyncio.get_running_loop().time() + PATIENCE * limits.job_seconds
        self._said = asyncio.create_task(self._read_stderr())
        self._kept = tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=scratch)  # noqa: SIM115 - closed by end
        self._kept_bytes = 0
        self._grown = asyncio.Event()
        self._ended = ended
        self._keep = keep
        self._taken = asyncio.create_task(self._take_all())
        self._taken.add_done_callback(lambda _: self._grown.set())

    async def output(self) -> AsyncIterator[bytes]:
        """Yield what the analysis wrote. Ends with an ApiError if it failed, took too long or wrote too much."""
        at = 0
        while True:
            if at < self._kept_bytes:
                self._kept.seek(at)
                chunk = self._kept.read(min(_CHUNK, self._kept_bytes - at))
                at += len(chunk)
                yield chunk
            elif self._taken.done():
                self._taken.result()
                return
            else:
                self._grown.clear()
                await self._grown.wait()

    @property
    def has_failed(self) -> bool:
        """Whether it ended without a whole answer."""
        return self._taken.done() and (self._taken.cancelled() or self._taken.exception() is not None)

    async def _take_all(self) -> None:
        await self._take()
        if self._keep is not None and self._kept_bytes <= KEPT_BYTES_MAX:
            self._kept.seek(0)
            await self._keep(self._kept.read())

    async def _take(self) -> None:
        """Take all output, then say how it ended; the process is gone afterwards."""
        try:
            while chunk := await self._in_time(self._process.stdout.read(_CHUNK)):
                if self._kept_bytes + len(chunk) > self._limits.job_output_bytes:
                    raise ApiError("too_large", f"the answer is larger than {self._limits.job_output_bytes:,} bytes",
                                   "ask for fewer rows or columns")  # fmt: skip
                self._kept.seek(self._kept_bytes)
                self._kept.write(chunk)
                self._kept_bytes += len(chunk)
                self._grown.set()
            code = await self._in_time(self._process.wait())
            if code:
                raise await self._failure(code)
        except TimeoutError:
            seconds = self._limits.job_seconds
            raise _stopped(f"{PATIENCE * seconds:g} s, in which it used less than {seconds:g} s of CPU time") from None
        except OSError as error:
            raise of_disk(error, what="the answer cannot be kept") from error
        finally:
            if self._process.returncode is None:
                self._process.kill()
            try:
                await self._process.wait()
            finally:
                self._ended()

    async def _in_time(self, work: Awaitable[_T]) -> _T:
        return await asyncio.wait_for(work, max(0.0, self._deadline - asyncio.get_running_loop().time()))

    async def bytes_read(self) -> int | None:
        """Return how many bytes of the tables' files the answer took; None where nobody counted them, or where the answer is too long to wait
        for its end in memory.

        Raises:
            ApiError: the analysis failed before its answer was so long.
        """
        while not self._taken.done():
            if self._kept_bytes > _IN_MEMORY:
                return None
            self._grown.clear()
            await self._grown.wait()
        self._taken.result()
        said = (await self.notes()).splitlines()
        return int(said[-1].removeprefix(READ)) if said and said[-1].startswith(READ) else None

    async def notes(self) -> str:
        """Return what the analysis said on standard error beside its output."""
        return (await self._said).decode("utf-8", "replace")

    async def end(self) -> None:
        """Kill the process if it still runs."""
        for task in (self._taken, self._said):
            task.cancel()
        await asyncio.wait({self._taken, self._said})
        if not self._taken.cancelled():
            # Looked at, whether or not anybody read so far.
            self._taken.exception()
        self._process.close()
        self._kept.close()

    async def _failure(self, code: int) -> ApiError:
        text = (await self.notes()).strip().splitlines()
        message = text[-1].removeprefix("perfcase: ") if text else ""
        if code == -signal.SIGXCPU:
            return _stopped(f"{self._limits.job_seconds:g} s of CPU time")
        if code < 0 or message.startswith(MEMORY_SHORT):
            # Killed beyond what DuckDB notices; what DuckDB notices has a hint for the command line.
            return ApiError("too_large", MEMORY_SHORT, "ask for less")
        return ApiError(_KIND.get(code, "internal"), message or "the analysis failed")

    async def _read_stderr(self) -> bytes:
        kept = bytearray()
        while chunk := await self._process.stderr.read(_CHUNK):
            kept += chunk[: _STDERR_MAX - len(kept)]
        return bytes(kept)


def _stopped(after: str) -> ApiError:
    return ApiError("timeout", f"stopped after {after}", "ask for less, or import the capture yourself")


class Jobs:
    """The processes of a server."""

    def __init__(self, workers: int, limits: Limits, nursery: Nursery, scratch: Path) -> None:
        """Keep the settings. ``nursery`` starts the processes; ``close`` ends it.

        ``scratch``: where each gets a folder of its own; what a kill left there goes.
        """
        self._scratch = scratch
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True, mode=0o700)
        self._limits = limits
        self._slots = asyncio.Semaphore(workers)
        self._checks = asyncio.Semaphore(_CHECKS)
        self._nursery = nursery
        self._of_user: dict[str, Line] = {}
        self._asked = self._begun = self._running = 0
        self._turns: Shared[None] = Shared()
        self._answers: Shared[Job] = Shared()
        self._starting: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Load everything ahead of the first job."""
        self._starting = asyncio.create_task(self._nursery.start())

    @asynccontextmanager
    async def turn(self, user: str, key: Hashable, urgency: int = USUAL) -> AsyncIterator[None]:
        """Wait until the user's questions before this one are answered, and sent: what a slow reader has not read yet is held for him only.

        Equal questions of a user, with the same ``key``, have one turn.
        """
        line = self._of_user.setdefault(user, Line(self._limits.jobs_per_user))
        self._asked += 1
        try:
            async with self._turns.use((user, key), lambda: line.place(urgency)):
                yield
        finally:
            self._asked -= 1

    @asynccontextmanager
    async def answer(
        self, key: Hashable, question: dict[str, Any], readable: Sequence[Path], keep: Keep | None = None
    ) -> AsyncIterator[Job]:
        """Answer a question (perfcase_api.analysing) in a process that may read these folders. Those who ask with the same ``key``
        while it works have the same process, which is killed when the last of them has left the block."""

        def work() -> AbstractAsyncContextManager[Job]:
            return self._job({"analysis": question}, readable, self._slots, self._limits, keep)

        if (job := self._answers.at_hand(key)) and job.has_failed:
            self._answers.forget(key)
        async with self._answers.use(key, work) as job:
            yield job

    def load(self) -> tuple[int, int]:
        """Return how many analyses have a process, and how many questions wait for one, or for who reads their answer."""
        return self._running, max(0, self._asked - self._running)

    @property
    def begun(self) -> int:
        """How many analyses have had a process since the server began."""
        return self._begun

    async def check(self, file: Path, begin: int, is_whole: bool) -> Checked:
        """Look at an upload from an offset on."""
        size = file.stat().st_size
        limits = replace(
            self._limits,
            job_seconds=max(_CHECK_S, size / _CHECK_BYTES_PER_S),
            job_memory_bytes=checking.MEMORY_BYTES + size,
            job_output_bytes=checking.REPLY_BYTES_MAX,
        )
        try:
            async with self._job({"check": [str(file), begin, is_whole]}, [file], self._checks, limits) as job:
                return checking.parse_reply(b"".join([part async for part in job.output()]))
        except (ApiError, ValueError) as error:
            if isinstance(error, ApiError) and error.kind == "environment":
                raise
            return Checked(checked_bytes=begin, damage=(f"cannot be checked: {error}",))

    @asynccontextmanager
    async def _job(
        self,
        order: dict[str, Any],
        readable: Sequence[Path],
        slots: asyncio.Semaphore,
        limits: Limits,
        keep: Keep | None = None,
    ) -> AsyncIterator[Job]:
        await slots.acquire()
        self._running += slots is self._slots
        self._begun += slots is self._slots

        def ended() -> None:
            self._running -= slots is self._slots
            slots.release()

        try:
            # Before there is a process: without its order it would stay in its place until its time is up.
            scratch = tempfile.mkdtemp(dir=self._scratch)
        except OSError as error:
            ended()
            raise of_disk(error) from error
        try:
            process = await self._nursery.child()
        except BaseException:
            ended()
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        job = Job(process, limits, self._scratch, ended, keep)
        try:
            order = {
                **order,
                "readable": [str(path) for path in readable],
                "scratch": scratch,
                "scratch_bytes": limits.job_output_bytes,
                "memory_bytes": limits.job_memory_bytes,
                "cpu_seconds": math.ceil(limits.job_seconds),
            }
            # An order may be longer than a pipe is wide.
            await asyncio.to_thread(process.order, json.dumps(order).encode() + b"\n")
            yield job
        finally:
            await job.end()
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def close(self) -> None:
        """End all processes."""
        if self._starting is not None:
            with contextlib.suppress(ApiError):
                await self._starting
        await self._answers.ended()
        await self._nursery.close()
