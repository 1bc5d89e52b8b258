"""What threads waited for that other threads held."""

from __future__ import annotations

from perfcase.report.document import Column
from perfcase.report.page import NOT_THE_RECORDERS_NAME, Page

VIEW = "lock_wait_by_comm"
TITLE = "Locks"

_TOP = 6
_COLUMNS = {
    "kind": Column("kind", left=True),
    "lock": Column("lock", left=True),
    "pid": Column("pid"),
    "comm": Column("thread", left=True, limit=18),
    "holder_comm": Column("held by", left=True, limit=18),
    "waker_comm": Column("woken by", left=True, limit=18),
    "wait_count": Column("waits", "count"),
    "wait_total_ns": Column("total", "ns"),
    "wait_max_ns": Column("longest", "ns"),
}


def write(page: Page) -> None:
    order = "wait_total_ns DESC, kind, lock, upid, comm, holder_comm, waker_comm"
    rows = page.select("lock_wait_by_comm", where=NOT_THE_RECORDERS_NAME, order=order, limit=_TOP)
    if rows:
        page.table(_COLUMNS, rows)
        page.line("Idle workers wait for a futex too. Only a futex with a holder was contended.", "quiet")
        page.source("lock_wait_by_comm")
    elif page.is_fed("lock_wait_by_comm"):
        page.line("No thread waited for a futex, and no contended kernel lock was recorded.", "quiet")
    else:
        page.missing("Waits for locks", "lock_wait_by_comm")
