"""Captures that the tests record themselves: of their own process tree only, never of the machine.

They bring what the recorded ones cannot: this machine's kernel, its perf, and another run each time.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.oracles.tools import filtered, run
from tests.support.alone import alone

SCHED_EVENTS = (
    "sched:sched_switch",
    "sched:sched_waking",
    "sched:sched_wakeup",
    "sched:sched_wakeup_new",
    "sched:sched_migrate_task",
    "raw_syscalls:sys_enter",
    "raw_syscalls:sys_exit",
)
# Processes and threads that wake each other, sleep, write, fork and exec.
WORKLOAD = (
    sys.executable,
    filtered.__file__,
    "sh",
    "-c",
    "stress-ng --quiet --switch 1 --switch-ops 300 --timeout 5; stress-ng --quiet --pthread 1 --pthread-max 2 "
    "--pthread-ops 20 --timeout 5; (sleep 0.02; echo a) | cat >/dev/null; "
    'dd if=/dev/zero of="$0" bs=64k count=8 conv=fsync 2>/dev/null; stress-ng --quiet --cpu 1 --cpu-ops 30 --timeout 2',
)


class CannotRecordError(Exception):
    """Why this machine does not let the tests record."""


@dataclass(frozen=True)
class Live:
    """A capture that is recorded when it is first asked for, once in a test session."""

    name: str
    options: tuple[str, ...]
    tools: tuple[str, ...]

    @property
    def id(self) -> str:
        """How tests name it."""
        return f"live/{self.name}"

    def path(self) -> Path:
        """The capture's file."""
        return _record(self)

    def text(self, tool: str) -> str:
        """What the tool says."""
        return _ask(self, tool)

    def has(self, tool: str) -> bool:
        """Whether the tool is asked."""
        return tool in self.tools


@functools.cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="oracle-live-")


@functools.cache
def _record(live: Live) -> Path:
    folder = Path(_folder().name)
    path = folder / f"{live.name}.data"
    for program in ("perf", "stress-ng"):
        if not run.available(program):
            raise CannotRecordError(f"{program} is not installed")
    # -B: leaves ~/.debug alone. No -a: only the workload and its children.
    command = [
        "perf",
        "record",
        "-q",
        "-B",
        "-k",
        "CLOCK_MONOTONIC",
        "-m",
        "2M",
        "--sample-cpu",
        *live.options,
        "-o",
        str(path),
        "--",
    ]
    with alone("recorders"):
        done = subprocess.run([*command, *WORKLOAD, str(folder / "written")], capture_output=True, text=True)
    if not path.exists() or path.stat().st_size == 0:
        raise CannotRecordError(f"perf record is not permitted here: {done.stderr.strip()[-300:]}")
    return path


@functools.lru_cache(maxsize=16)
def _ask(live: Live, tool: str) -> str:
    return run.ask(tool, _record(live))


def _events(*names: str) -> tuple[str, ...]:
    return tuple(argument for name in names for argument in ("-e", name))


PROFILE = ("script", "mmaps", "report-self", "report-children")

LIVE = [
    Live(
        "everything",
        ("-g", *_events(*SCHED_EVENTS, "cpu-clock/freq=997/")),
        (*PROFILE, "report-callers", "timehist", "timehist-summary", "switches", "trace-summary", "trace-log"),
    ),
    Live("compressed", ("-g", "-z", *_events("cpu-clock/freq=1999/", "page-faults")), (*PROFILE, "report-callers")),
    Live("fixed-period", ("-c", "250000", *_events("cpu-clock:u", "task-clock")), PROFILE),
]
