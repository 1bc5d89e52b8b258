"""The cache of answers: an analysis of a capture gives the same bytes until perfcase itself changes.

The key of an answer is its ETag: the captures, the question, and the build of perfcase. The oldest answers are removed when there is no
space. The answers of a capture are removed with it: the name of the file has the captures, and an answer of very many captures is removed with
any capture. Requests for the same answer at the same time compute it once.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from perfcase.case import database, store

_NAMED_MAX = 4
"""Captures of an answer that its file names: more would not fit."""
_MANY = "many"
_ID_SHOWN = 32


class AnswerCache:
    """A folder of kept answers."""

    def __init__(self, folder: Path, bytes_max: int) -> None:
        self._folder = folder
        self._bytes_max = bytes_max
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._build = f"{store.importer_id()} {database.views_hash()}"
        self._in_work: dict[str, asyncio.Event] = {}

    def etag(self, captures: Sequence[str], question: Sequence[str]) -> str:
        """Return the key of an answer."""
        parts = [self._build, *captures, "", *question]
        return hashlib.sha256("\0".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()[:40]

    def find(self, etag: str, captures: Sequence[str]) -> BinaryIO | None:
        """Return a kept answer, open: it may be forgotten while it is sent."""
        path = self._folder / _name(etag, captures)
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return file

    def begin(self, etag: str, *, again: bool = False) -> Callable[[], None] | None:
        """Mark an answer as being computed. Call the result when it is kept, or will not be. None if somebody else is just
        having it worked out, but not ``again``: then that was waited for, and came to nothing."""
        if etag in self._in_work and not again:
            return None
        event = self._in_work[etag] = asyncio.Event()

        def end() -> None:
            event.set()
            if self._in_work.get(etag) is event:
                del self._in_work[etag]

        return end

    async def awaited(self, etag: str, captures: Sequence[str], patience_s: float) -> BinaryIO | None:
        """Return a kept answer, when no other request computes it any more."""
        if in_work := self._in_work.get(etag):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(in_work.wait(), patience_s)
        return await asyncio.to_thread(self.find, etag, captures)

    def keep(self, etag: str, captures: Sequence[str], data: bytes) -> None:
        """Keep an answer, unless it is too large."""
        if len(data) > self._bytes_max // 16:
            return
        name = _name(etag, captures)
        partial = self._folder / f".{name}.{os.getpid()}"
        # To keep an answer is a favour: a full disk must not make a good answer an error.
        with contextlib.suppress(OSError):
            partial.write_bytes(data)
            partial.replace(self._folder / name)
            self._make_room()

    def forget(self, capture_id: str) -> None:
        """Remove what was kept of a capture."""
        for part in (f"-{capture_id[:_ID_SHOWN]}", f"-{_MANY}"):
            for path in self._folder.glob(f"*{part}*"):
                path.unlink(missing_ok=True)

    def _make_room(self) -> None:
        kept = sorted(((entry.stat(), entry) for entry in self._folder.iterdir()), key=lambda pair: pair[0].st_mtime_ns)
        total = sum(stat.st_size for stat, _ in kept)
        for stat, entry in kept:
            if total <= self._bytes_max:
                return
            entry.unlink(missing_ok=True)
            total -= stat.st_size


def _name(etag: str, captures: Sequence[str]) -> str:
    named = [_MANY] if len(captures) > _NAMED_MAX else [capture_id[:_ID_SHOWN] for capture_id in captures]
    return "-".join((etag, *named))
