"""In short: who had the CPUs, who waited for what, what failed. One screen that says enough where no rule fires."""

from __future__ import annotations

from collections.abc import Iterator

from perfcase.catalogue.causes import gaps
from perfcase.report.document import Column
from perfcase.report.page import NOT_THE_RECORDERS_NAME, Page, Row
from perfcase.text import count, duration, ratio, shorten

TITLE = "In short"

_TOP = 4
_WAITS = 5
_KERNEL = ("kworker", "ksoftirqd", "migration/", "rcu_", "jbd2/", "kswapd", "kcompactd", "khugepaged")
"""How the names of the kernel's own threads begin: what they wait for is nobody's work. Without /proc nothing else says it."""
_READ = 50
"""Rows of causes that are read for the first few that are not of the kernel's own threads."""
_NAME_CHARS = 60
_CAUSE_CHARS = 240
"""Names in a capture may have any length: one that is longer would be the whole screen."""
_COMPUTES = 2
_COMPUTES_RATIO = 0.1
"""Where a process ran is not told if it had less of what all ran, or of one CPU."""

_PROCESSES = {
    "comm": Column("who had the CPUs", left=True, limit=24),
    "pid": Column("pid", link="process"),
    "cpu_ns": Column("CPU time", "ns"),
    "cpu_ratio": Column("of one CPU", "ratio"),
    "run_queue_ns": Column("waited for a CPU", "ns"),
}
_THREADS = {
    "comm": Column("who had the CPUs", left=True, limit=24),
    "on_cpu_ns": Column("CPU time", "ns"),
    "run_queue_ns": Column("waited for a CPU", "ns"),
}
_ERRORS = {
    "process": Column("what failed", left=True, limit=24),
    "pid": Column("pid", link="process"),
    "name": Column("call", left=True),
    "errno_name": Column("error", left=True),
    "error_count": Column("times", "count"),
    "error_ratio": Column("of its calls", "ratio"),
    "on": Column("on", left=True, limit=40),
}
_USUAL_ERRORS = (
    "EAGAIN",
    "EINTR",
    "EINPROGRESS",
    "ENOENT",
    "ERESTARTSYS",
    "ETIMEDOUT",
    "ERESTARTNOHAND",
    "ERESTART_RESTARTBLOCK",
    "ENOTTY",
)
"""Errors that programs meet all the time and handle (errno(3), and what the kernel keeps for itself)."""


_NOT_THE_RECORDERS = "(process IN (SELECT comm FROM recorder_thread WHERE comm IS NOT NULL)) IS NOT TRUE"


def write(page: Page) -> None:
    _cpus(page)
    _computes(page)
    _waits(page)
    _failures(page)


def _cpus(page: Page) -> None:
    rows = page.select("process_summary", where="NOT is_recorder AND cpu_ns > 0", order="cpu_ns DESC, pid", limit=_TOP)
    if rows:
        page.table(_PROCESSES, rows)
        page.source("process_summary")
        return
    rows = page.select("thread_time", where=NOT_THE_RECORDERS_NAME, order="on_cpu_ns DESC, comm", limit=_TOP)
    if rows:
        page.table(_THREADS, rows)
        page.source("thread_time")
    else:
        page.line("nobody recorded who had the CPUs", "quiet")


def _computes(page: Page) -> None:
    """Write where those who ran most did so."""
    busy = f"run_ratio >= {_COMPUTES_RATIO} AND cpu_ratio >= {_COMPUTES_RATIO}"
    rows = page.select("work_compute", where=busy, order="run_ns DESC, upid", limit=_COMPUTES)
    told = [(row, list(_places(row))) for row in rows]
    for row, places in told:
        if places:
            page.line(
                f"{_named(row['process'])} ({row['pid']}), {ratio(row['run_ratio'])} of what all ran: {'; '.join(places)}"
            )
    if any(places for _, places in told):
        page.source("work_compute")


def _places(row: Row) -> Iterator[str]:
    if row["thread"]:
        yield f"most in its threads {_named(row['thread'])}"
    if row["function"]:
        called = f", called from {_named(row['caller'])}" if row["caller"] else ""
        yield f"{ratio(row['function_ratio'])} of its samples are in {_named(row['function'])}{called}"
    if row["call"]:
        yield f"it calls {row['call']} most, {count(row['call_count'])} times"


def _waits(page: Page) -> None:
    rows = page.select(
        "work_wait", where="wait_ns >= 1000000", order="is_asked DESC, all_ns DESC, waiter, due", limit=_READ
    )
    rows = [row for row in rows if not str(row["waiter"]).startswith(_KERNEL)][:_WAITS]
    for row in rows:
        # A line each, not a table: a narrow terminal would cut the cause, which is what is asked for.
        page.line(
            f"{_named(row['waiter'])} waited {duration(row['wait_ns'])} with work, {ratio(row['wait_ratio'])} of its waits,"
            f" the longest {duration(row['wait_max_ns'])}, for {_cause(row)}"
        )
    if rows:
        page.source("work_wait")
    elif page.has_rows("thread_time"):
        page.line("no thread waited a millisecond for anything but work", "quiet")
    if told := gaps(page.select("blame_gap")):
        page.line(told, "quiet")


def _cause(row: Row) -> str:
    through = row["through"]
    if through:
        call, _, place = through.partition(" on ")
        # The end of the connection stands there already.
        through = call if place and place in row["due"] else through
    others = f"this also held up {row['others']}" if row["others"] else None
    return shorten("; ".join(filter(None, (row["due"], through, others))), _CAUSE_CHARS)


def _named(name: object) -> str:
    return shorten(str(name), _NAME_CHARS)


def _failures(page: Page) -> None:
    usual = ", ".join(f"'{error}'" for error in _USUAL_ERRORS)
    rows = page.select(
        "syscall_error",
        where=f"errno_name NOT IN ({usual}) AND {_NOT_THE_RECORDERS}",
        order="error_count DESC, process, pid, name",
        limit=3,
    )
    if rows:
        page.table(_ERRORS, [{**row, "on": row["peer"] or row["target"] or row["kind"] or ""} for row in rows])
        page.source("syscall_error")
