"""Reads the text of `perf sched timehist` and `perf sched timehist -s`.

perf truncates all of its times to the microsecond, so every number here is whole microseconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TASK = re.compile(r"^(?P<comm>.*)\[(?P<tid>-?\d+)(?:/(?P<pid>-?\d+))?\]$")
LINE = re.compile(
    r"^\s*(?P<s>\d+)\.(?P<us>\d{6}) \[(?P<cpu>\d+)\]\s+(?P<task>\S.*?)"
    r"\s+(?P<wait>\d+\.\d{3})\s+(?P<delay>\d+\.\d{3})\s+(?P<run>\d+\.\d{3})(?:\s.*)?$"
)
LOST = re.compile(r"^\s*\d+\.\d{6} lost \d+ events on cpu \d+$")
SUMMARY = re.compile(
    r"^\s*(?P<task>\S.*\])\s+(?P<parent>-?\d+)\s+(?P<count>\d+)\s+(?P<total>\d+\.\d{3})\s+(?P<min>\d+\.\d{3})"
    r"\s+(?P<avg>\d+\.\d{3})\s+(?P<max>\d+\.\d{3})\s+(?P<stddev>\d+\.\d{2})\s+(?P<migrations>\d+)\s*$"
)
IDLE = re.compile(r"^\s*CPU\s+(?P<cpu>\d+) idle for\s+(?P<total>\d+\.\d{3})\s+msec")


class FormError(ValueError):
    """A line that is neither a row nor a known heading."""


@dataclass(frozen=True)
class Task:
    """Who: `tid` is None for the idle task; `pid` is None where perf does not print it (main threads)."""

    comm: str
    tid: int | None
    pid: int | None


@dataclass(frozen=True)
class Switch:
    """A line of timehist: the task left the CPU at `time_us`; what came before that."""

    time_us: int
    cpu: int
    task: Task
    wait_us: int
    delay_us: int
    run_us: int


@dataclass(frozen=True)
class ThreadSummary:
    """A line of timehist -s."""

    task: Task
    parent: int
    switch_count: int
    total_us: int
    min_us: int
    avg_us: int
    max_us: int
    stddev_percent: float
    migration_count: int


def micros(msec: str) -> int:
    """`12.345` milliseconds in microseconds, without a float in between."""
    whole, fraction = msec.split(".")
    return int(whole) * 1000 + int(fraction)


def task(text: str) -> Task:
    """`comm[tid]`, `comm[tid/pid]` or `<idle>`; comm may hold blanks and brackets."""
    if text == "<idle>":
        return Task("<idle>", None, None)
    found = TASK.match(text)
    if found is None:
        raise FormError(f"not a task: {text!r}")
    pid = found["pid"]
    return Task(found["comm"].strip(), int(found["tid"]), None if pid is None else int(pid))


def switches(text: str) -> list[Switch]:
    """The lines of `perf sched timehist`, in perf's order."""
    rows = []
    for line in text.splitlines():
        found = LINE.match(line)
        if found is None:
            if re.match(r"^\s*\d+\.\d{6} ", line) and LOST.match(line) is None:
                raise FormError(f"not a timehist line: {line!r}")
            continue
        rows.append(
            Switch(
                int(found["s"]) * 1_000_000 + int(found["us"]),
                int(found["cpu"]),
                task(found["task"]),
                micros(found["wait"]),
                micros(found["delay"]),
                micros(found["run"]),
            )
        )
    return rows


def summary(text: str) -> list[ThreadSummary]:
    """The rows of `perf sched timehist -s`, running and terminated tasks alike."""
    rows = []
    for line in text.splitlines():
        found = SUMMARY.match(line)
        if found is None:
            continue
        rows.append(
            ThreadSummary(
                task(found["task"]),
                int(found["parent"]),
                int(found["count"]),
                micros(found["total"]),
                micros(found["min"]),
                micros(found["avg"]),
                micros(found["max"]),
                float(found["stddev"]),
                int(found["migrations"]),
            )
        )
    stated = re.search(r"Total number of unique tasks: (\d+)", text)
    if stated is not None and int(stated[1]) != len(rows):
        raise FormError(f"{len(rows)} rows read, perf states {stated[1]} tasks")
    return rows


def idle_us(text: str) -> dict[int, int]:
    """Idle time per CPU as the summary states it."""
    return {int(found["cpu"]): micros(found["total"]) for found in map(IDLE.match, text.splitlines()) if found}
