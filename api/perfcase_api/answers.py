"""The cache of answers: an analysis of a capture gives the same bytes until perfcase itself changes.

The key of an answer is its ETag: the captures, the question, and the build of perfcase. The oldest answers are removed when there is no
space. The answers of a capture are removed with it: the name of the file has the captures, and an answer of very many captures is removed with
any capture.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from perfcase.case import database, store
from perfcase_api.catalogue import Catalogue

_NAMED_MAX = 4
"""Captures of an answer that its file names: more would not fit."""
_MANY = "many"
_ID_SHOWN = 32


def build() -> str:
    """Return what answers depend on besides the captures and the question."""
    return f"{store.importer_id()} {database.views_hash()}"


class AnswerCache:
    """A folder of kept answers."""

    def __init__(self, folder: Path, bytes_max: int) -> None:
        self._folder = folder
        self._bytes_max = bytes_max
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._build = build()

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


def keep_answer(answers: AnswerCache, catalogue: Catalogue, etag: str, ids: Sequence[str], answer: bytes) -> None:
    """Keep an answer, if its captures are still there."""
    answers.keep(etag, ids, answer)
    # After it, as who deletes a capture removes its answers last: what is kept later than that is removed here.
    for capture_id in ids:
        if not catalogue.row("SELECT 1 FROM capture WHERE capture_id = ?", (capture_id,)):
            answers.forget(capture_id)


def _name(etag: str, captures: Sequence[str]) -> str:
    named = [_MANY] if len(captures) > _NAMED_MAX else [capture_id[:_ID_SHOWN] for capture_id in captures]
    return "-".join((etag, *named))
