"""The audit log: who changed what. The latest entries are in the catalogue, older ones in a file for each month."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sqlite3
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from fastapi import Request

from perfcase_api.catalogue import Catalogue, Row, now_ns
from perfcase_api.state import address

_DAY_NS = 86_400 * 10**9
_ROWS = 10_000
_POLL_S = 3600.0


def write_down(catalogue: Catalogue, who: str, where: str, action: str, subject: str, status: int) -> None:
    """Write one entry. If this fails, the request goes on, and the server's log has the entry."""
    log = logging.getLogger("perfcase")
    log.info("%s %s %s %d", who, action, subject, status)
    try:
        catalogue.write(
            "INSERT INTO audit (at_ns, who, address, action, subject, status) VALUES (?, ?, ?, ?, ?, ?)",
            (now_ns(), who, where, action, subject, status),
        )
    except sqlite3.Error as error:
        log.error("the audit log cannot be written (%s): %s %s %s %s %d", error, who, where, action, subject, status)


def write_down_request(request: Request, status: int) -> None:
    """Write what a request changed, or tried to change."""
    who, status = getattr(request.state, "who", None), getattr(request.state, "status", status)
    route = request.scope.get("route")
    action = f"{request.method} {getattr(route, 'path', '-')}"
    subject = "/".join(str(value)[:100] for value in request.path_params.values())
    catalogue = request.app.state.server.catalogue
    write_down(catalogue, who.name if who else "-", address(request), action, subject, status)


async def keep_short(catalogue: Catalogue, folder: Path, days: int) -> None:
    """Move what is older than so many days out of the catalogue, now and each hour."""
    while True:
        try:
            await asyncio.to_thread(rotate, catalogue, folder, now_ns() - days * _DAY_NS)
        except (OSError, sqlite3.Error) as error:
            logging.getLogger("perfcase").error("%s: the audit log cannot be moved there: %s", folder, error)
        await asyncio.sleep(_POLL_S)


def rotate(catalogue: Catalogue, folder: Path, before_ns: int) -> int:
    """Move the entries before a moment into ``FOLDER/YYYY-MM.jsonl``, a line of JSON each. Return how many there were.

    A kill in between leaves some in both places, never in none: their ``audit_id`` tells.
    """
    moved = 0
    while rows := catalogue.rows("SELECT * FROM audit WHERE at_ns < ? ORDER BY audit_id LIMIT ?", (before_ns, _ROWS)):
        folder.mkdir(exist_ok=True, mode=0o700)
        for month, entries in groupby(rows, _month):
            with (folder / f"{month}.jsonl").open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(dict(entry)) + "\n" for entry in entries)
                file.flush()
                os.fsync(file.fileno())
        with catalogue.writing() as db:
            db.executemany("DELETE FROM audit WHERE audit_id = ?", [(row["audit_id"],) for row in rows])
        moved += len(rows)
    return moved


def _month(row: Row) -> str:
    return datetime.fromtimestamp(row["at_ns"] / 1e9, UTC).strftime("%Y-%m")
