"""The captures that the oracle tests compare on, and what the tools say about each.

The recorded ones lie compressed in tests/data/captures/<arch>/<name>.{data,dat}.xz with the tools' texts beside them
in <name>/<tool>.txt.xz, so that the comparison needs neither perf nor trace-cmd. Anyone who changes a tool's arguments
writes the texts again: `python -m tests.oracles.captures`.
"""

from __future__ import annotations

import functools
import lzma
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.oracles.live import LIVE, Live
from tests.oracles.tools import run

DATA = Path(__file__).parent.parent / "data" / "captures"

PROFILE = ("script", "mmaps", "report-self", "report-children")
PROFILE_NO_CPU = ("script-no-cpu", "mmaps", "report-self", "report-children")
LOCK = ("lock-contention", "lock-contention-threads")
SCHED = ("timehist", "timehist-summary", "switches")


@dataclass(frozen=True)
class Recorded:
    """A capture of tests/data: architecture, name, the tools that are asked about it."""

    arch: str
    name: str
    tools: tuple[str, ...]
    suffix: str = "data"

    @property
    def id(self) -> str:
        """How tests name it."""
        return f"{self.arch}/{self.name}"

    @property
    def packed(self) -> Path:
        """The file, as it is kept."""
        return DATA / self.arch / f"{self.name}.{self.suffix}.xz"

    def bytes(self) -> bytes:
        """The capture itself."""
        return lzma.decompress(self.packed.read_bytes())

    def text_path(self, tool: str) -> Path:
        """Where the tool's text lies."""
        return DATA / self.arch / self.name / f"{tool}.txt.xz"

    def text(self, tool: str) -> str:
        """What the tool said."""
        return _read(self.text_path(tool))

    def has(self, tool: str) -> bool:
        """Whether the tool was asked."""
        return tool in self.tools


Capture = Recorded | Live


@functools.lru_cache(maxsize=8)
def _read(path: Path) -> str:
    return lzma.decompress(path.read_bytes()).decode()


RECORDED = [
    Recorded("x86_64", "hw-cycles", (*PROFILE, "report-callers")),
    Recorded("x86_64", "hw-dwarf", PROFILE_NO_CPU),
    Recorded("x86_64", "offcpu", (*PROFILE, *SCHED, "trace-summary", "trace-log", "block")),
    Recorded("x86_64", "sched", (*PROFILE, *SCHED, "script-trace")),
    Recorded("x86_64", "oracle-perf", (*PROFILE, *SCHED, "block")),
    Recorded("x86_64", "kwork", (*PROFILE, "kwork")),
    Recorded("x86_64", "lock", (*PROFILE, *LOCK)),
    Recorded("x86_64", "lock-messaging", LOCK),
    Recorded("x86_64", "tcp-probe", ("tcp",)),
    Recorded("x86_64", "futex", ("trace-futex",)),
    Recorded("x86_64", "threads", (*PROFILE, *SCHED, "trace-summary", "trace-futex")),
    Recorded("x86_64", "lossy", (*PROFILE, *SCHED, "trace-summary", "trace-log")),
    Recorded("x86_64", "profile-z", (*PROFILE, "report-callers")),
    Recorded("x86_64", "compat", ()),
    Recorded("x86_64", "typed", ("script-typed",)),
    Recorded("x86_64", "page-faults", (*PROFILE, "report-data", "script-trace")),
    Recorded("x86_64", "untimed", ("script-untimed", "script-bare", "report-comm")),
    Recorded("x86_64", "numa", ("switches", "numa")),
    Recorded("x86_64", "tcp-loss", ("tcp-retransmit",)),
    Recorded("x86_64", "block-requeue", ("trace-requeues",), "dat"),
    Recorded("x86_64", "block-merge", ("trace-requeues",), "dat"),
    Recorded("x86_64", "page-cache-function", ("trace-functions",), "dat"),
    Recorded("x86_64", "trace-v6", ("trace-cmd", "trace-wakes"), "dat"),
    Recorded("x86_64", "trace-v7-zstd", ("trace-cmd", "trace-wakes"), "dat"),
    Recorded("aarch64", "hw-cycles", (*PROFILE, "report-callers")),
    Recorded("aarch64", "hw-instructions", PROFILE),
    Recorded("aarch64", "hw-group", PROFILE_NO_CPU),
    Recorded("aarch64", "hw-dwarf", PROFILE_NO_CPU),
    Recorded("aarch64", "sched", (*PROFILE, *SCHED)),
    Recorded("aarch64", "offcpu", (*PROFILE, *SCHED, "trace-summary", "trace-log", "script-trace", "block")),
    Recorded("aarch64", "oracle-perf", (*PROFILE, *SCHED, "block")),
    Recorded("aarch64", "kwork", (*PROFILE, "script-trace", "kwork")),
    Recorded("aarch64", "trace-v6", ("trace-cmd", "trace-wakes"), "dat"),
    Recorded("aarch64", "trace-v7-zstd", ("trace-cmd", "trace-wakes"), "dat"),
]

