"""The recordings that the benches measure with: made when they are first needed, of a workload's own processes only.

They lie in $PERFCASE_BENCH_DIR (default /var/tmp/perfcase-bench). Recording needs root or perf_event_paranoid < 0.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SAMPLE = HERE.parents[1] / "sample-captures" / "c-blocking-call" / "post.perfcase"
READ = "cat (the file from the page cache)"
FOLDER = Path(os.environ.get("PERFCASE_BENCH_DIR", "/var/tmp/perfcase-bench"))
_CALLS = ("-e", "raw_syscalls:*", "-e", "sched:sched_switch", "-e", "sched:sched_wakeup")
_RECORD = ("perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-m", "8M")


@dataclass(frozen=True)
class Capture:
    """A recording: its file, what is in it, and the command that makes it."""

    name: str
    about: str
    file: str
    command: tuple[str, ...]
    """``{file}`` stands for the path."""
    peers: tuple[str, ...]
    """Names in ``peers.PEERS``."""
    megabytes: int = 0
    """For record_big.sh."""
    is_long: bool = False
    has_samples: bool = True
    """Without samples there is no flame graph."""

    @property
    def unit(self) -> str:
        """The peer whose time is the unit of the others; without a peer, to read the file."""
        if "perf trace -s" in self.peers:
            return "perf trace -s"
        return self.peers[0] if self.peers else READ

    @property
    def path(self) -> Path:
        """Where it lies."""
        return FOLDER / self.file

    def made(self) -> Path | None:
        """Return the path of the recording, made now if it is not there; None, with a line that says so, where it cannot be made."""
        if not self.path.exists():
            FOLDER.mkdir(parents=True, exist_ok=True)
            partial = self.path.with_name(f"partial-{self.path.name}")
            command = [word.format(file=partial) for word in self.command]
            environment = {**os.environ, "PERFCASE_BENCH_BYTES": str(self.megabytes * 1_000_000)}
            is_there = shutil.which(command[0]) is not None
            if not is_there or subprocess.run(command, check=False, env=environment).returncode != 0:
                why = "failed" if is_there else "is not installed"
                print(f"{self.name}: cannot be recorded here: {command[0]} {why}")
                partial.unlink(missing_ok=True)
                return None
            partial.rename(self.path)
            about = partial.with_name(f"{partial.name}.txt")
            if about.exists():
                about.rename(self.path.with_name(f"{self.path.name}.txt"))
        return self.path


def _big(name: str, megabytes: int, peers: tuple[str, ...], *, is_long: bool = False) -> Capture:
    about = "two pairs of threads that hand a token over a pipe: switches, wakeups and system calls with callchains"
    return Capture(name, about, f"{name}.data", (str(HERE / "record_big.sh"), "{file}"), peers, megabytes, is_long)


_PERF = ("perf script", "perf report", "perf sched timehist", "perf trace -s", "perf data convert", "Perfetto")
CAPTURES = (
    Capture(
        "default", "what the recorder takes of a service by default, of every kind: nearly all rules and views have something to work out", "default.perfcase",
        ("cp", str(SAMPLE), "{file}"),
        (),
    ),
    _big("50MB", 50, _PERF),
    _big("350MB", 350, _PERF),
    _big("1GB", 1100, ("perf script", "perf sched timehist", "perf trace -s")),
    _big("2GB", 2000, ("perf script", "perf sched timehist", "perf trace -s"), is_long=True),
    _big("20GB", 20_000, ("perf trace -s",), is_long=True),
    Capture(
        "dwarf", "CPU samples with 8 KB of stack each, to be unwound", "dwarf.data",
        (*_RECORD, "-F", "999", "--call-graph", "dwarf,8192", "-o", "{file}", "--", "stress-ng", "--quiet", "--cpu", "2", "--timeout", "8"),
        ("perf script", "perf report"),
    ),
    Capture(
        "sockets", "20,000 sockets: 10,000 conversations of 5 rounds by epoll", "sockets.data",
        (*_RECORD, *_CALLS, "-o", "{file}", "--", sys.executable, str(HERE / "conversations.py"), "10000", "5"),
        ("perf trace -s",),
    ),
    Capture(
        "flood", "a UDP flood on loopback: millions of system calls", "flood.data",
        (*_RECORD, *_CALLS, "-o", "{file}", "--", "stress-ng", "--quiet", "--udp", "2", "--timeout", "6"),
        ("perf trace -s",),
    ),
    Capture(
        "trace.dat", "switches, wakeups and system calls of trace-cmd", "trace.dat",
        (str(HERE / "record_trace.sh"), "{file}"),
        ("trace-cmd report",), has_samples=False,
    ),
    Capture(
        "proc", "an hour of /proc, once a second, of 1,000 threads", "proc.snapshots",
        (sys.executable, str(HERE / "proc.py"), "{file}", "3600", "1000"),
        (), has_samples=False,
    ),
)  # fmt: skip
"""What is measured, the quickest first. Long ones only if asked."""
