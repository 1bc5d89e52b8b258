"""Works out waits and sleeps from `perf script`'s text of scheduler events, without perfcase.

The method is another one than the importer's: forward in time, a thread's wait ends where a switch names it as the next
one. It holds where no event was lost and all CPUs were recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

HEAD = re.compile(
    r"^\s*(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<s>\d+)\.(?P<ns>\d{9}):\s+sched:(?P<event>\w+):\s+(?P<rest>.*)$"
)
SWITCH = re.compile(
    r"^prev_comm=(?P<prev_comm>.*) prev_pid=(?P<prev_pid>\d+) prev_prio=-?\d+ prev_state=(?P<prev_state>\S+) ==> "
    r"next_comm=(?P<next_comm>.*) next_pid=(?P<next_pid>\d+) next_prio=-?\d+\s*$"
)
WAKEUP = re.compile(r"^comm=(?P<comm>.*) pid=(?P<pid>\d+) prio=-?\d+ (?:success=\d+ )?target_cpu=\d+\s*$")
MIGRATION = re.compile(
    r"^comm=(?P<comm>.*) pid=(?P<pid>\d+) prio=-?\d+ orig_cpu=(?P<from>\d+) dest_cpu=(?P<to>\d+)\s*$"
)
EARLY_NS = 100_000
"""The most from sched_waking to the end of a run in which the waker finds the thread on the way off its CPU."""
WAKEUPS = ("sched_waking", "sched_wakeup", "sched_wakeup_new")


@dataclass(frozen=True)
class Event:
    """An event: the thread that it was recorded in (`tid`), and its own fields."""

    time_ns: int
    cpu: int
    tid: int
    name: str
    fields: dict[str, str]


@dataclass(frozen=True)
class Wait:
    """A wait for a CPU from `start_ns` to `end_ns`, on whatever CPU; `cpu` is the one that it got."""

    tid: int
    start_ns: int
    end_ns: int
    state: str
    cpu: int
    waker: int | None


@dataclass(frozen=True)
class Sleep:
    """From leaving a CPU to being back on one: `out` and `wake` are the events at its beginning and end."""

    tid: int
    out: Event
    wake: Event | None
    back_ns: int


def events(text: str) -> list[Event]:
    """The switches, wakeups and moves, in the order of time."""
    rows = []
    for line in text.splitlines():
        head = HEAD.match(line)
        if head is None:
            raise ValueError(f"not a scheduler event: {line!r}")
        name = head["event"]
        form = {"sched_switch": SWITCH, "sched_migrate_task": MIGRATION, **dict.fromkeys(WAKEUPS, WAKEUP)}.get(name)
        if form is None:
            continue
        found = form.match(head["rest"])
        if found is None:
            raise ValueError(f"not a {name}: {line!r}")
        time_ns = int(head["s"]) * 1_000_000_000 + int(head["ns"])
        rows.append(Event(time_ns, int(head["cpu"]), int(head["tid"]), name, found.groupdict()))
    return sorted(rows, key=lambda event: event.time_ns)


@dataclass
class _Thread:
    out: Event | None = None
    wake: Event | None = None
    last: Event | None = None
    early: Event | None = None
    runs: bool = False


def histories(rows: list[Event]) -> Iterator[Wait | Sleep]:
    """Every wait for a CPU and every sleep whose ends are in the capture."""
    uses_waking = any(event.name == "sched_waking" for event in rows)
    threads: dict[int, _Thread] = {}
    for event in rows:
        if event.name == "sched_switch":
            came, gone = int(event.fields["next_pid"]), int(event.fields["prev_pid"])
            if came:
                thread = threads.setdefault(came, _Thread())
                yield from _back(came, thread, event)
                threads[came] = _Thread(runs=True)
            if gone:
                is_dead = event.fields["prev_state"][0] in "XZ"
                last = threads.get(gone, _Thread()).last
                early = last if last is not None and event.time_ns - last.time_ns <= EARLY_NS else None
                threads[gone] = _Thread() if is_dead else _Thread(out=event, early=early)
        elif event.name in WAKEUPS and not (uses_waking and event.name == "sched_wakeup"):
            thread = threads.setdefault(int(event.fields["pid"]), _Thread())
            if event.name == "sched_waking":
                thread.last = event
            if not thread.runs and thread.wake is None:
                thread.wake = event


def _back(tid: int, thread: _Thread, event: Event) -> Iterator[Wait | Sleep]:
    out, wake = thread.out, thread.wake or thread.early
    waker = None if wake is None or wake.tid < 0 else wake.tid
    if out is not None and out.fields["prev_state"].startswith("R"):
        yield Wait(tid, out.time_ns, event.time_ns, "runnable_preempted", event.cpu, None)
        return
    if out is not None:
        yield Sleep(tid, out, wake, event.time_ns)
    if wake is not None:
        start_ns = wake.time_ns if out is None else max(wake.time_ns, out.time_ns)
        yield Wait(tid, start_ns, event.time_ns, "runnable", event.cpu, waker)


def twice_on(rows: list[Event]) -> set[int]:
    """The threads that a switch puts on a CPU while, by the switches before, they run on one: a switch is missing.

    This is perf itself, which stops the recording of one CPU after the other.
    """
    on: dict[int, int] = {}
    found = set()
    for event in rows:
        if event.name == "sched_switch":
            on.pop(int(event.fields["prev_pid"]), None)
            came = int(event.fields["next_pid"])
            if came and came in on:
                found.add(came)
            on[came] = event.cpu
    return found
