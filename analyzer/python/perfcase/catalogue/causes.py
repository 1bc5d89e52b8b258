"""What a wait is due to, in words: the causes of the table blame, as the kit's ``due.sql`` has them for rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from perfcase import text
from perfcase.catalogue.kit import load_kit
from perfcase.lazy import duckdb

FOLLOWED = ("blame", "blame_by_comm", "blame_part")
"""Tables and views of waits that are followed to their cause: blame_gap says what of them is not."""


def due(wait: Mapping[str, str | None]) -> str:
    """Return what a wait is due to. ``wait``: comm, cause, on_comm, on_target and, if it is known, on_call, as in blame_by_comm."""
    names = {"who": "comm", "cause": "cause", "on_whom": "on_comm", "on_what": "on_target", "in_call": "on_call"}
    # A parameter of the kit reads as one of a query.
    given = {name: wait.get(column) for name, column in names.items()}
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT {load_kit()['due'].sql}", given).fetchall()[0][0]


def gaps(rows: Iterable[Mapping[str, Any]]) -> str | None:
    """Return in a sentence how much of the waiting was not followed to its cause; None if all was. ``rows``: of blame_gap."""
    reasons = [
        f"{text.plural(row['part_count'], 'part')} of waits, {text.duration(row['wait_ns'])}, {text.ratio(row['wait_ratio'])}"
        f" of the time waited ({row['meaning']})"
        for row in rows
    ]
    return f"not followed to its cause: {'; '.join(reasons)}" if reasons else None
