"""In short: who had the CPUs, who waited for what, what failed. One screen that says enough where no rule fires."""

from __future__ import annotations

from perfcase.catalogue.causes import due, gaps
from perfcase.report.document import Column
from perfcase.report.page import NOT_THE_RECORDERS_NAME, Page

TITLE = "In short"

_TOP = 4
_WAITS = 6
_UNKNOWN = ("open", "not_recorded", "not_followed")
_IDLE = ("sleep", "no_work", "interrupt", "stopped")
"""Causes of waits that are nobody's fault, except for a request or a question that waits for them."""
_KERNEL = ("kworker", "ksoftirqd", "migration/", "rcu_", "jbd2/", "kswapd", "kcompactd", "khugepaged")
"""How the names of the kernel's own threads begin: what they wait for is nobody's work."""
_READ = 50
"""Rows of causes that are read for the first few that are not of the kernel's own threads."""

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
_CAUSES = {
    "comm": Column("who waited", left=True, limit=18),
    "work": Column("with", left=True),
    "due": Column("for", left=True, limit=60),
    "call": Column("in", left=True),
    "wait_ns": Column("time", "ns"),
    "wait_ratio": Column("of its waits", "ratio"),
    "wait_max_ns": Column("longest", "ns"),
}
_ERRORS = {
    "process": Column("what failed", left=True, limit=24),
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


def _waits(page: Page) -> None:
    unknown, idle = (", ".join(f"'{cause}'" for cause in causes) for causes in (_UNKNOWN, _IDLE))
    asked = "work IN ('request', 'call')"
    known = f"cause NOT IN ({unknown}) AND ({asked} OR cause NOT IN ({idle}))"
    rows = page.select(
        "blame_by_comm",
        where=f"{known} AND {NOT_THE_RECORDERS_NAME} AND wait_ns >= 1000000",
        order=f"{asked} DESC, wait_ns DESC, comm, cause, on_comm",
        limit=_READ,
    )
    rows = [row for row in rows if not str(row["comm"]).startswith(_KERNEL)][:_WAITS]
    if rows:
        page.table(_CAUSES, [{**row, "due": due(row)} for row in rows])
        page.source("blame_by_comm")
    elif page.has_rows("thread_time"):
        page.line("no thread waited a millisecond for anything but work", "quiet")
    if told := gaps(page.select("blame_gap")):
        page.line(told, "quiet")


def _failures(page: Page) -> None:
    usual = ", ".join(f"'{error}'" for error in _USUAL_ERRORS)
    rows = page.select(
        "syscall_error",
        where=f"errno_name NOT IN ({usual}) AND {_NOT_THE_RECORDERS}",
        order="error_count DESC, process, name",
        limit=3,
    )
    if rows:
        page.table(_ERRORS, [{**row, "on": row["peer"] or row["target"] or row["kind"] or ""} for row in rows])
        page.source("syscall_error")
