"""Reads the text of `perf trace -s` (per thread, per system call) and of `perf trace` (call by call)."""

from __future__ import annotations

import re
from dataclasses import dataclass

THREAD = re.compile(r"^ (?P<comm>.*) \((?P<tid>-?\d+)\), (?P<events>\d+) events, \s*(?P<percent>[\d.]+)%")
ROW = re.compile(
    r"^   (?P<name>[a-z_]\S*)\s+(?P<calls>\d+)\s+(?P<errors>\d+)\s+(?P<total>\d+\.\d{3})\s+(?P<min>\d+\.\d{3})"
    r"\s+(?P<avg>\d+\.\d{3})\s+(?P<max>\d+\.\d{3})\s+(?P<stddev>\d+\.\d{2})%$"
)


@dataclass(frozen=True)
class SyscallSummary:
    """A row: times in milliseconds as the text has them (three decimals, rounded to nearest)."""

    comm: str
    tid: int
    name: str
    call_count: int
    error_count: int
    total_ms: float
    min_ms: float
    avg_ms: float
    max_ms: float
    stddev_percent: float


def summary(text: str) -> list[SyscallSummary]:
    """Every row of every thread."""
    rows: list[SyscallSummary] = []
    thread: re.Match[str] | None = None
    for line in text.splitlines():
        found = THREAD.match(line)
        if found is not None:
            thread = found
            continue
        row = ROW.match(line)
        if row is None:
            continue
        if thread is None:
            raise ValueError(f"a row before the first thread: {line!r}")
        rows.append(
            SyscallSummary(
                thread["comm"],
                int(thread["tid"]),
                row["name"],
                int(row["calls"]),
                int(row["errors"]),
                float(row["total"]),
                float(row["min"]),
                float(row["avg"]),
                float(row["max"]),
                float(row["stddev"]),
            )
        )
    return rows


LINE = re.compile(
    r"^ *(?P<time>\d+\.\d{3}|\?) \( *(?:(?P<duration>\d+\.\d{3}) ms)?\s*\): (?P<comm>.*)/(?P<tid>\d+)  ?"
    r"(?:(?P<continued> \.\.\. \[continued\]: )(?P<ended>\w+)\(\)|(?P<name>\w+)\(.*?)\)? +"
    r"(?:= (?P<result>.*)|(?P<interrupted>\.\.\.))$"
)


@dataclass(frozen=True)
class LoggedCall:
    """A line: times in milliseconds as the text has them."""

    time_ms: float | None
    duration_ms: float | None
    comm: str
    tid: int
    name: str
    result: str | None


def log(text: str) -> list[LoggedCall]:
    """Every line; the result of a call that another interrupts is None."""
    calls = []
    for line in text.splitlines():
        if "): " not in line:
            continue
        found = LINE.match(line)
        if found is None:
            raise ValueError(f"not a line of perf trace: {line!r}")
        calls.append(
            LoggedCall(
                None if found["time"] == "?" else float(found["time"]),
                None if found["duration"] is None else float(found["duration"]),
                found["comm"],
                int(found["tid"]),
                found["ended"] or found["name"],
                found["result"],
            )
        )
    return calls
