"""Where threads wait, and who ends the wait."""

from __future__ import annotations

from perfcase.report.page import NOT_THE_RECORDER, NOT_THE_RECORDERS_NAME, SEEN_RUNNING, Column, Page
from perfcase.text import count, duration

TITLE = "Off-CPU: where threads waited"

_TOP = 6
_FRAMES_MAX = 4
# Where a kernel thread's callchain begins, on every architecture. One without a callchain cannot be told.
_KERNEL_THREAD = "coalesce(starts_with(stack, 'ret_from_fork'), false)"
# The frames of the switch itself, at the leaf of every such callchain.
_SWITCHING = ("__traceiter_", "trace_event_raw_event", "perf_trace_sched", "__schedule", "schedule", "preempt_schedule")


def write(page: Page) -> None:
    if not page.has_rows("off_cpu_by_stack"):
        page.missing("Context switches", "off_cpu_by_stack")
        return
    page.line("Waits for a CPU, for storage or for a kernel lock:")
    _stacks(page, "state NOT IN ('sleeping', 'idle_sleep')")
    page.line("Sleeps (without kernel threads, which sleep most of the time):")
    _stacks(page, f"state = 'sleeping' AND NOT {_KERNEL_THREAD}")
    page.source("off_cpu_by_stack")
    _wakers(page)


def _stacks(page: Page, condition: str) -> None:
    rows = page.rows(
        "SELECT comm, state, stack, sum(off_cpu_ns) AS off_cpu_ns, sum(off_cpu_count) AS count, max(off_cpu_max_ns) AS max_ns"
        f" FROM off_cpu_by_stack WHERE tid <> 0 AND {condition} AND {SEEN_RUNNING} AND {NOT_THE_RECORDER}"
        f" GROUP BY ALL ORDER BY off_cpu_ns DESC, comm, state, stack LIMIT {_TOP}"
    )
    if not rows:
        page.line("(nothing)", "dim")
        return
    page.table(
        [
            Column("thread", left=True, limit=18),
            Column("state", left=True),
            Column("time", duration),
            Column("times", count),
            Column("longest", duration),
            Column("where (leaf last)", left=True, limit=90, tail=True),
        ],
        [[r["comm"], r["state"], r["off_cpu_ns"], r["count"], r["max_ns"], tail(r["stack"])] for r in rows],
    )


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
    rows = page.rows(
        "SELECT comm, waker_comm, sum(off_cpu_ns) AS off_cpu_ns, sum(sleep_count) AS count, max(off_cpu_max_ns) AS max_ns FROM off_wake"
        f" WHERE waker_comm IS NOT NULL AND {NOT_THE_RECORDERS_NAME} AND NOT {_KERNEL_THREAD} GROUP BY ALL"
        f" ORDER BY off_cpu_ns DESC, comm, waker_comm LIMIT {_TOP}"
    )
    if not rows:
        return
    page.line("")
    page.table(
        [
            Column("thread", left=True, limit=18),
            Column("woken by", left=True, limit=18),
            Column("off CPU", duration),
            Column("times", count),
            Column("longest", duration),
        ],
        [[r["comm"], r["waker_comm"], r["off_cpu_ns"], r["count"], r["max_ns"]] for r in rows],
    )
    page.line("The waker of a wakeup by an interrupt is the interrupted thread: swapper if the CPU was idle.", "dim")
    page.source("off_wake")
