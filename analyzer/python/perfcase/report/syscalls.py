"""What threads ask of the kernel, and what takes long."""

from __future__ import annotations

from perfcase.report.document import Column
from perfcase.report.page import NOT_THE_RECORDER, Page

TITLE = "System calls"

_TOP = 10
_COLUMNS = {
    "comm": Column("thread", left=True, limit=18, link="thread"),
    "tid": Column("tid"),
    "name": Column("call", left=True, limit=24),
    "call_count": Column("calls", "count"),
    "error_count": Column("errors", "count"),
    "duration_total_ns": Column("total", "ns"),
    "duration_avg_ns": Column("mean", "ns"),
    "duration_max_ns": Column("longest", "ns"),
}


def write(page: Page) -> None:
    rows = page.select(
        "syscall_summary",
        where=f"call_count > 0 AND {NOT_THE_RECORDER}",
        order="duration_total_ns DESC, utid, comm, name",
        limit=_TOP,
    )
    page.listing("System calls", "syscall_summary", rows, _COLUMNS, order="duration_total_ns DESC")
