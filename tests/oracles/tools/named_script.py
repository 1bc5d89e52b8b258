"""Reads `perf script -F comm,tid,time,ip,sym,symoff,dso`: each sample's frames with their names."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

HEAD = re.compile(r"^\s*(?P<comm>\S.*?)\s+(?P<tid>-?\d+)\s+(?P<s>\d+)\.(?P<ns>\d{9}):\s*(?P<rest>.*)$")
# Names and objects may have spaces and parentheses; the object is in the last pair, and an address precedes it.
FRAME = re.compile(r"^\s+(?P<ip>[0-9a-f]+) (?P<name>.*) \((?P<dso>.*?)\)$")
OFFSET = re.compile(r"^(?P<name>.*)\+0x(?P<offset>[0-9a-f]+)$")
INLINED = "inlined"


@dataclass(frozen=True)
class Named:
    """A frame as perf prints it; ``name`` is None where it says [unknown]."""

    address: int
    name: str | None
    offset: int | None
    dso: str
    inlined: bool = False


def stacks(text: str) -> dict[tuple[int, int], list[tuple[Named, ...]]]:
    """Time and thread to the stacks of the samples then, leaf first."""
    found: dict[tuple[int, int], list[list[Named]]] = defaultdict(list)
    current: list[Named] = []
    for line in text.splitlines():
        head = HEAD.match(line)
        if head is not None and not line.startswith("\t"):
            current = []
            found[int(head["s"]) * 1_000_000_000 + int(head["ns"]), int(head["tid"])].append(current)
            line = "\t" + head["rest"]
        frame = FRAME.match(line)
        if frame is not None:
            found_offset = OFFSET.match(frame["name"])
            name = found_offset["name"] if found_offset else frame["name"]
            offset = int(found_offset["offset"], 16) if found_offset else None
            known = None if name == "[unknown]" else name
            current.append(Named(int(frame["ip"], 16), known, offset, frame["dso"], frame["dso"] == INLINED))
        elif line.strip():
            raise ValueError(f"not a line of perf script: {line!r}")
    return {key: [tuple(stack) for stack in each] for key, each in found.items()}
