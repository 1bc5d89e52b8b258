"""Waits for a CPU and wakers against Perfetto's trace processor, on the same ftrace text.

tasks.dat and tasks/ftrace.txt are one ring buffer, as trace.dat and as /sys/kernel/tracing/trace prints it. tasks/perfetto.csv
is what Perfetto (trace_processor 52.0) answers on the text to:

    select t.tid as tid, s.ts as ts, s.dur as dur, s.state as state, s.cpu as cpu, w.tid as waker_tid,
      s.irq_context as irq_context
    from thread_state s join thread t using (utid) left join thread w on w.utid = s.waker_utid
    where t.tid <> 0 order by t.tid, s.ts, s.id

The text has microseconds (the kernel rounds them): ours are rounded in the same way, then there is no tolerance.

Compared are the threads that the trace saw being created: of the others it has only what happened on a CPU together with these.
Perfetto calls a wait R when the thread was woken (then it has a waker) and when it left its CPU with the state R, and R+ when
it was preempted; the latter two are runnable_preempted here. In text it does not read sched_wakeup_new: the first wait of a
new thread is missing there, and is left out here. So is a wait after a sched_waking that found the thread on the way off its CPU,
which Perfetto leaves out: to it the thread slept until it ran.
"""

from __future__ import annotations

import csv
import io
import lzma
import re
from collections import Counter

import pytest

from tests.oracles.captures import DATA, Recorded
from tests.oracles.compare import assert_same

TASKS = Recorded("x86_64", "tasks", (), "dat")


def text(name: str) -> str:
    return lzma.decompress((DATA / "x86_64" / "tasks" / name).read_bytes()).decode()


def micros(ns: int) -> int:
    return (ns + 500) // 1000


@pytest.fixture(scope="module")
def created() -> set[int]:
    return {int(tid) for tid in re.findall(r"sched_process_fork: .* child_pid=(\d+)", text("ftrace.txt.xz"))}


@pytest.fixture(scope="module")
def first_waits() -> set[tuple[int, int]]:
    """(thread, moment in microseconds) where the wait of a new thread began."""
    found = re.findall(r" (\d+)\.(\d{6}): sched_wakeup_new: .* pid=(\d+) prio", text("ftrace.txt.xz"))
    return {(int(tid), int(seconds) * 1_000_000 + int(us)) for seconds, us, tid in found}


@pytest.fixture(scope="module")
def early_waits(case_of) -> set[tuple[int, int]]:
    """The same of waits after a sleep of 0 ns. That the thread was woken, sched_wakeup says: it comes while the thread waits."""
    rows = case_of(TASKS).rows("""
        SELECT t.tid, s.ts_ns + c.start_clock_ns,
            (SELECT count(*) FROM sched_wakeup AS w WHERE w.pid = t.tid AND w.ts_ns BETWEEN s.ts_ns AND s.ts_ns + s.run_queue_ns)
        FROM capture AS c, thread_state AS s JOIN thread AS t USING (utid) WHERE s.duration_ns = 0 AND s.waker_utid IS NOT NULL
    """)
    assert rows
    assert all(count == 1 for *_, count in rows)
    return {(tid, micros(start)) for tid, start, _ in rows}


@pytest.fixture(scope="module")
def states(created: set[int]) -> list[dict[str, str]]:
    rows = csv.DictReader(io.StringIO(text("perfetto.csv.xz")))
    return [row for row in rows if int(row["tid"]) in created]


def test_the_text_is_of_the_same_events(case_of) -> None:
    ours = dict(
        case_of(TASKS).rows("""
            SELECT 'sched_switch', count(*) FROM sched_switch UNION ALL
            SELECT 'sched_waking', count(*) FROM sched_waking UNION ALL
            SELECT 'sched_wakeup', count(*) FROM sched_wakeup UNION ALL
            SELECT 'sched_wakeup_new', count(*) FROM sched_wakeup_new
        """)
    )
    theirs = Counter(re.findall(r"\d+\.\d{6}: (sched_(?:switch|waking|wakeup|wakeup_new)): ", text("ftrace.txt.xz")))
    assert ours == theirs


