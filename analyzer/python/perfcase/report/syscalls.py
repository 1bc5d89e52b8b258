"""What threads ask of the kernel, and what takes long."""

from __future__ import annotations

from perfcase.report.page import NOT_THE_RECORDER, Column, Page
from perfcase.text import count, duration

TITLE = "System calls"

_TOP = 10


def write(page: Page) -> None:
    page.listing(
        "System calls",
        "syscall_summary",
        "SELECT comm, tid, name, call_count, error_count, duration_total_ns, duration_avg_ns, duration_max_ns FROM syscall_summary"
        f" WHERE call_count > 0 AND {NOT_THE_RECORDER} ORDER BY duration_total_ns DESC, utid, comm, name LIMIT {_TOP}",
        [
            Column("thread", left=True, limit=18),
            Column("tid"),
            Column("call", left=True, limit=24),
            Column("calls", count),
            Column("errors", count),
            Column("total", duration),
            Column("mean", duration),
            Column("longest", duration),
        ],
        ' --order "duration_total_ns DESC"',
    )
