"""The figures that a history asks captures for. They stay the same until perfcase itself changes, so each is worked out once: by
the import, if captures are compared in its view.

A process is asked for many captures, because to begin one takes longer than to ask a capture. All of them are seen by the same people:
an untrusted file that takes the process over reads nothing that they do not see anyway. Where one ends the process or has no figure, what
the process did not answer is asked again, each capture in a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple

from perfcase.errors import PerfcaseError
from perfcase.fleet.figures import read_kept
from perfcase.operations import reading
from perfcase.operations.history import figure
from perfcase.operations.request import encode
from perfcase_api.answers import build
from perfcase_api.asking import Question
from perfcase_api.catalogue import Row
from perfcase_api.errors import ApiError
from perfcase_api.state import Server
from perfcase_api.who import Who

_KEPT_MAX = 1_000_000
"""Figures that are kept: the latest."""
_BATCH_MAX = 500
"""Captures of a process: its own beginning is a small part then. It ends when others should have its place (perfcase.operations.reading)."""
_BATCH_BYTES_MAX = 256 << 20
"""Their files together: a process has the same limits for all of them. A larger one is asked alone."""
_FAILURES_MAX = 3
"""When as many captures have failed and none has answered, the question is wrong."""
_FATAL = ("timeout", "too_large", "internal")
"""The kinds of failures that would also end the process that answers with all captures."""


async def readings(
    here: Server, who: Who, captures: Sequence[Row], question: reading.Request, *, only_kept: bool = False
) -> list[object]:
    """Return the figure of each capture, kept or computed now; None if that fails: then the process that is asked for the answer tries it and says
    why. A capture that has ended its process is not given to that one: its figure says so."""
    key = here.answers.etag([], [json.dumps(["reading", encode(question)])])
    rows = await asyncio.to_thread(
        here.catalogue.rows, "SELECT capture_id, told FROM reading WHERE question = ?", (key,)
    )
    found = await asyncio.to_thread(_of_imports, here, question)
    found |= {row["capture_id"]: json.loads(row["told"]) for row in rows}
    missing = [row for row in captures if row["capture_id"] not in found and not only_kept]
    prefixes = await asyncio.to_thread(here.catalogue.rows, "SELECT DISTINCT ticket_prefix FROM token")
    batches = iter(_batches(missing, [row["ticket_prefix"] for row in prefixes]))
    errors: dict[str, ApiError] = {}

    async def ask() -> None:
        for batch in batches:
            rest: Sequence[str] = batch
            while len(rest) > 1:
                try:
                    rest = await _figures(here, who, key, rest, question, found)
                except ApiError:
                    break
            for capture_id in batch:
                if capture_id in found:
                    continue
                if len(errors) >= _FAILURES_MAX and not found:
                    return
                try:
                    found[capture_id] = await _figure(here, who, (key, capture_id), question)
                except ApiError as error:
                    errors[capture_id] = error

    async with asyncio.TaskGroup() as group:
        for _ in range(here.settings.limits.jobs_per_user):
            group.create_task(ask())
    fatal = {of: error.message for of, error in errors.items() if error.kind in _FATAL and found}
    found |= {capture_id: [0, None, None, message] for capture_id, message in fatal.items()}
    return [found.get(row["capture_id"]) for row in captures]


def _of_imports(here: Server, question: reading.Request) -> dict[str, object]:
    """Return the figure of each capture whose import has worked it out."""
    try:
        wanted = figure(question.view, question.measure, question.agg)
    except PerfcaseError:
        # A wrong question: the process that is asked says what is wrong.
        return {}
    if wanted is None:
        return {}
    rows = here.catalogue.rows(
        "SELECT capture_id, told FROM figure WHERE view = ? AND build = ?", (wanted.view, build())
    )
    found = {row["capture_id"]: read_kept(json.loads(row["told"]), wanted) for row in rows}
    return {capture_id: astuple(known) for capture_id, known in found.items() if known}


def _batches(captures: Sequence[Row], prefixes: Sequence[str]) -> Iterator[list[str]]:
    """Yield the captures that one process is asked for. ``prefixes``: which tickets somebody may be limited to."""
    groups: defaultdict[frozenset[str], list[Row]] = defaultdict(list)
    for row in captures:
        groups[frozenset(prefix for prefix in prefixes if row["ticket"].startswith(prefix))].append(row)
    for group in groups.values():
        batch: list[str] = []
        room = _BATCH_BYTES_MAX
        for row in group:
            if batch and (len(batch) == _BATCH_MAX or row["size_bytes"] > room):
                yield batch
                batch, room = [], _BATCH_BYTES_MAX
            batch.append(row["capture_id"])
            room -= row["size_bytes"]
        yield batch


async def _figures(
    here: Server, who: Who, key: str, batch: Sequence[str], question: reading.Request, found: dict[str, object]
) -> Sequence[str]:
    """Add the figures of captures to those that are found, as far as one process has them, and return the captures that it had no time for.
    What it said before it failed counts."""
    name = (key, *batch)
    async with here.jobs.turn(str(who.token_id), name):
        # Somebody else may have asked for them while this one waited.
        found |= await asyncio.to_thread(_kept, here, key, batch)
        missing = [capture_id for capture_id in batch if capture_id not in found]
        if not missing:
            return []
        order = Question(question, [], missing).order()
        folders = [here.uploads.case(capture_id) for capture_id in missing]
        told: dict[str, object] = {}
        printed = b""
        try:
            async with here.jobs.answer((key, *missing), order, folders) as job:
                async for part in job.output():
                    *lines, printed = (printed + part).split(b"\n")
                    for capture_id, line in zip(missing[len(told) :], lines, strict=False):
                        told[capture_id] = _read(line)
        finally:
            figures = {capture_id: figure for capture_id, figure in told.items() if figure is not None}
            found |= figures
            if figures:
                await asyncio.to_thread(_keep, here, key, figures)
    return missing[len(told) :] if told else []


def _kept(here: Server, key: str, captures: Sequence[str]) -> dict[str, object]:
    asked = (
        f"SELECT capture_id, told FROM reading WHERE question = ? AND capture_id IN ({','.join('?' * len(captures))})"
    )
    return {row["capture_id"]: json.loads(row["told"]) for row in here.catalogue.rows(asked, (key, *captures))}


async def _figure(here: Server, who: Who, key: tuple[str, str], question: reading.Request) -> object:
    """Return a capture's figure. Histories that ask for it at the same time get that of one process."""
    capture_id = key[1]

    async def keep(printed: bytes) -> None:
        await asyncio.to_thread(_keep, here, key[0], {capture_id: _read(printed)})

    async with here.jobs.turn(str(who.token_id), key):
        # Somebody else may have asked for it while this one waited.
        asked = "SELECT told FROM reading WHERE question = ? AND capture_id = ?"
        if kept := await asyncio.to_thread(here.catalogue.row, asked, key):
            return json.loads(kept["told"])
        order = Question(question, [], [capture_id]).order()
        async with here.jobs.answer(key, order, [here.uploads.case(capture_id)], keep) as job:
            return _read(b"".join([part async for part in job.output()]))


def _read(printed: bytes) -> object:
    try:
        return json.loads(printed)
    except (ValueError, RecursionError):
        raise ApiError("internal", "the analysis has no figure") from None


def _keep(here: Server, question: str, figures: Mapping[str, object]) -> None:
    with here.catalogue.writing() as db:
        for capture_id, figure in figures.items():
            row = (capture_id, question, json.dumps(figure))
            # It may have been deleted meanwhile.
            with suppress(sqlite3.IntegrityError):
                db.execute("INSERT OR REPLACE INTO reading (capture_id, question, told) VALUES (?, ?, ?)", row)
        db.execute("DELETE FROM reading WHERE reading_id <= (SELECT max(reading_id) FROM reading) - ?", (_KEPT_MAX,))
