"""off_cpu_by_thread and off_cpu_by_stack against what `perf script` prints of every switch: its time, its threads, its
callchain. A thread is off the CPU from the switch that takes it off until the one that brings it back.

perf sched timehist truncates each wait to the microsecond; test_timehist compares these one by one. Here the sums are
compared to the nanosecond.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

from tests.oracles.captures import Capture, each_with
from tests.oracles.compare import assert_same
from tests.oracles.tools import perf_script, sched_text
from tests.oracles.tools.address import Places

SWITCH = "sched:sched_switch"


class Wait(NamedTuple):
    """A thread was off the CPU; `chain` leaf first, None where the switch that took it off is not in the capture."""

    tid: int
    off_cpu_ns: int
    chain: tuple | None


def waits(capture: Capture) -> list[Wait]:
    """Every time that a thread came to a CPU. One that was woken before its first switch waited since the wakeup."""
    places = Places(perf_script.mappings(capture.text("mmaps")))
    at: dict[tuple[int, int | None], list[tuple]] = defaultdict(list)
    for sample in perf_script.samples(capture.text("script")):
        if sample.event == SWITCH:
            frames = tuple((frame.dso, frame.address) for frame in places.frames(sample)) if sample.has_chain else ()
            at[sample.time_ns, sample.cpu].append(frames)
    events = sched_text.events(capture.text("sched-events"))
    queued = {(w.tid, w.end_ns): w.start_ns for w in sched_text.histories(events) if isinstance(w, sched_text.Wait)}
    left: dict[int, tuple[int, tuple | None]] = {}
    found = []
    for switch in sorted(perf_script.switches(capture.text("switches")), key=lambda switch: switch.time_ns):
        frames = at[switch.time_ns, switch.cpu].pop(0)
        woken_ns = queued.get((switch.next_pid, switch.time_ns))
        since_ts_ns, chain = left.pop(switch.next_pid, (woken_ns, None))
        if since_ts_ns is not None and switch.next_pid:
            found.append(Wait(switch.next_pid, switch.time_ns - since_ts_ns, chain))
        if switch.prev_pid:
            left[switch.prev_pid] = (switch.time_ns, frames)
    unclear = sched_text.twice_on(events)
    return [wait for wait in found if wait.tid not in unclear]


@each_with("sched-events")
def test_every_thread(capture: Capture, case_of) -> None:
    """Threads of which no switch is missing. A wait counts once, however many states it went through."""
    theirs: Counter[tuple] = Counter()
    for wait in waits(capture):
        theirs[wait.tid, "ns"] += wait.off_cpu_ns
        theirs[wait.tid, "off_cpu_count"] += wait.chain is not None
    assert len(theirs) > 20
    unclear = sched_text.twice_on(sched_text.events(capture.text("sched-events")))
    ours: Counter[tuple] = Counter()
    for tid, ns, count in case_of(capture).rows("""
        SELECT tid, sum(off_cpu_ns)::BIGINT, coalesce(sum(off_cpu_count) FILTER (state <> 'runnable'), 0)::BIGINT
        FROM off_cpu_by_thread GROUP BY tid
    """):
        if tid not in unclear:
            ours[tid, "ns"] = ns
            ours[tid, "off_cpu_count"] = count
    assert_same(+ours, +theirs)


@each_with("sched-events")
def test_every_stack(capture: Capture, case_of) -> None:
    """The sum of the waits of each thread with each callchain: asleep, and then waiting for a CPU."""
    theirs: Counter[tuple] = Counter()
    for wait in waits(capture):
        theirs[wait.tid, wait.chain or (), "ns"] += wait.off_cpu_ns
        theirs[wait.tid, wait.chain or (), "off_cpu_count"] += wait.chain is not None
    case = case_of(capture)
    unclear = sched_text.twice_on(sched_text.events(capture.text("sched-events")))
    frames: dict[int | None, list[tuple]] = defaultdict(list)
    for stack_id, dso, address in case.rows("""
        SELECT s.stack_id, f.dso, f.address FROM (SELECT DISTINCT stack_id FROM off_cpu_by_stack) AS s
        JOIN stack_entry USING (stack_id) JOIN frame_label AS f USING (frame_id) ORDER BY s.stack_id, position
    """):
        frames[stack_id].append((dso, address))
    ours: Counter[tuple] = Counter()
    for tid, stack_id, ns, count in case.rows("""
        SELECT tid, stack_id, sum(off_cpu_ns)::BIGINT, coalesce(sum(off_cpu_count) FILTER (state <> 'runnable'), 0)::BIGINT
        FROM off_cpu_by_stack GROUP BY tid, stack_id
    """):
        if tid not in unclear:
            ours[tid, tuple(frames[stack_id]), "ns"] += ns
            ours[tid, tuple(frames[stack_id]), "off_cpu_count"] += count
    assert_same(+ours, +theirs)
