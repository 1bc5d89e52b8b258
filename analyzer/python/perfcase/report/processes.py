"""pidstat, top: who used the CPU, memory and storage, and how many threads there were in which state."""

from __future__ import annotations

from perfcase.report.page import Column, Page
from perfcase.text import count, duration, plural, ratio, size

_TOP = 6
_WAITING = 4

_NOT_THE_RECORDER = "coalesce(upid NOT IN (SELECT upid FROM recorder_thread WHERE upid IS NOT NULL), true)"


def pidstat(page: Page) -> None:
    """Print the busiest processes."""
    page.tool_table(
        "pidstat",
        "process_activity",
        "SELECT comm, pid, sum(user_ns) AS user, sum(system_ns) AS system, sum(cpu_ns) / sum(interval_ns) AS share,"
        " max(cpu_ratio) AS peak, sum(run_queue_ns) AS run_queue, max(resident_bytes) AS resident,"
        " sum(read_bytes) AS bytes_read, sum(write_bytes) AS bytes_written,"
        " sum(voluntary_switch_count) + sum(involuntary_switch_count) AS switches"
        f" FROM process_activity WHERE {_NOT_THE_RECORDER} GROUP BY upid, pid, comm HAVING sum(cpu_ns) > 0"
        f" ORDER BY sum(cpu_ns) DESC, upid, comm LIMIT {_TOP}",
        [
            Column("process", left=True, limit=18),
            Column("pid"),
            Column("user", duration),
            Column("system", duration),
            Column("of one CPU", ratio),
            Column("busiest interval", ratio),
            Column("run queue", duration),
            Column("resident", size),
            Column("read", size),
            Column("written", size),
            Column("switches", count),
        ],
        "no process used the CPU between two snapshots",
    )


def top(page: Page) -> None:
    """Print how many threads there were at the end, in which states, and which waited uninterruptibly."""
    rows = page.rows_of(
        "thread_census",
        "SELECT comm, state, state_name, thread_count FROM thread_census"
        " WHERE snapshot = (SELECT max(snapshot) FROM thread_census) ORDER BY thread_count DESC, comm, state",
    )
    if not rows:
        page.absent("top", "thread_census")
        return
    states: dict[str, int] = {}
    for row in rows:
        states[row["state_name"]] = states.get(row["state_name"], 0) + row["thread_count"]
    listed = ", ".join(
        f"{number} {name}" for name, number in sorted(states.items(), key=lambda item: (-item[1], item[0]))
    )
    waiting = [f"{row['comm']} × {row['thread_count']}" for row in rows if row["state"] == "D"][:_WAITING]
    told = f"; uninterruptible: {', '.join(waiting)}" if waiting else ""
    number = sum(states.values())
    (host,) = page.rows_of("load_average", "SELECT arg_max(thread_count, ts_ns) AS threads FROM load_average") or [{}]
    # A recording of some processes has no others; of the whole host a few more may have come since.
    among = f" of {count(host['threads'])} on the host" if (host.get("threads") or 0) > 2 * number else ""
    page.tool("top", f"{plural(number, 'thread')}{among} at the end: {listed}{told}", "thread_census")
