"""Import uploaded captures, one at a time, each in its own process. Listeners get the progress.

The process can write into one folder only, ``importing`` beside the original. The result is renamed when it is complete, so
a kill leaves no half import.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import shutil
import signal
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from perfcase.case import sandbox, store
from perfcase.catalogue.views import load_views
from perfcase_api import first_page, storage
from perfcase_api.answers import AnswerCache, build, keep_answer
from perfcase_api.catalogue import Catalogue
from perfcase_api.import_phases import PHASES, UNITS
from perfcase_api.jobs import PATIENCE
from perfcase_api.nursery import Child, Nursery
from perfcase_api.question import Question
from perfcase_api.settings import Settings
from perfcase_api.uploads import LABEL_MAX, LABELS_MAX, Uploads, clean_ticket

State = dict[str, Any]
_MESSAGE_MAX = 2000
_LINE_MAX = 1 << 22
_POLL_S = 0.5
_TOTAL_MAX = 1 << 53
_FOLLOWED_MAX = 200
"""Imports that one stream tells of: a new version imports every capture of a store again."""


WORKING = "importing"
"""The folder of an import at work, beside the original."""


class Imports:
    """The queue of a server."""

    def __init__(
        self,
        settings: Settings,
        catalogue: Catalogue,
        uploads: Uploads,
        nursery: Nursery,
        answers: AnswerCache | None = None,
    ) -> None:
        self._settings = settings
        self._catalogue = catalogue
        self._uploads = uploads
        self._nursery = nursery
        self._answers = answers
        self._waiting: deque[str] = deque()
        self._called = asyncio.Event()
        self._progress: dict[str, State] = {}
        self._changed = asyncio.Condition()
        self._tasks: list[asyncio.Task[None]] = []
        self._at_work: str | None = None
        self._process: Child | None = None

    def start(self) -> None:
        """Start with the waiting imports. Redo imports of other versions, because analyses cannot write into them; and damaged ones, which
        are looked for while the server answers."""
        ready = self._catalogue.rows("SELECT capture_id FROM capture WHERE state = 'ready'")
        for row in ready:
            if not store.is_current(self._uploads.case(row["capture_id"])):
                self._catalogue.write(
                    "UPDATE capture SET state = 'uploaded' WHERE capture_id = ?", (row["capture_id"],)
                )
        for row in self._catalogue.rows("SELECT capture_id FROM capture WHERE state = 'uploaded' ORDER BY uploaded_ns"):
            self.add(row["capture_id"])
        self._tasks = [
            asyncio.create_task(self._work()),
            asyncio.create_task(self._find_damaged([row["capture_id"] for row in ready])),
        ]

    def add(self, capture_id: str) -> None:
        """Put a capture at the end of the queue."""
        if capture_id not in self._waiting:
            self._waiting.append(capture_id)
        self._called.set()

    async def stop(self, capture_id: str) -> None:
        """End the import of a capture that the catalogue has forgotten, if it is at work, and wait for that."""
        if capture_id in self._waiting:
            self._waiting.remove(capture_id)
        if self._at_work == capture_id and self._process is not None and self._process.returncode is None:
            self._process.kill()
        async with self._changed:
            await self._changed.wait_for(lambda: self._at_work != capture_id)

    async def close(self) -> None:
        """Stop; what is at work is taken up again at the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def follow(self, capture_id: str) -> AsyncIterator[State]:
        """Yield the state of an import, and each change of it until it is done."""
        last_state: State | None = None
        while True:
            state = self.state(capture_id)
            if state != last_state:
                last_state = state
                yield state
            if state["state"] in ("ready", "failed", "gone"):
                return
            await self._change()

    async def follow_all(self, sees: Callable[[str], bool]) -> AsyncIterator[list[State]]:
        """Yield the imports that wait or work, those of the tickets that one sees, and each change, until there is none.

        What has ended is told once more, with how it ended.
        """
        last: list[State] | None = None
        while True:
            rows = self._catalogue.rows(
                "SELECT capture_id, ticket, is_new FROM capture WHERE state IN ('uploaded', 'importing')"
                " ORDER BY is_new DESC, uploaded_ns, capture_id"
            )
            seen = [row for row in rows if sees(row["ticket"])][:_FOLLOWED_MAX]
            states = [
                {"capture_id": row["capture_id"], "is_new": bool(row["is_new"]), **self.state(row["capture_id"])}
                for row in seen
            ]
            now = {row["capture_id"] for row in seen}
            ended = [each["capture_id"] for each in last or () if each["capture_id"] not in now]
            if states != last:
                last = states
                yield [*states, *({"capture_id": each, **self.state(each)} for each in ended)]
            if not states:
                return
            await self._change()

    async def _change(self) -> None:
        async with self._changed:
            with contextlib.suppress(TimeoutError):
                # Not for ever: a change that came between the look and the wait is seen at the next turn.
                await asyncio.wait_for(self._changed.wait(), 0.5)

    def state(self, capture_id: str) -> State:
        """Return where an import is: state; its place in the queue while it waits; phase, records and more while it runs."""
        row = self._catalogue.row("SELECT state, reason FROM capture WHERE capture_id = ?", (capture_id,))
        if row is None:
            return {"state": "gone"}
        state: State = {"state": row["state"]}
        if row["reason"]:
            state["reason"] = row["reason"]
        if row["state"] == "uploaded" and capture_id in self._waiting:
            # The one at work has the first place.
            before = int(self._at_work is not None)
            return {
                **state,
                "place": self._waiting.index(capture_id) + 1 + before,
                "of": len(self._waiting) + before,
            }
        # The last message of its process stays there for a moment after the import has ended.
        return {**state, **self._progress.get(capture_id, {})} if row["state"] == "importing" else state

    async def _find_damaged(self, capture_ids: Sequence[str]) -> None:
        for capture_id in capture_ids:
            if await asyncio.to_thread(store.is_whole, self._uploads.case(capture_id)):
                continue
            again = "UPDATE capture SET state = 'uploaded' WHERE capture_id = ? AND state = 'ready'"
            with self._catalogue.writing() as db:
                is_ours = db.execute(again, (capture_id,)).rowcount > 0
            # It may have been deleted meanwhile, or is being imported.
            if is_ours:
                self.add(capture_id)

    async def _work(self) -> None:
        while True:
            while not self._waiting:
                self._called.clear()
                await self._called.wait()
            capture_id = self._at_work = self._waiting.popleft()
            try:
                await self._import(capture_id)
            except Exception as error:
                # One capture's import, whose process a hostile file may have taken over, is not to end all others.
                log = logging.getLogger("perfcase")
                log.exception("import of %s", capture_id)
                is_of_disk = isinstance(error, OSError | sqlite3.Error)
                try:
                    self._failed(
                        capture_id,
                        f"the store cannot be written: {error}"
                        if is_of_disk
                        else f"the import failed: {type(error).__name__}",
                    )
                except sqlite3.Error:
                    # It is imported when the server starts again; the others go on.
                    log.exception("import of %s", capture_id)
            finally:
                self._progress.pop(capture_id, None)
                self._at_work = None
                await self._tell()

    async def _import(self, capture_id: str) -> None:
        # Uploaded again while it is there: the same bytes have the same import, which analyses read meanwhile.
        if not self._catalogue.row("SELECT 1 FROM capture WHERE capture_id = ? AND state <> 'ready'", (capture_id,)):
            return
        self._catalogue.write(
            "UPDATE capture SET state = 'importing', reason = NULL WHERE capture_id = ?", (capture_id,)
        )
        await self._tell()
        case = self._uploads.case(capture_id)
        working = case.with_name(WORKING)
        await asyncio.to_thread(_empty, working)
        try:
            done = await self._run(capture_id, working)
            if "error" in done:
                self._failed(capture_id, str(done["error"]))
            else:
                await asyncio.to_thread(_put_in_place, working, case)
                await asyncio.to_thread(self._keep_answers, capture_id, done)
                self._ready(capture_id, done)
        finally:
            await asyncio.to_thread(shutil.rmtree, working, ignore_errors=True)

    async def _run(self, capture_id: str, working: Path) -> State:
        """Return the last message of the process."""
        limits = self._settings.limits
        allowed = {
            "memory_bytes": limits.import_memory_bytes,
            "cpu_seconds": math.ceil(limits.import_seconds),
            "file_bytes": limits.import_file_bytes,
        }
        process = await self._nursery.child(_LINE_MAX)
        row = self._catalogue.row("SELECT name FROM capture WHERE capture_id = ?", (capture_id,))
        order = {
            "import": str(self._uploads.file(capture_id)),
            "folder": str(working),
            "name": row["name"] if row else "",
            "limits": allowed,
        }
        process.order(json.dumps(order).encode() + b"\n")
        done: State | None = None
        self._process = process
        watch = asyncio.create_task(self._watch(capture_id, process, working))
        try:
            async with asyncio.timeout(PATIENCE * limits.import_seconds):
                async for line in process.stdout:
                    message = json.loads(line)
                    if "phase" in message:
                        self._progress[capture_id] = _progress_of(message)
                        await self._tell()
                    else:
                        done = message
                code = await process.wait()
        except TimeoutError:
            seconds = limits.import_seconds
            return {
                "error": f"stopped after {PATIENCE * seconds:g} s, in which it used less than {seconds:g} s of CPU time"
            }
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            process.close()
            self._process = None
            watch.cancel()
            await asyncio.wait({watch})
        if not watch.cancelled():
            # It ended by itself: it found a reason to end the import.
            return {"error": watch.result()}
        if done is None and code == -signal.SIGXCPU:
            return {"error": f"stopped after {limits.import_seconds:g} s of CPU time"}
        return done or {"error": f"the import was killed (signal {-code})" if code < 0 else "the import failed"}

    async def _watch(self, capture_id: str, process: Child, working: Path) -> str:
        """End an import that was deleted, or that uses more of the disk than allowed, or fills it. Say why."""
        limits = self._settings.limits
        while True:
            used, count = await asyncio.to_thread(storage.used, working)
            if storage.is_full(working):
                why = "there is no room in the store"
            elif used > limits.import_file_bytes or count > limits.import_files_max:
                why = (
                    f"the import took more than {limits.import_file_bytes:,} bytes or {limits.import_files_max:,} files"
                )
            elif not self._catalogue.row("SELECT 1 FROM capture WHERE capture_id = ?", (capture_id,)):
                why = "the capture was deleted"
            else:
                await asyncio.sleep(_POLL_S)
                continue
            if process.returncode is None:
                process.kill()
            return why

    def _failed(self, capture_id: str, reason: str) -> None:
        self._catalogue.write(
            "UPDATE capture SET state = 'failed', is_new = 0, reason = ? WHERE capture_id = ?",
            (reason[:_MESSAGE_MAX], capture_id),
        )

    def _ready(self, capture_id: str, done: State) -> None:
        """Store what the process read. It is untrusted: the types of the columns reject wrong values."""
        capture = {**done["capture"], "ticket": clean_ticket(done["capture"]["ticket"] or "")}
        labels = [label for label in done["labels"] if 0 < len(label) <= LABEL_MAX][:LABELS_MAX]
        with self._catalogue.writing() as db:
            changed = db.execute(
                "UPDATE capture SET state = 'ready', is_new = 0, host = :host, kernel = :kernel, started_ns = :started_ns,"
                " duration_ns = :duration_ns, remark = :remark, ticket = CASE WHEN ticket = '' THEN :ticket ELSE ticket END"
                " WHERE capture_id = :capture_id",
                {**capture, "capture_id": capture_id},
            )
            if not changed.rowcount:
                return
            db.execute("DELETE FROM finding WHERE capture_id = ?", (capture_id,))
            db.executemany(
                "INSERT INTO finding VALUES (?, ?, ?, ?, ?)", [(capture_id, *row) for row in done["findings"]]
            )
            db.executemany("INSERT OR IGNORE INTO label VALUES (?, ?)", [(capture_id, label) for label in labels])
            db.execute("DELETE FROM figure WHERE capture_id = ?", (capture_id,))
            told = (
                (capture_id, view, build(), json.dumps(figures))
                for view, figures in done["figures"].items()
                if view in load_views()
            )
            db.executemany("INSERT INTO figure (capture_id, view, build, told) VALUES (?, ?, ?, ?)", told)

    def _keep_answers(self, capture_id: str, done: State) -> None:
        """Keep what the first page shows, before it can be asked for."""
        asked = first_page.questions(done["capture"]["duration_ns"])
        if self._answers is None or len(done["answers"]) != len(asked):
            return
        for request, text in zip(asked, done["answers"], strict=True):
            if isinstance(text, str):
                question = Question(request, [capture_id])
                etag = self._answers.etag(question.of, [question.key])
                keep_answer(self._answers, self._catalogue, etag, question.of, text.encode(errors="replace"))

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def _progress_of(message: State) -> State:
    """Return what an untrusted process says of its progress, within bounds."""
    said = {"phase": str(message["phase"])[:100], "records": int(message["records"])}
    done, total, unit = message.get("done"), message.get("total"), message.get("unit")
    if (
        isinstance(done, int)
        and isinstance(total, int)
        and 0 <= done <= total <= _TOTAL_MAX
        and unit in UNITS
        and total
    ):
        said.update(done=done, total=total, unit=unit)
    return {**said, "step": PHASES.index(said["phase"]) + 1, "steps": len(PHASES)} if said["phase"] in PHASES else said


def _empty(folder: Path) -> None:
    """Create an empty folder, and remove the one that a kill may have left."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)


def _put_in_place(working: Path, case: Path) -> None:
    """Rename the import to its place. Remove an older one of a server that was killed."""
    if sandbox.foreign(working / "case"):
        raise ValueError("the import made links")
    if case.exists():
        case.rename(working / "old")
    (working / "case").rename(case)
