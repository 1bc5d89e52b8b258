"""Reads `trace-cmd report -R -t`: every event with its raw fields and times in nanoseconds."""

from __future__ import annotations

import re
from dataclasses import dataclass

LINE = re.compile(
    r"^\s*(?P<comm>\S.*)-(?P<tid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<s>\d+)\.(?P<ns>\d{9}): (?P<event>\w+):\s*(?P<fields>.*)$"
)
LOST = re.compile(r"^CPU:(?P<cpu>\d+) \[(?P<count>\d+) EVENTS DROPPED\]|^CPU:(?P<cpu2>\d+) \[EVENTS DROPPED\]")
FIELD = re.compile(r" (?=\w+=)")
ARRAY = re.compile(r"^ARRAY\[(?P<bytes>[0-9a-f, ]*)\]$")

# -R prints a field by the conversion that its print format uses: %lx without a prefix, so the text does not tell.
BARE_HEX_FIELDS = {"i_ino"}


@dataclass(frozen=True)
class Event:
    """An event; `fields` are the raw texts by name."""

    comm: str
    tid: int
    cpu: int
    time_ns: int
    name: str
    fields: dict[str, str]


def events(text: str) -> list[Event]:
    """The events in the order of the report."""
    rows = []
    for line in text.splitlines():
        found = LINE.match(line)
        if found is None:
            if line.startswith("cpus=") or LOST.match(line) or not line.strip():
                continue
            raise ValueError(f"not a line of trace-cmd report: {line!r}")
        fields = {}
        for part in FIELD.split(found["fields"].strip()):
            name, _, value = part.partition("=")
            if name:
                fields[name] = value.strip()
        rows.append(
            Event(
                found["comm"].strip(),
                int(found["tid"]),
                int(found["cpu"]),
                int(found["s"]) * 1_000_000_000 + int(found["ns"]),
                found["event"],
                fields,
            )
        )
    return rows


def number(name: str, text: str) -> int:
    """The value of a numeric field."""
    if name in BARE_HEX_FIELDS:
        return int(text, 16)
    return int(text, 16) if text.startswith("0x") else int(text)


def array_bytes(text: str) -> bytes:
    """`ARRAY[0a, ff]` as bytes."""
    found = ARRAY.match(text)
    if found is None:
        raise ValueError(f"not an array: {text!r}")
    return bytes(int(part, 16) for part in found["bytes"].split(",") if part.strip())
