"""Imports uploaded captures, one at a time, in a process of their own; whoever listens is told how far it is.

The import is made in a folder of its own and renamed (perfcase.store), so a kill leaves none that is half done.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

from perfcase_api.catalogue import Catalogue
from perfcase_api.settings import Settings
from perfcase_api.uploads import Uploads

State = dict[str, Any]
_MESSAGE_MAX = 2000


class Imports:
    """The queue of a server."""

    def __init__(self, settings: Settings, catalogue: Catalogue, uploads: Uploads) -> None:
        self._settings = settings
        self._catalogue = catalogue
        self._uploads = uploads
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._progress: dict[str, State] = {}
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins with what waits."""
        for row in self._catalogue.rows("SELECT capture_id FROM capture WHERE state = 'uploaded' ORDER BY uploaded_ns"):
            self._queue.put_nowait(row["capture_id"])
        self._task = asyncio.create_task(self._work())

    def add(self, capture_id: str) -> None:
        """Puts a capture at the end of the queue."""
        self._queue.put_nowait(capture_id)

    async def close(self) -> None:
        """Stops; what is at work is taken up again at the next start."""
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def follow(self, capture_id: str) -> AsyncIterator[State]:
        """The state of an import, and each change of it until it is done."""
        told: State | None = None
        while True:
            state = self.state(capture_id)
            if state != told:
                told = state
                yield state
            if state["state"] in ("ready", "failed", "gone"):
                return
            async with self._changed:
                with contextlib.suppress(TimeoutError):
                    # Not for ever: a change that came between the look and the wait is seen at the next turn.
                    await asyncio.wait_for(self._changed.wait(), 0.5)

    def state(self, capture_id: str) -> State:
        """Where an import is: state, and phase and records while it runs."""
        row = self._catalogue.row("SELECT state, reason FROM capture WHERE capture_id = ?", (capture_id,))
        if row is None:
            return {"state": "gone"}
        state: State = {"state": row["state"]}
        if row["reason"]:
            state["reason"] = row["reason"]
        return {**state, **self._progress.get(capture_id, {})}

    async def _work(self) -> None:
        while True:
            capture_id = await self._queue.get()
            try:
                await self._import(capture_id)
            finally:
                self._progress.pop(capture_id, None)
                await self._tell()

    async def _import(self, capture_id: str) -> None:
        if not self._catalogue.row("SELECT 1 FROM capture WHERE capture_id = ?", (capture_id,)):
            return
        self._catalogue.write(
            "UPDATE capture SET state = 'importing', reason = NULL WHERE capture_id = ?", (capture_id,)
        )
        await self._tell()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "perfcase_api.import_worker",
            str(self._uploads.file(capture_id)), str(self._uploads.case(capture_id)),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, limit=1 << 22,
        )  # fmt: skip
        done: State | None = None
        try:
            assert process.stdout is not None
            async with asyncio.timeout(self._settings.limits.import_seconds):
                async for line in process.stdout:
                    said = json.loads(line)
                    if "phase" in said:
                        self._progress[capture_id] = said
                        await self._tell()
                    else:
                        done = said
                code = await process.wait()
            if done is None:
                done = {"error": f"the import was killed (signal {-code})" if code < 0 else "the import failed"}
        except TimeoutError:
            done = {"error": f"the import took longer than {self._settings.limits.import_seconds:g} s"}
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        self._finish(capture_id, done)

    def _finish(self, capture_id: str, done: State) -> None:
        with self._catalogue.writing() as db:
            if "error" in done:
                reason = str(done["error"])[:_MESSAGE_MAX]
                db.execute("UPDATE capture SET state = 'failed', reason = ? WHERE capture_id = ?", (reason, capture_id))
                return
            changed = db.execute(
                "UPDATE capture SET state = 'ready', host = :host, kernel = :kernel, started_ns = :started_ns,"
                " duration_ns = :duration_ns, remark = :remark, ticket = CASE WHEN ticket = '' THEN :ticket ELSE ticket END"
                " WHERE capture_id = :capture_id",
                {**done["capture"], "capture_id": capture_id},
            )
            is_known = changed.rowcount > 0
            if is_known:
                db.execute("DELETE FROM finding WHERE capture_id = ?", (capture_id,))
                db.executemany(
                    "INSERT INTO finding VALUES (?, ?, ?, ?, ?)", [(capture_id, *row) for row in done["findings"]]
                )
                db.executemany(
                    "INSERT OR IGNORE INTO label VALUES (?, ?)", [(capture_id, label) for label in done["labels"]]
                )
        if not is_known:
            # Deleted while it was imported.
            self._uploads.delete(capture_id)

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()
