"""Runs the sections in the order of an investigation."""

from __future__ import annotations

from rich.console import Console

from perfcase.case.sharing import share
from perfcase.lazy import duckdb
from perfcase.report import (
    checklist,
    counters,
    findings,
    host,
    interrupts,
    locks,
    off_cpu,
    profile,
    quality,
    scheduler,
    storage,
    syscalls,
    use,
)  # fmt: skip
from perfcase.report.page import Page

SECTIONS = (
    findings, host, checklist, use,
    scheduler, off_cpu, syscalls, locks, storage, interrupts, counters, profile,
    quality,
)  # fmt: skip
"""What is wrong; what it is; the first 60 seconds; utilization, saturation, errors; drilling down; how far to trust it."""


def write_report(connection: duckdb.DuckDBPyConnection, console: Console, file: str) -> None:
    """Write the whole report about FILE."""
    write_sections(Page(connection, console, file))


def write_sections(page: Page, *, in_full: bool = False) -> None:
    """Write all sections on a page; ``in_full``: the findings with what they mean and what to look at next."""
    # Nearly all of them ask it why they have nothing to say.
    share(page.connection, ["view_coverage"] * 2)
    for section in SECTIONS:
        if not page.has_view(getattr(section, "VIEW", "data_quality")):
            continue
        page.heading(section.TITLE)
        try:
            if section is findings:
                findings.write(page, in_full=in_full)
            else:
                section.write(page)
        except duckdb.Error as error:
            page.failed(error)
