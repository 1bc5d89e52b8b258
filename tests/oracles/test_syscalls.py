"""syscall_summary against `perf trace -s -i`: every cell of every thread.

perf prints milliseconds and percents rounded to three and two decimals, so a cell may differ from ours by half a unit
of its last place, and by no more. perf names calls by the table of the machine it runs on; the recorded texts come
from x86_64, so for another architecture its name is translated back to the number that it stands for. perf leaves out
returns of calls that this table does not have; ours has them all.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.oracles.captures import Capture, each_with
from tests.oracles.tools import perf_trace

# The x86_64 numbers of the names that perf prints for the aarch64 captures (arch/x86/entry/syscalls/syscall_64.tbl).
X86_64_NUMBERS = {
    "clone": 56,
    "fadvise64": 221,
    "fork": 57,
    "futimesat": 261,
    "getcwd": 79,
    "getrusage": 98,
    "gettimeofday": 96,
    "kill": 62,
    "pipe2": 293,
    "rename": 82,
    "sched_yield": 24,
    "semget": 64,
    "setfsgid": 123,
    "setfsuid": 122,
    "shmget": 29,
    "shutdown": 48,
    "sysinfo": 99,
    "timer_create": 222,
    "timer_delete": 226,
    "uname": 63,
    "vmsplice": 278,
}

# Numbers without a system call behind them in the x86_64 table: perf drops their returns. -1 is what the kernel reports
# when a tracer or a signal has replaced the call.
NOT_IN_PERF = {-1, *range(335, 424)} | {134, 156, 174, 177, 178, 180, 181, 182, 183, 184, 185, 205, 211, 214, 215, 236}

# perf has one row for a thread, whatever it was called meanwhile. Standard deviations are put together by the sums of squares.
OURS = """
WITH part AS (
    SELECT *, perf_duration_stddev_ratio * perf_duration_avg_ns * sqrt(perf_call_count) AS perf_stddev_ns FROM syscall_summary WHERE perf_call_count > 0
), one AS (
    SELECT utid, tid, name, sum(perf_call_count) AS calls, sum(perf_error_count) AS errors, sum(perf_duration_total_ns) AS total,
        min(perf_duration_min_ns) AS least, max(perf_duration_max_ns) AS most,
        sum((perf_call_count - 1) * pow(coalesce(perf_stddev_ns, 0), 2) + perf_call_count * pow(coalesce(perf_duration_avg_ns, 0), 2))
            - pow(sum(perf_duration_total_ns), 2) / sum(perf_call_count) AS squares
    FROM part GROUP BY ALL
)
SELECT s.tid, n.number, s.calls, s.errors, s.total / 1e6, s.least / 1e6, s.total / s.calls / 1e6, s.most / 1e6,
    coalesce(100 * sqrt(greatest(s.squares, 0) / nullif(s.calls - 1, 0)) / sqrt(s.calls) / nullif(s.total / s.calls, 0), 0), s.name
FROM one AS s
JOIN (SELECT DISTINCT utid, name, number FROM syscall) AS n ON n.utid = s.utid AND n.name = s.name
"""


@dataclass(frozen=True)
class Cells:
    """A row without its key."""

    call_count: int
    error_count: int
    total_ms: float
    min_ms: float
    avg_ms: float
    max_ms: float
    stddev_percent: float


def perf_rows(capture: Capture) -> dict[tuple[int, object], Cells]:
    foreign = capture.id.startswith("aarch64/")
    rows = {}
    for row in perf_trace.summary(capture.text("trace-summary")):
        key = (row.tid, X86_64_NUMBERS[row.name] if foreign else row.name)
        assert key not in rows, f"perf prints {key} twice"
        rows[key] = Cells(
            row.call_count, row.error_count, row.total_ms, row.min_ms, row.avg_ms, row.max_ms, row.stddev_percent
        )
    return rows


@each_with("trace-summary")
def test_every_cell(capture: Capture, case_of) -> None:
    foreign = capture.id.startswith("aarch64/")
    theirs = perf_rows(capture)
    ours = {}
    for tid, number, *cells, name in case_of(capture).rows(OURS):
        key = (tid, number if foreign else name)
        assert key not in ours, f"{key} is there twice"
        if number in NOT_IN_PERF and key not in theirs:
            continue
        # The kernel shows a return from a signal handler without a number: perf drops it, we know what it ends.
        if name == "rt_sigreturn" and key not in theirs:
            continue
        ours[key] = Cells(*cells)
    assert ours.keys() == theirs.keys()
    wrong = [f"{key}: ours {ours[key]}, perf {theirs[key]}" for key in theirs if not same(ours[key], theirs[key])]
    assert wrong == []


def same(ours: Cells, theirs: Cells) -> bool:
    counts = (ours.call_count, ours.error_count) == (theirs.call_count, theirs.error_count)
    times = all(
        abs(getattr(ours, name) - getattr(theirs, name)) <= 0.0005 + 1e-9
        for name in ("total_ms", "min_ms", "avg_ms", "max_ms")
    )
    return counts and times and abs(ours.stddev_percent - theirs.stddev_percent) <= 0.005 + 1e-6


@each_with("trace-summary")
def test_every_entry_and_return_is_in_one_row(capture: Capture, case_of) -> None:
    case = case_of(capture)
    events = dict(case.rows("SELECT name, sample_count FROM perf_event WHERE name LIKE 'raw_syscalls:%'"))
    entries, returns = case.rows("""
        SELECT count(*) FILTER (pairing <> 'exit_only'), count(*) FILTER (pairing <> 'enter_only') FROM syscall
    """)[0]
    assert (entries, returns) == (events["raw_syscalls:sys_enter"], events["raw_syscalls:sys_exit"])
