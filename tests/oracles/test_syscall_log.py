"""syscall_log against `perf trace -i`: every line of the whole log.

perf writes a line at each return: when the thread's latest entry was (on the clock that begins at the first sample),
how long ago that is, the thread's name (14 characters), the call, the result. It writes "= ?" at an exit, which does not
return. All of them follow from our rows; a line may differ from ours by half a unit of its last decimal, and by no more.

Where it sees another entry, of whatever thread, before a call has returned, it writes a line "..." for that call: it must
be an entry of ours, and an entry without a return must have one. Which others have one depends on the order in which
perf takes events of several CPUs, which is not always that of their times ("N out of order events recorded").

perf names calls by the x86_64 table whatever was recorded, so calls are compared by number. It shows descriptor flags
(fcntl) in words where it has them, and no process id that it did not see (getppid of the workload): there the result is
not compared. Calls that its table does not have, and returns without a number (from signal handlers), have no line.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tests.oracles.captures import Capture, each_with
from tests.oracles.compare import assert_same
from tests.oracles.test_syscalls import NOT_IN_PERF
from tests.oracles.tools import perf_trace

TABLE = Path(__file__).parents[2] / "schema" / "syscalls" / "x86_64.txt"
EXITS = {60, 231}
FCNTL = 72

OURS = """
SELECT s.ts_ns - b.base_ns, s.exit_ts_ns - b.base_ns, s.perf_duration_ns, s.utid, l.tid, s.number, s.ret, s.errno_name,
    s.pairing, s.name, l.text, l.comm
FROM syscall AS s
JOIN syscall_log AS l ON l.utid = s.utid AND l.ts_ns = s.ts_ns AND l.name = s.name
    AND l.ret IS NOT DISTINCT FROM s.ret
CROSS JOIN (SELECT min(ts_ns) AS base_ns FROM sample) AS b
ORDER BY s.ts_ns, s.utid, s.exit_ts_ns
"""
NAMES = """
SELECT n.utid, n.ts_ns - (SELECT min(ts_ns) FROM sample), n.comm FROM thread_name AS n ORDER BY n.utid, n.ts_ns
"""


def x86_64_numbers() -> dict[str, int]:
    lines = (line.split() for line in TABLE.read_text().splitlines() if not line.startswith("#"))
    return {name: int(number) for number, name in lines}


def perf_lines(capture: Capture) -> list[tuple[int, int, str, float | None, float | None, str]]:
    """Thread, number, result, when and how long in ms, the thread's name."""
    numbers = x86_64_numbers()
    found = []
    for call in perf_trace.log(capture.text("trace-log")):
        result = "..." if call.result is None else call.result
        number = numbers[call.name]
        if (number == FCNTL and call.result is not None) or not result:
            result = "="
        elif re.match(r"0x[0-9a-f]+$", result):
            result = str(int(result, 16))
        else:
            # A thread's name or a word behind the number, a sentence behind the error.
            result = result.removeprefix("-1 ").split()[0]
        found.append((call.tid, number, result, call.time_ms, call.duration_ms, call.comm))
    return found


def our_lines(case) -> tuple[list[tuple], list[tuple]]:
    """Returns and exits: thread, number, result, when and how long in ns, the thread's name. Entries: thread, number, when,
    and whether the line of it must be there."""
    names: dict[int, list[tuple[int, str]]] = {}
    for utid, since, comm in case.rows(NAMES):
        names.setdefault(utid, []).append((since, comm))

    def comm_at(utid: int, ts_ns: int) -> str:
        known = [comm for since, comm in names[utid] if since <= ts_ns]
        return (known or [names[utid][0][1]])[-1][:14]

    calls = [row for row in case.rows(OURS) if row[5] not in NOT_IN_PERF]
    begun = sorted((row for row in calls if row[8] != "exit_only"), key=lambda row: row[0])
    first_entry: dict[int, int] = {}
    lines, entries = [], []
    for entered, exited, _, utid, tid, number, *_ in begun:
        first_entry.setdefault(utid, entered)
        if number in EXITS:
            lines.append((tid, number, "?", entered, None, comm_at(utid, entered)))
        else:
            entries.append((tid, number, entered, exited is None and entered < begun[-1][0]))
    for _, exited, duration, utid, tid, number, ret, _, _, name, text, comm in calls:
        # perf does not see that a return from a signal handler has returned.
        if exited is None or name == "rt_sigreturn":
            continue
        entered = exited - duration if first_entry.get(utid, exited + 1) <= exited else None
        assert text.startswith((f"{name}(", f"<... {name} resumed>)"))
        result = text.rpartition(" = ")[2].removeprefix("-1 ").removeprefix("? ").partition("<")[0]
        result = str(int(result.split()[0], 16)) if result.startswith("0x") else result
        result = str(int(result, 8)) if name == "umask" else result
        # The kernel's own errors (ERESTARTSYS and so on, 512 and above) have no name in perf.
        result = "(unknown)" if ret is not None and -4096 < ret <= -512 else result
        lines.append((tid, number, result, entered, None if entered is None else duration, comm[:14]))
    return lines, entries


@each_with("trace-log")
def test_every_line(capture: Capture, case_of) -> None:
    lines, entries = our_lines(case_of(capture))
    perf = perf_lines(capture)
    assert len(perf) > 1000
    mute = {number for _, number, result, *_ in perf if result == "="}

    def comparable(rows: list[tuple], unit_ns: float) -> list[tuple]:
        scale = [(*row[:3], row[5], *(-1 if t is None else t * unit_ns for t in row[3:5])) for row in rows]
        return sorted((row[0], row[1], "=" if row[1] in mute and row[2] != "?" else row[2], *row[3:]) for row in scale)

    # First what is exact, as multisets; then the times, pairwise in the order of each group.
    ours, theirs = comparable(lines, 1), comparable([row for row in perf if row[2] != "..."], 1e6)
    assert_same(Counter(row[:4] for row in ours), Counter(row[:4] for row in theirs), "lines")
    assert [(a, b) for a, b in zip(ours, theirs, strict=True) if not (near(a[4], b[4]) and near(a[5], b[5]))] == []

    interrupted = {(*row[:2], round(row[3] * 1000)) for row in perf if row[2] == "..."}
    ours_in_us = {(tid, number, entered // 1000 + d) for tid, number, entered, _ in entries for d in (0, 1)}
    assert interrupted - ours_in_us == set()
    due = [(tid, number, entered) for tid, number, entered, must in entries if must]
    assert [(t, n, at) for t, n, at in due if not {(t, n, at // 1000), (t, n, at // 1000 + 1)} & interrupted] == []


def near(ours: float, theirs: float) -> bool:
    return (ours == -1) == (theirs == -1) and abs(ours - theirs) <= 500.001
