"""pidstat, top: who used the CPU and the memory, and how many threads there were in which state."""

from __future__ import annotations

from perfcase.report.page import Page


def pidstat(page: Page) -> None:
    """The busiest processes."""
    page.absent("pidstat", "process_activity")


def top(page: Page) -> None:
    """How many threads, and in which states."""
    page.absent("top", "thread_census")
