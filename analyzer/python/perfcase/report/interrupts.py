"""What interrupts take from the CPUs."""

from __future__ import annotations

from perfcase.report.page import Column, Page
from perfcase.text import count, duration, ratio

VIEW = "irq_time"
TITLE = "Interrupts"

_TOP = 8


def write(page: Page) -> None:
    page.listing(
        "Interrupt handlers",
        "irq_time",
        "SELECT kind, name, cpu, handler_count, duration_total_ns, duration_ratio, duration_avg_ns, duration_max_ns FROM irq_time"
        f" ORDER BY duration_total_ns DESC, kind, name, cpu, number LIMIT {_TOP}",
        [
            Column("kind", left=True),
            Column("of", left=True, limit=30),
            Column("CPU"),
            Column("times", count),
            Column("total", duration),
            Column("of the CPU", ratio),
            Column("mean", duration),
            Column("longest", duration),
        ],
    )