# Events of raw_syscalls and of each single call, of the same calls.
TYPED_AND_RAW = Recorded("x86_64", "trace-typed", ("trace-cmd",), "dat")

# What each wait and each wakeup is worked out from, where the whole machine was recorded and nothing lost, and what perf adds up.
_WAITS = {
    "x86_64/sched": ("sched-events", "timehist-migrations"),
    "x86_64/offcpu": ("sched-events", "latency"),
    "x86_64/oracle-perf": ("sched-events", "latency"),
    "x86_64/threads": ("sched-events", "timehist-migrations"),
    "x86_64/lossy": ("timehist-migrations",),
    "aarch64/sched": ("sched-events", "timehist-migrations"),
    "aarch64/offcpu": ("sched-events", "latency"),
    "aarch64/oracle-perf": ("sched-events", "latency"),
}
# What perf says of the middle third alone.
_WINDOWS = {
    "x86_64/sched": ("window-timehist", "window-summary"),
    "x86_64/offcpu": ("window-timehist", "window-summary", "window-report"),
    "x86_64/oracle-perf": ("window-timehist", "window-summary", "window-report"),
    "x86_64/hw-cycles": ("window-report",),
    "aarch64/sched": ("window-timehist", "window-summary"),
    "aarch64/oracle-perf": ("window-timehist", "window-summary", "window-report"),
    "aarch64/hw-cycles": ("window-report",),
}
RECORDED = [
    replace(capture, tools=(*capture.tools, *_WAITS.get(capture.id, ()), *_WINDOWS.get(capture.id, ())))
    for capture in RECORDED
]


def recorded_with(*tools: str) -> list[Recorded]:
    """The recorded captures that any of the tools was asked about."""
    return [capture for capture in RECORDED if any(capture.has(tool) for tool in tools)]


def each_with(*tools: str) -> pytest.MarkDecorator:
    """Runs a test on every capture, recorded or live, that any of the tools is asked about."""
    found = [capture for capture in [*RECORDED, *LIVE] if any(capture.has(tool) for tool in tools)]
    return pytest.mark.parametrize("capture", [pytest.param(capture, id=capture.id) for capture in found])


def record_texts() -> None:
    """Asks every tool about every capture and stores the answers."""
    with tempfile.TemporaryDirectory() as folder:
        for capture in [*RECORDED, TYPED_AND_RAW]:
            path = Path(folder) / f"capture.{capture.suffix}"
            path.write_bytes(capture.bytes())
            for tool in capture.tools:
                target = capture.text_path(tool)
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(lzma.compress(run.ask(tool, path).encode(), preset=9 | lzma.PRESET_EXTREME))
                print(f"{target.relative_to(DATA)}: {target.stat().st_size} bytes", file=sys.stderr)


if __name__ == "__main__":
    record_texts()