def test_every_wait_for_a_cpu_and_who_woke(
    case_of,
    created: set[int],
    first_waits: set[tuple[int, int]],
    early_waits: set[tuple[int, int]],
    states: list[dict[str, str]],
) -> None:
    ours = Counter(
        (tid, micros(start), micros(end) - micros(start), state, waker)
        for tid, start, end, state, waker in case_of(TASKS).rows("""
            SELECT w.tid, w.ts_ns + c.start_clock_ns, w.ts_ns + w.wait_ns + c.start_clock_ns, w.state, k.tid
            FROM capture AS c, run_queue_wait AS w LEFT JOIN thread AS k ON k.utid = w.waker_utid
            WHERE NOT w.is_open
        """)
        if tid in created
    )
    left_out = {row for row in ours if row[:2] in first_waits}
    assert len(left_out) == len(created)
    left_out |= {row for row in ours if row[:2] in early_waits}
    theirs = Counter(
        (
            int(row["tid"]),
            int(row["ts"]) // 1000,
            int(row["dur"]) // 1000,
            "runnable" if row["waker_tid"] else "runnable_preempted",
            int(row["waker_tid"]) if row["waker_tid"] else None,
        )
        for row in states
        if row["state"] in ("R", "R+") and row["dur"] != "-1"
    )
    assert len(theirs) > 500
    assert_same(Counter({row: count for row, count in ours.items() if row not in left_out}), theirs)


def test_every_stay_on_a_cpu(case_of, created: set[int], states: list[dict[str, str]]) -> None:
    ours = Counter(
        (tid, cpu, micros(start), micros(end) - micros(start))
        for tid, cpu, start, end in case_of(TASKS).rows("""
            SELECT t.tid, s.cpu, s.ts_ns + c.start_clock_ns, s.ts_ns + s.duration_ns + c.start_clock_ns
            FROM capture AS c, thread_state AS s JOIN thread AS t USING (utid)
            WHERE s.state = 'running' AND NOT s.is_open
        """)
        if tid in created
    )
    theirs = Counter(
        (int(row["tid"]), int(row["cpu"]), int(row["ts"]) // 1000, int(row["dur"]) // 1000)
        for row in states
        if row["state"] == "Running" and row["dur"] != "-1"
    )
    assert_same(ours, theirs)


def test_run_queue_latency_of_each_thread(
    case_of,
    created: set[int],
    first_waits: set[tuple[int, int]],
    early_waits: set[tuple[int, int]],
    states: list[dict[str, str]],
) -> None:
    """Number and sum of each thread's waits; rounding each wait to a microsecond adds less than one."""
    theirs = {tid: [0, 0] for tid in created}
    for row in states:
        if row["state"] in ("R", "R+") and row["dur"] != "-1":
            theirs[int(row["tid"])][0] += 1
            theirs[int(row["tid"])][1] += int(row["dur"])
    for tid, start, wait_ns in case_of(TASKS).rows(
        "SELECT tid, ts_ns + start_clock_ns, wait_ns FROM run_queue_wait, capture WHERE NOT is_open"
    ):
        if (tid, micros(start)) in first_waits | early_waits:
            theirs[tid][0] += 1
            theirs[tid][1] += wait_ns
    rows = case_of(TASKS).rows(
        "SELECT tid, sum(wait_count), sum(wait_total_ns) FROM run_queue_latency_by_thread GROUP BY tid"
    )
    ours = {tid: figures for tid, *figures in rows if tid in created}
    assert ours.keys() == theirs.keys()
    for tid, (count, total_ns) in ours.items():
        assert count == theirs[tid][0], tid
        assert abs(total_ns - theirs[tid][1]) <= 1000 * count, tid
