"""What threads waited for that other threads held."""

from __future__ import annotations

from perfcase.report.page import NOT_THE_RECORDERS_NAME, Column, Page
from perfcase.text import count, duration

VIEW = "lock_wait"
TITLE = "Locks"

_TOP = 6


def write(page: Page) -> None:
    rows = page.rows(
        "SELECT kind, lock, comm, holder_comm, waker_comm, sum(wait_count) AS waits, sum(wait_total_ns) AS wait_total_ns,"
        f" max(wait_max_ns) AS wait_max_ns FROM lock_wait WHERE wait_count > 0 AND {NOT_THE_RECORDERS_NAME} GROUP BY ALL"
        f" ORDER BY wait_total_ns DESC, kind, lock, comm, holder_comm, waker_comm LIMIT {_TOP}"
    )
    if not rows:
        if page.is_fed("lock_wait"):
            page.line("No thread waited for a futex, and no contended kernel lock was recorded.", "dim")
        else:
            page.missing("Waits for locks", "lock_wait")
        return
    page.table(
        [
            Column("kind", left=True),
            Column("lock", left=True),
            Column("thread", left=True, limit=18),
            Column("held by", left=True, limit=18),
            Column("woken by", left=True, limit=18),
            Column("waits", count),
            Column("total", duration),
            Column("longest", duration),
        ],
        [list(row.values()) for row in rows],
    )
    page.line("Idle workers wait for a futex too. Only a futex with a holder was contended.", "dim")
    page.source("lock_wait")
