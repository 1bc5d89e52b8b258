"""Reads `perf script` as tools.run asks for it: samples with their callchains, mappings, context switches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

HEAD = re.compile(
    r"^\s*(?P<comm>\S.*?)?\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?:\[(?P<cpu>\d+)\]\s+)?(?P<s>\d+)\.(?P<ns>\d{9}):"
    r"\s+(?P<period>\d+)\s+(?P<event>\S+):(?P<rest>.*)$"
)
FRAME = re.compile(r"^\s+(?P<ip>[0-9a-f]+) (?P<symbol>.*) \((?P<dso>.*)\)$")
MMAP = re.compile(
    r"PERF_RECORD_MMAP2? (?P<pid>-?\d+)/(?P<tid>-?\d+): \[(?P<start>0x[0-9a-f]+)\((?P<length>0x[0-9a-f]+)\)"
    r" @ (?P<offset>0x[0-9a-f]+|0)[^\]]*\]: \S+ (?P<path>.*)$"
)
SWITCH = re.compile(
    r"^\s*(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<s>\d+)\.(?P<ns>\d{9}):\s+sched:sched_switch:\s+"
    r"prev_comm=(?P<prev_comm>.*) prev_pid=(?P<prev_pid>\d+) prev_prio=\d+ prev_state=(?P<prev_state>\S+) ==> "
    r"next_comm=(?P<next_comm>.*) next_pid=(?P<next_pid>\d+) next_prio=\d+\s*$"
)


@dataclass(frozen=True)
class Frame:
    """A code address: within the object for user space, the kernel's own for the kernel."""

    address: int
    dso: str


@dataclass
class Sample:
    """A sample; `frames` is leaf first.

    Without a callchain they are the sampled instruction alone, which perf then prints by its address in memory.
    """

    comm: str
    pid: int
    tid: int
    cpu: int | None
    time_ns: int
    event: str
    period: int
    frames: list[Frame] = field(default_factory=list)
    has_chain: bool = True


@dataclass(frozen=True)
class Mapping:
    """A mapping of a process (pid -1: the kernel)."""

    pid: int
    start: int
    length: int
    offset: int
    path: str


@dataclass(frozen=True)
class Switch:
    """A context switch, by the event's own payload beside the sample's thread."""

    time_ns: int
    cpu: int
    sample_tid: int
    prev_pid: int
    prev_comm: str
    prev_state: str
    next_pid: int


def samples(text: str) -> Iterator[Sample]:
    """The samples in perf's order."""
    current: Sample | None = None
    known: dict[str, Frame] = {}  # nine lines of ten were there before
    for line in text.splitlines():
        if line in known and current is not None:
            current.frames.append(known[line])
            continue
        found = HEAD.match(line)
        if found is not None:
            if current is not None:
                yield current
            current = Sample(
                found["comm"] or "",
                int(found["pid"]),
                int(found["tid"]),
                None if found["cpu"] is None else int(found["cpu"]),
                int(found["s"]) * 1_000_000_000 + int(found["ns"]),
                found["event"],
                int(found["period"]),
                has_chain=not found["rest"].strip(),
            )
            line = "\t" + found["rest"]
        frame = FRAME.match(line)
        if frame is not None and current is not None:
            known[line] = Frame(int(frame["ip"], 16), frame["dso"])
            current.frames.append(known[line])
        elif line.strip():
            raise ValueError(f"not a line of perf script: {line!r}")
    if current is not None:
        yield current


def mappings(text: str) -> list[Mapping]:
    """The mappings, in the order of the file."""
    rows = []
    for line in text.splitlines():
        found = MMAP.search(line)
        if found is None:
            raise ValueError(f"not a mapping: {line!r}")
        rows.append(
            Mapping(
                int(found["pid"]),
                int(found["start"], 16),
                int(found["length"], 16),
                int(found["offset"], 16),
                found["path"],
            )
        )
    return rows


def switches(text: str) -> list[Switch]:
    """The context switches, in the order of time."""
    rows = []
    for line in text.splitlines():
        found = SWITCH.match(line)
        if found is None:
            raise ValueError(f"not a context switch: {line!r}")
        rows.append(
            Switch(
                int(found["s"]) * 1_000_000_000 + int(found["ns"]),
                int(found["cpu"]),
                int(found["tid"]),
                int(found["prev_pid"]),
                found["prev_comm"],
                found["prev_state"],
                int(found["next_pid"]),
            )
        )
    return rows
