"""Runs the sections in the order of an investigation."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from rich.console import Console

from perfcase.case.kept import have_findings, have_views, have_views_again
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
    short,
    storage,
    syscalls,
    use,
)  # fmt: skip
from perfcase.report.document import Section
from perfcase.report.page import Page
from perfcase.report.printer import Printer

SECTIONS = (
    short, findings, host, checklist, use,
    scheduler, off_cpu, syscalls, locks, storage, interrupts, counters, profile,
    quality,
)  # fmt: skip
"""What happened, in short; what is wrong; what it is; the first 60 seconds; utilization, saturation, errors; drilling down; how far to trust it."""

VIEWS = (
    "view_coverage", "use_method", "cpu_summary", "disk_summary", "memory_summary", "net_summary", "scheduler_summary", "tcp_summary",
    "vm_summary", "process_summary", "thread_time", "run_queue_latency", "run_queue_latency_by_thread", "off_cpu_by_comm",
    "off_cpu_by_stack", "off_wake_by_comm", "blame_by_comm", "work_wait", "work_compute", "syscall_error", "lock_wait_by_comm", "syscall_summary", "profile_summary", "page_cache_summary", "block_summary",
    "irq_time", "cpu_frequency_summary", "pmc_summary",
)  # fmt: skip
"""Views that sections read, of those that take time or that several read: they are worked out once, and kept with the capture."""


def write_report(connection: duckdb.DuckDBPyConnection, console: Console, file: str) -> None:
    """Print the whole report about FILE, each section as soon as it is known."""
    printer = Printer(console, file)
    for section in sections(connection):
        printer.section(section)


def prepare(connection: duckdb.DuckDBPyConnection) -> None:
    """Work out what the findings and the report show, and keep it with the capture: the next question for them is answered at once."""
    have_findings(connection, VIEWS)
    have_views(connection, VIEWS)


def sections(connection: duckdb.DuckDBPyConnection, *, in_full: bool = False) -> Iterator[Section]:
    """Yield all sections; ``in_full``: the findings with what they mean and what to look at next."""
    prepare(connection)
    page = Page(connection)
    for section in SECTIONS:
        if not page.has_view(getattr(section, "VIEW", "data_quality")):
            continue
        try:
            _write(page, section, in_full=in_full)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            # A kept file may come from a stranger, and have NULL where a view has a number.
            page.sections.pop()
            if not have_views_again(connection, VIEWS):
                raise
            _write(page, section, in_full=in_full)
        yield page.sections[-1]


def _write(page: Page, section: ModuleType, *, in_full: bool) -> None:
    page.heading(section.TITLE, section.__name__.rpartition(".")[2])
    try:
        if section is findings:
            findings.write(page, in_full=in_full)
        else:
            section.write(page)
    except duckdb.Error as error:
        page.failed(error)
