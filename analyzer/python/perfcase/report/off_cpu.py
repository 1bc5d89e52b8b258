"""Where threads wait, and who ends the wait."""

from __future__ import annotations

from perfcase.report.document import Column
from perfcase.report.page import NOT_THE_RECORDERS_NAME, Page

TITLE = "Off-CPU: where threads waited"

_TOP = 6
_FRAMES_MAX = 4
# The frames of the switch itself, at the leaf of every such callchain.
_SWITCHING = ("__traceiter_", "trace_event_raw_event", "perf_trace_sched", "__schedule", "schedule", "preempt_schedule")

_STACKS = {
    "comm": Column("thread", left=True, limit=18),
    "state": Column("state", left=True),
    "off_cpu_ns": Column("time", "ns"),
    "off_cpu_count": Column("times", "count"),
    "off_cpu_max_ns": Column("longest", "ns"),
    "where": Column("where (leaf last)", left=True, limit=90, tail=True),
}
_WAKERS = {
    "comm": Column("thread", left=True, limit=18),
    "woken_by": Column("woken by", left=True, limit=18),
    "off_cpu_ns": Column("off CPU", "ns"),
    "sleep_count": Column("times", "count"),
    "off_cpu_max_ns": Column("longest", "ns"),
}


def write(page: Page) -> None:
    if not page.has_rows("off_cpu_by_stack"):
        page.missing("Context switches", "off_cpu_by_stack")
        return
    page.line("Waits for a CPU, for storage or for a kernel lock:")
    _stacks(page, "state NOT IN ('sleeping', 'idle_sleep')")
    page.line("Sleeps (without kernel threads, which sleep most of the time):")
    _stacks(page, "state = 'sleeping' AND NOT is_kernel_thread")
    page.source("off_cpu_by_comm")
    _wakers(page)


def _stacks(page: Page, condition: str) -> None:
    rows = page.select("off_cpu_by_comm", where=condition, order="off_cpu_ns DESC, comm, state, stack", limit=_TOP)
    if rows:
        page.table(_STACKS, [{**row, "where": tail(row["stack"])} for row in rows])
    else:
        page.line("(nothing)", "quiet")


def tail(stack: str | None) -> str:
    """Return the last frames of a folded callchain; the switch itself tells nothing."""
    if stack is None:
        return "(no callchain)"
    frames = stack.split(";")
    while len(frames) > 1 and frames[-1].startswith(_SWITCHING):
        frames.pop()
    kept = frames[-_FRAMES_MAX:]
    return ("… " if len(frames) > len(kept) else "") + " > ".join(kept)


def _wakers(page: Page) -> None:
    rows = page.select(
        "off_wake_by_comm",
        "*, CASE WHEN is_interrupt THEN 'an interrupt' ELSE waker_comm END AS woken_by",
        where=f"woken_by IS NOT NULL AND NOT is_kernel_thread AND {NOT_THE_RECORDERS_NAME}",
        order="off_cpu_ns DESC, comm, woken_by",
        limit=_TOP,
    )
    if rows:
        page.line("")
        page.table(_WAKERS, rows)
        page.line(
            "A soft interrupt counts as the thread in which it ran: what that sent over loopback, or a packet that came.",
            "quiet",
        )
        page.source("off_wake_by_comm")
