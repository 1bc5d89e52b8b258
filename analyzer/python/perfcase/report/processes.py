"""pidstat, top: who used the CPU, memory and storage, and how many threads there were in which state."""

from __future__ import annotations

from perfcase.report.document import Column
from perfcase.report.page import Page
from perfcase.text import count, plural

_TOP = 6
_WAITING = 4

_PROCESSES = {
    "comm": Column("process", left=True, limit=18, link="process"),
    "pid": Column("pid"),
    "user_ns": Column("user", "ns"),
    "system_ns": Column("system", "ns"),
    "cpu_ratio": Column("of one CPU", "ratio"),
    "cpu_max_ratio": Column("busiest interval", "ratio"),
    "run_queue_ns": Column("run queue", "ns"),
    "resident_max_bytes": Column("resident", "bytes"),
    "read_bytes": Column("read", "bytes"),
    "write_bytes": Column("written", "bytes"),
    "switch_count": Column("switches", "count"),
}


def pidstat(page: Page) -> None:
    """Write the busiest processes."""
    rows = page.select(
        "process_summary", where="NOT is_recorder AND cpu_ns > 0", order="cpu_ns DESC, upid, comm", limit=_TOP
    )
    when_idle = "no process used the CPU between two snapshots"
    page.check_table("pidstat", "process_summary", rows, _PROCESSES, when_idle)


def top(page: Page) -> None:
    """Write how many threads there were at the end, in which states, and which waited uninterruptibly."""
    states = page.select("thread_census_by_state", where="is_last", order="thread_count DESC, state_name")
    if not states:
        page.absent("top", "thread_census_by_state")
        return
    listed = ", ".join(f"{row['thread_count']} {row['state_name']}" for row in states)
    rows = page.select(
        "thread_census", where="is_last AND state = 'D'", order="thread_count DESC, comm", limit=_WAITING
    )
    waiting = ", ".join(f"{row['comm']} × {row['thread_count']}" for row in rows)
    stuck = f"; uninterruptible: {waiting}" if waiting else ""
    whole = states[0]
    among = f" of {count(whole['host_thread_count'])} on the host" if whole["is_partial"] else ""
    page.check(
        "top",
        f"{plural(whole['seen_thread_count'], 'thread')}{among} at the end: {listed}{stuck}",
        "thread_census_by_state",
    )
