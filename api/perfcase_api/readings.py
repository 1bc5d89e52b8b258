"""The figures that a history asks captures for. They stay the same until perfcase itself changes, so each is worked out once: by
the import, if captures are compared in its view.

Every capture is asked in a process of its own: an untrusted file can affect only the process that reads it, and no other
capture's figure, which is kept.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Sequence
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
_FAILURES_MAX = 3
"""When as many captures have failed and none has answered, the question is wrong."""


async def readings(
    here: Server, who: Who, captures: Sequence[Row], question: reading.Request, *, only_kept: bool = False
) -> list[object]:
    """Return the figure of each capture, kept or computed now; None if that fails."""
    key = here.answers.etag([], [json.dumps(["reading", encode(question)])])
    rows = await asyncio.to_thread(
        here.catalogue.rows, "SELECT capture_id, told FROM reading WHERE question = ?", (key,)
    )
    found = await asyncio.to_thread(_of_imports, here, question)
    found |= {row["capture_id"]: json.loads(row["told"]) for row in rows}
    missing = iter([row["capture_id"] for row in captures if row["capture_id"] not in found and not only_kept])
    failures = 0

    async def ask() -> None:
        nonlocal failures
        for capture_id in missing:
            if failures >= _FAILURES_MAX and not found:
                return
            try:
                found[capture_id] = await _figure(here, who, (key, capture_id), question)
            except ApiError:
                failures += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(here.settings.limits.jobs_per_user):
            group.create_task(ask())
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


async def _figure(here: Server, who: Who, key: tuple[str, str], question: reading.Request) -> object:
    """Return a capture's figure. Histories that ask for it at the same time get that of one process."""
    capture_id = key[1]

    async def keep(printed: bytes) -> None:
        await asyncio.to_thread(_keep, here, *key, _read(printed))

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
        (figure,) = json.loads(printed)
    except (ValueError, TypeError):
        raise ApiError("internal", "the analysis has no figure") from None
    return figure


def _keep(here: Server, question: str, capture_id: str, figure: object) -> None:
    # It may have been deleted meanwhile.
    with suppress(sqlite3.IntegrityError), here.catalogue.writing() as db:
        row = (capture_id, question, json.dumps(figure))
        db.execute("INSERT OR REPLACE INTO reading (capture_id, question, told) VALUES (?, ?, ?)", row)
        db.execute("DELETE FROM reading WHERE reading_id <= (SELECT max(reading_id) FROM reading) - ?", (_KEPT_MAX,))
