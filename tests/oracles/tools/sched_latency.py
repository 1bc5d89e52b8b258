"""Reads the text of `perf sched latency -p`."""

from __future__ import annotations

import re
from dataclasses import dataclass

LINE = re.compile(
    r"^\s+(?P<comm>\S.*):(?P<tid>-?\d+)\s*\|\s*(?P<runtime>\d+\.\d{3}) ms \|\s*(?P<count>\d+) \|"
    r" avg:\s*(?P<avg>\d+\.\d{3}) ms \| max:\s*(?P<max>\d+\.\d{3}) ms \|"
    r" max start:\s*(?P<start>\d+\.\d{6}) s \| max end:\s*(?P<end>\d+\.\d{6}) s$"
)
TOTAL = re.compile(r"^\s*TOTAL:\s*\|\s*\d+\.\d{3} ms \|\s*(?P<count>\d+) \|$")


@dataclass(frozen=True)
class Latency:
    """A thread's waits: how many, mean and longest in microseconds, when the longest was."""

    tid: int
    count: int
    avg_us: int
    max_us: int
    start_us: int
    end_us: int


def micros(text: str) -> int:
    """`12.345` milliseconds, or `1.234567` seconds, in microseconds."""
    return int(text.replace(".", ""))


def latencies(text: str) -> list[Latency]:
    """The rows; their number of waits is what perf states in total."""
    rows, total = [], None
    for line in text.splitlines():
        found, stated = LINE.match(line), TOTAL.match(line)
        if stated:
            total = int(stated["count"])
        elif found:
            figures = [micros(found[name]) for name in ("avg", "max", "start", "end")]
            rows.append(Latency(int(found["tid"]), int(found["count"]), *figures))
        elif " ms |" in line:
            raise ValueError(f"not a line of perf sched latency: {line!r}")
    if total != sum(row.count for row in rows):
        raise ValueError(f"{sum(row.count for row in rows)} waits read, perf states {total}")
    return rows
