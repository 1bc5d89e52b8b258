"""Runs the sections in the order of an investigation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from perfcase.report import counters, cpu, host, off_cpu, profile, quality, scheduler, syscalls
from perfcase.report.page import Page

if TYPE_CHECKING:
    import duckdb
else:
    from perfcase.lazy import duckdb

SECTIONS = (host, cpu, scheduler, off_cpu, syscalls, counters, profile, quality)


def write_report(connection: duckdb.DuckDBPyConnection, console: Console, file: str) -> None:
    """Writes the whole report about FILE."""
    page = Page(connection, console, file)
    for section in SECTIONS:
        page.heading(section.TITLE)
        section.write(page)
