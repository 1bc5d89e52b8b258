"""How busy the host was."""

from __future__ import annotations

from perfcase.report.page import Page
from perfcase.text import ratio

TITLE = "Load and CPUs"


def write(page: Page) -> None:
    loads = page.has_rows("load_average")
    busy = page.has_rows("cpu_utilization")
    if loads:
        _load(page)
    if busy:
        _utilization(page)
    if not loads and not busy:
        page.missing("/proc snapshots", ("proc_snapshots",))


def _load(page: Page) -> None:
    first, last = page.rows("(FROM load_average ORDER BY ts_ns LIMIT 1) UNION ALL (FROM load_average ORDER BY ts_ns DESC LIMIT 1)")
    raise NotImplementedError(first, last)


def _utilization(page: Page) -> None:
    raise NotImplementedError(ratio)
