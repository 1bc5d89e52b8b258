"""What interrupts take from the CPUs."""

from __future__ import annotations

from perfcase.report.document import Column
from perfcase.report.page import Page

VIEW = "irq_time"
TITLE = "Interrupts"

_TOP = 8
_COLUMNS = {
    "kind": Column("kind", left=True),
    "name": Column("of", left=True, limit=30),
    "cpu": Column("CPU"),
    "handler_count": Column("times", "count"),
    "duration_total_ns": Column("total", "ns"),
    "duration_ratio": Column("of the CPU", "ratio"),
    "duration_avg_ns": Column("mean", "ns"),
    "duration_max_ns": Column("longest", "ns"),
}


def write(page: Page) -> None:
    rows = page.select("irq_time", order="duration_total_ns DESC, kind, name, cpu, number", limit=_TOP)
    page.listing("Interrupt handlers", "irq_time", rows, _COLUMNS)
