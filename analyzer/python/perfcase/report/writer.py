"""Runs the sections in the order of an investigation."""

from __future__ import annotations

from collections.abc import Iterator

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
from perfcase.report.document import Section
from perfcase.report.page import Page
from perfcase.report.printer import Printer

SECTIONS = (
    findings, host, checklist, use,
    scheduler, off_cpu, syscalls, locks, storage, interrupts, counters, profile,
    quality,
)  # fmt: skip
"""What is wrong; what it is; the first 60 seconds; utilization, saturation, errors; drilling down; how far to trust it."""

_SHARED = (
    "cpu_summary",
    "disk_summary",
    "memory_summary",
    "net_summary",
    "scheduler_summary",
    "tcp_summary",
    "vm_summary",
)
"""Views that both the checklist and ``use_method`` read, and some the sections below."""


def write_report(connection: duckdb.DuckDBPyConnection, console: Console, file: str) -> None:
    """Print the whole report about FILE, each section as soon as it is known."""
    printer = Printer(console, file)
    for section in sections(connection):
        printer.section(section)


def sections(connection: duckdb.DuckDBPyConnection, *, in_full: bool = False) -> Iterator[Section]:
    """Yield all sections; ``in_full``: the findings with what they mean and what to look at next."""
    # Nearly all of them ask view_coverage why they have nothing to say.
    share(connection, ["view_coverage", "view_coverage", *_SHARED, "use_method"])
    page = Page(connection)
    for section in SECTIONS:
        if not page.has_view(getattr(section, "VIEW", "data_quality")):
            continue
        page.heading(section.TITLE, section.__name__.rpartition(".")[2])
        try:
            if section is findings:
                findings.write(page, in_full=in_full)
            else:
                section.write(page)
        except duckdb.Error as error:
            page.failed(error)
        yield page.sections[-1]
